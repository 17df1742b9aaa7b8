#include "fuzz/campaign.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <map>
#include <mutex>

#include "src/threads.hpp"

namespace zeroulp::fuzz {
namespace {

using steady = std::chrono::steady_clock;

double since(steady::time_point start) {
  return std::chrono::duration<double>(steady::now() - start).count();
}

/// Cases that a thread takes at once.
constexpr std::uint64_t block_size = 32;

/// A sum over cases may be taken in any order.
std::uint64_t digest_of(std::uint64_t index, const problem& p,
                        const outputs& out) {
  std::uint64_t hash = mix64(index + golden);
  const auto add = [&hash](std::uint64_t word) {
    hash = (hash ^ word) * 0x9fb21c651e98df25;
    hash ^= hash >> 32;
  };
  for (const auto* list : {&p.in, &out}) {
    for (const matrix& x : *list) {
      add(static_cast<std::uint64_t>(x.rows));
      add(static_cast<std::uint64_t>(x.cols));
      for (const auto word : x.words) add(word);
    }
  }
  return mix64(hash);
}

/// One case.
void run_case(const campaign& c, std::uint64_t index, campaign_result& part) {
  const problem p = generate(c.what, c.profile, c.seed, index, c.pinned);
  const outputs left = run(c.left, p);
  const outputs right = run(c.right, p);
  ++part.cases;
  for (const matrix& x : left) part.elements += x.words.size();
  part.elements -= left.back().name == std::string_view("guards") ? 1 : 0;
  part.digest += digest_of(index, p, left);
  if (index < covered) {
    info_of(c.what).cover(p, left, part.bins);
  }
  if (same(left, right)) return;
  ++part.mismatches;
  if (!part.first_mismatch) part.first_mismatch = index;
}

/// What threads share. Blocks are given out in order and joined in order, so
/// that a result is that of the first so many blocks, whoever ran them; without
/// keep_going the block of the first mismatch is the last.
class schedule {
 public:
  explicit schedule(const campaign& c, const on_progress& progress)
      : campaign_(c), progress_(progress) {
    result_.bins.resize(info_of(c.what).bins().size());
  }

  void work() try {
    while (!stop_ && !is_over()) {
      const std::uint64_t block = next_++;
      const std::uint64_t begin = block * block_size;
      if (begin >= campaign_.cases) return;
      campaign_result part;
      part.bins.resize(result_.bins.size());
      const auto end = std::min(begin + block_size, campaign_.cases);
      for (auto n = begin; n < end; ++n) {
        run_case(campaign_, campaign_.first + n, part);
      }
      finish_block(block, std::move(part));
    }
  } catch (...) {
    stop_ = true;
    const std::scoped_lock hold(lock_);
    error_ = std::current_exception();
  }

  campaign_result finish() {
    if (error_) std::rethrow_exception(error_);
    result_.seconds = since(start_);
    return result_;
  }

 private:
  bool is_over() const {
    return campaign_.seconds > 0 && since(start_) > campaign_.seconds;
  }

  void finish_block(std::uint64_t block, campaign_result part) {
    if (part.first_mismatch && !campaign_.keep_going) stop_ = true;
    const std::scoped_lock hold(lock_);
    waiting_.emplace(block, std::move(part));
    for (auto it = waiting_.find(joined_); it != waiting_.end() && !ended_;
         it = waiting_.find(joined_)) {
      ended_ = it->second.first_mismatch && !campaign_.keep_going;
      join(result_, it->second);
      waiting_.erase(it);
      ++joined_;
    }
    if (progress_) progress_(result_.cases, result_.elements);
  }

  const campaign& campaign_;
  const on_progress& progress_;
  steady::time_point start_ = steady::now();
  std::atomic<std::uint64_t> next_ = 0;
  std::atomic<bool> stop_ = false;
  std::mutex lock_;
  std::map<std::uint64_t, campaign_result> waiting_;  ///< for those before them
  std::uint64_t joined_ = 0;                          ///< blocks
  bool ended_ = false;
  campaign_result result_;
  std::exception_ptr error_;
};

}  // namespace

bool same(const outputs& x, const outputs& y) {
  return std::equal(x.begin(), x.end(), y.begin(), y.end());
}

void join(campaign_result& all, const campaign_result& part) {
  all.cases += part.cases;
  all.elements += part.elements;
  all.digest += part.digest;
  all.mismatches += part.mismatches;
  if (part.first_mismatch) {
    all.first_mismatch =
        std::min(all.first_mismatch.value_or(*part.first_mismatch),
                 *part.first_mismatch);
  }
  for (std::size_t i = 0; i < part.bins.size(); ++i) {
    all.bins[i] += part.bins[i];
  }
}

campaign_result run(const campaign& c, const on_progress& progress) {
  schedule plan(c, progress);
  const unsigned cores = std::max(1u, std::thread::hardware_concurrency());
  const auto count =
      c.threads > 0 ? static_cast<std::size_t>(c.threads) : cores;
  on_threads(count, [&plan] { plan.work(); });
  return plan.finish();
}

}  // namespace zeroulp::fuzz
