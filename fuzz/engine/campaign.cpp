// Runs campaigns: cases on threads, compared, counted, joined in order.

#include "fuzz/engine/campaign.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <map>
#include <mutex>

#include "fuzz/engine/enlarge.hpp"
#include "src/base/threads.hpp"

namespace zeroulp::fuzz {
namespace {

using steady = std::chrono::steady_clock;

double since(steady::time_point start) {
  return std::chrono::duration<double>(steady::now() - start).count();
}

/// Cases in a block, which a thread takes at once.
constexpr std::uint64_t block_size = 32;

/// The outputs of both sides of a case.
struct both {
  const outputs& left;
  const outputs& right;
  const request_log* log;  ///< nullptr: `right` answers everything

  bool computed(const matrix& x) const {
    if (log == nullptr || log->made(x.name)) return true;
    const bool guards = x.name == std::string_view("guards");
    const auto& all = log->requests();
    return guards && std::any_of(all.begin(), all.end(),
                                 [](const request& r) { return r.answered; });
  }
  bool computed_any() const {
    return std::any_of(left.begin(), left.end(),
                       [this](const matrix& x) { return computed(x); });
  }
};

/// Returns the word of element `i` of output number `n` for a digest in which
/// ignored classes leave no trace. An element with an ignored difference of
/// value or NaN is left out. Where their class is ignored, all NaNs are one
/// word, and so are zeros.
std::optional<std::uint64_t> comparable(const both& made, std::size_t n,
                                        std::size_t i,
                                        const kind_set& ignored) {
  using enum mismatch_kind;
  const matrix& x = made.left[n];
  const std::uint64_t code = x.words[i];
  if (ignored.none() || failure_in(made.right)) return code;
  const auto kind = kind_at(made.left, made.right, n, i);
  const bool other = kind == values || kind == nan;
  if (other && contains(ignored, *kind)) return {};
  if (x.type == integer) return code;
  const unpacked u = decode(x.type, code);
  if (u.is_nan() && contains(ignored, nan_bits)) return x.type.max_code() + 1;
  return u.is_zero() && contains(ignored, zero_sign) ? 0 : code;
}

/// The digest of one case; a campaign adds them up, in any order.
std::uint64_t digest_of(std::uint64_t index, const problem& p, const both& made,
                        const kind_set& ignored) {
  std::uint64_t hash = mix64(index + golden);
  const auto add = [&hash](std::uint64_t word) {
    hash = (hash ^ word) * 0x9fb21c651e98df25;
    hash ^= hash >> 32;
  };
  const auto add_shape = [&add](const matrix& x) {
    add(static_cast<std::uint64_t>(x.rows));
    add(static_cast<std::uint64_t>(x.cols));
  };
  for (const matrix& x : p.in) {
    add_shape(x);
    for (const auto word : x.words) add(word);
  }
  for (std::size_t n = 0; n < made.left.size(); ++n) {
    const matrix& x = made.left[n];
    if (!made.computed(x)) continue;
    add_shape(x);
    for (std::size_t i = 0; i < x.words.size(); ++i) {
      if (const auto word = comparable(made, n, i, ignored)) add(*word);
    }
  }
  return mix64(hash);
}

/// After these faults nothing is asked again: it would take as long, or do
/// anything.
bool breaks_off(conformance::fault f) {
  return f == conformance::fault::hung || f == conformance::fault::altered;
}

/// Counts how the two sides of a case differ.
void count_mismatch(const campaign& c, std::uint64_t index, const both& made,
                    campaign_result& part) {
  if (same(made.left, made.right)) return;
  if (const auto failure = failure_in(made.right)) {
    part.broke_off = breaks_off(failure->kind);
    if (part.failure.empty()) part.failure = failure->what();
  }
  const kind_set ignored = kinds_of(c.ignored);
  const auto elements = count_differences(made.left, made.right);
  bool counts = false;
  for (const mismatch_kind k : all_mismatch_kinds) {
    if (at(elements, k) == 0) continue;
    sighting& s = at(part.seen, k);
    ++s.cases;
    s.elements += at(elements, k);
    if (!s.first) s.first = index;
    counts = counts || !contains(ignored, k);
  }
  if (!counts) return;
  ++part.mismatches;
  if (!part.first_mismatch) part.first_mismatch = index;
}

/// Counts the bins that the case hits, also for the claims that it asked.
void count_bins(const campaign& c, std::uint64_t index, const problem& p,
                const both& made, campaign_result& part) {
  if (index >= covered) return;
  if (made.log == nullptr) {
    return info_of(c.what).cover(p, made.left, part.bins);
  }
  std::vector<std::uint64_t> hits(part.bins.size());
  info_of(c.what).cover(p, made.left, hits);
  const bool answered = made.log->all_answered();
  for (const request& r : made.log->requests()) {
    part.claims[r.claim].cover(hits, answered);
  }
  for (std::size_t i = 0; answered && i < hits.size(); ++i) {
    part.bins[i] += hits[i];
  }
}

/// Runs one case.
void run_case(const campaign& c, std::uint64_t index, campaign_result& part) {
  const problem p = case_of(c, index);
  const outputs left = run(c.left, p);
  const request_log log;
  const outputs right = run(c.right, p);
  const both made{left, right, c.right.may_refuse ? &log : nullptr};
  ++part.cases;
  for (const request& r : log.requests()) {
    if (part.claims.size() <= r.claim) part.claims.resize(r.claim + 1);
    part.claims[r.claim].add(r);
  }
  for (const matrix& x : left) {
    const bool counts =
        x.name != std::string_view("guards") && made.computed(x);
    if (counts) part.elements += x.words.size();
  }
  if (made.computed_any()) {
    part.digest += digest_of(index, p, made, kinds_of(c.ignored));
  }
  count_bins(c, index, p, made, part);
  count_mismatch(c, index, made, part);
}

/// Returns true iff there is no more to see: a call failed, every kind was
/// seen, or enough cases followed the first mismatch.
bool is_enough(const campaign& c, const campaign_result& r) {
  if (!r.first_mismatch) return false;
  if (at(r.seen, mismatch_kind::failure).first) return true;
  kind_set wanted = ~kinds_of(c.ignored);
  wanted.reset(static_cast<std::size_t>(mismatch_kind::failure));
  return (wanted & ~kinds_seen(r, c.ignored)).none() ||
         r.cases + c.first > *r.first_mismatch + c.further;
}

/// Shared by the threads. Blocks are handed out in order and joined in order: a
/// result is that of the first blocks, whichever threads ran them. Without
/// keep_going, the last block is the first after which is_enough() holds. A
/// case that breaks off ends its block, and that block is the last.
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
      for (auto n = begin; n < end && !has_ended(part); ++n) {
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

  /// A call that fails may take long: the block runs no case after it.
  bool has_ended(const campaign_result& part) const {
    return part.broke_off ||
           (!campaign_.keep_going &&
            at(part.seen, mismatch_kind::failure).first.has_value());
  }

  void finish_block(std::uint64_t block, campaign_result part) {
    if (part.broke_off) stop_ = true;
    const std::scoped_lock hold(lock_);
    waiting_.emplace(block, std::move(part));
    for (auto it = waiting_.find(joined_); it != waiting_.end() && !ended_;
         it = waiting_.find(joined_)) {
      ended_ = it->second.broke_off;
      join(result_, it->second);
      waiting_.erase(it);
      ++joined_;
      if (!campaign_.keep_going && is_enough(campaign_, result_)) ended_ = true;
      if (ended_) stop_ = true;
    }
    if (progress_) progress_(result_.cases, result_.elements);
  }

  const campaign& campaign_;
  const on_progress& progress_;
  steady::time_point start_ = steady::now();
  std::atomic<std::uint64_t> next_ = 0;
  std::atomic<bool> stop_ = false;
  std::mutex lock_;
  std::map<std::uint64_t, campaign_result> waiting_;  ///< for earlier blocks
  std::uint64_t joined_ = 0;                          ///< number of blocks
  bool ended_ = false;                                ///< join no more blocks
  campaign_result result_;
  std::exception_ptr error_;
};

}  // namespace

problem case_of(const campaign& c, std::uint64_t index) {
  constexpr std::uint64_t large = 500;
  problem p = generate(c.what, c.profile, c.seed, index, c.pinned);
  if (!c.right.may_refuse || index % large != large - 1) return p;
  counter_rng rng(c.seed, index);
  return grown_in_time(p, rng);
}

kind_set kinds_seen(const campaign_result& r, const difference_set& ignored) {
  kind_set seen;
  for (const mismatch_kind k : all_mismatch_kinds) {
    seen[static_cast<std::size_t>(k)] = at(r.seen, k).first.has_value();
  }
  return seen & ~kinds_of(ignored);
}

void join(campaign_result& all, const campaign_result& part) {
  const auto take_first = [](std::optional<std::uint64_t>& first,
                             const std::optional<std::uint64_t>& other) {
    if (other) first = std::min(first.value_or(*other), *other);
  };
  all.cases += part.cases;
  all.elements += part.elements;
  all.digest += part.digest;
  all.mismatches += part.mismatches;
  all.broke_off = all.broke_off || part.broke_off;
  const auto failed_at = [](const campaign_result& r) {
    return at(r.seen, mismatch_kind::failure).first;
  };
  if (failed_at(part) &&
      !(failed_at(all) < failed_at(part) && failed_at(all))) {
    all.failure = part.failure;
  }
  take_first(all.first_mismatch, part.first_mismatch);
  for (const mismatch_kind k : all_mismatch_kinds) {
    sighting& s = at(all.seen, k);
    s.cases += at(part.seen, k).cases;
    s.elements += at(part.seen, k).elements;
    take_first(s.first, at(part.seen, k).first);
  }
  join(all.claims, part.claims);
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
