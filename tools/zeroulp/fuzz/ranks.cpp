#ifdef ZEROULP_HAVE_CONFORMANCE
#include "tools/zeroulp/fuzz/ranks.hpp"

#include <fmt/format.h>

#ifdef ZEROULP_HAVE_MPI
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <future>
#include <map>
#include <set>
#include <sstream>
#include <thread>

#include "src/base/threads.hpp"
#endif

namespace zeroulp::program {

using fuzz::case_range;

#ifdef ZEROULP_HAVE_MPI

namespace {

using clock = std::chrono::steady_clock;

/// Messages: what a rank found goes to rank 0, a range (0, 0: no more) comes
/// back. The first is "": nothing yet. One that begins with '!' says what went
/// wrong.
constexpr int found_tag = 1;
constexpr int range_tag = 2;

void send_range(int to, const case_range& r) {
  const std::uint64_t words[2] = {r.first, r.count};
  MPI_Send(words, 2, MPI_UINT64_T, to, range_tag, MPI_COMM_WORLD);
}

void send_text(const std::string& text) {
  MPI_Send(text.data(), static_cast<int>(text.size()), MPI_CHAR, 0, found_tag,
           MPI_COMM_WORLD);
}

/// A message that has come, if one has.
struct message {
  int from = -1;  ///< -1: none
  std::string text;
};

message poll() {
  int is_there = 0;
  MPI_Status status;
  MPI_Iprobe(MPI_ANY_SOURCE, found_tag, MPI_COMM_WORLD, &is_there, &status);
  if (is_there == 0) return {};
  int size = 0;
  MPI_Get_count(&status, MPI_CHAR, &size);
  message m{status.MPI_SOURCE, std::string(static_cast<std::size_t>(size), 0)};
  MPI_Recv(m.text.data(), size, MPI_CHAR, m.from, found_tag, MPI_COMM_WORLD,
           MPI_STATUS_IGNORE);
  return m;
}

/// MPI waits by spinning: the cores are for the work.
void wait_a_moment() {
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

/// How many GPUs the driver of this machine shows.
int gpu_count() {
  std::error_code none;
  int count = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator("/proc/driver/nvidia/gpus", none)) {
    static_cast<void>(entry);
    ++count;
  }
  return count;
}

/// Leaves one GPU visible: that of the rank's place on its machine. Every
/// thread of the process sees it so.
void take_gpu() {
  MPI_Comm here;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL,
                      &here);
  int place = 0;
  MPI_Comm_rank(here, &place);
  MPI_Comm_free(&here);
  constexpr const char* variable = "CUDA_VISIBLE_DEVICES";
  std::vector<std::string> devices;
  if (const char* const given = std::getenv(variable)) {
    std::istringstream list(given);
    for (std::string one; std::getline(list, one, ',');) {
      devices.push_back(one);
    }
  } else {
    for (int i = 0; i < gpu_count(); ++i) devices.push_back(std::to_string(i));
  }
  if (devices.empty()) return;
  const auto mine = static_cast<std::size_t>(place) % devices.size();
  setenv(variable, devices[mine].c_str(), 1);
}

/// Who works at what, and what is done.
class hand_out {
 public:
  explicit hand_out(const std::vector<case_range>& todo)
      : todo_(todo.begin(), todo.end()), left_(todo.size()) {}

  bool is_done() const { return left_ == 0; }

  /// The next range for `rank`: one that nobody has, or the one that the fewest
  /// others work at; {} if that is none.
  case_range next(int rank) {
    case_range r{};
    if (!todo_.empty()) {
      r = todo_.front();
      todo_.pop_front();
    } else {
      std::size_t fewest = ~std::size_t{0};
      for (const auto& [first, of] : jobs_) {
        const bool skip = of.is_done || of.by.count(rank) > 0;
        if (skip || of.by.size() >= fewest) continue;
        fewest = of.by.size();
        r = of.range;
      }
    }
    if (r.count > 0) {
      jobs_[r.first].range = r;
      jobs_[r.first].by.insert(rank);
    }
    return r;
  }

  /// Takes a record. Returns true iff it is the first of its range.
  bool take(const block_record& r, int rank, std::vector<std::string>& apart) {
    job& of = jobs_[r.range.first];
    if (!of.is_done) {
      of.is_done = true;
      of.record = r;
      of.rank = rank;
      --left_;
      // A plug-in that hung is not asked again.
      if (r.range.count < of.range.count) {
        left_ -= todo_.size();
        todo_.clear();
      }
      return true;
    }
    if (!(of.record == r)) {
      apart.push_back(fmt::format(
          "ranks {} and {} differ on cases {} to {}: digests {:016x} and "
          "{:016x}",
          of.rank, rank, r.range.first, r.range.end() - 1,
          of.record.result.digest, r.result.digest));
    }
    return false;
  }

 private:
  struct job {
    case_range range;
    std::set<int> by;
    bool is_done = false;
    int rank = 0;
    block_record record;
  };

  std::deque<case_range> todo_;
  std::size_t left_;
  std::map<std::uint64_t, job> jobs_;  ///< by first case
};

}  // namespace

ranks::ranks() {
  int is_on = 0;
  MPI_Initialized(&is_on);
  int level = 0;
  if (is_on == 0) {
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &level);
  }
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &count_);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  take_gpu();
}

ranks::~ranks() {
  // The end of MPI waits for every rank: with one lost, for ever.
  if (lost_ || !parted_) {
    std::fflush(stdout);
    MPI_Abort(MPI_COMM_WORLD, status_);
  }
  MPI_Finalize();
}

std::vector<std::string> ranks::distribute(const std::vector<case_range>& todo,
                                           const block_work& work,
                                           const use_record& done) {
  std::vector<std::string> apart;
  hand_out plan(todo);
  std::set<int> idle;
  std::set<int> busy;
  for (int i = 1; i < count_; ++i) busy.insert(i);
  std::future<block_record> own;
  auto longest = std::chrono::duration<double>(0.25);
  auto began = clock::now();
  const auto take = [&](const block_record& r, int rank) {
    if (plan.take(r, rank, apart)) done(r);
  };
  const auto give = [&](int rank) {
    const case_range next = plan.is_done() ? case_range{} : plan.next(rank);
    if (next.count == 0) {
      idle.insert(rank);
      busy.erase(rank);
      return;
    }
    idle.erase(rank);
    busy.insert(rank);
    send_range(rank, next);
  };
  const auto serve_one = [&] {
    const message m = poll();
    if (m.from < 0) return wait_a_moment();
    if (m.text.starts_with('!')) {
      throw input_error(fmt::format("rank {}: {}", m.from, m.text.substr(1)));
    }
    if (!m.text.empty()) take(parse_record(m.text), m.from);
    give(m.from);
  };
  while (!plan.is_done()) {
    if (!own.valid()) {
      const case_range next = plan.next(0);
      began = clock::now();
      if (next.count > 0) {
        own = beside([&work, next] { return work(next); });
      }
    }
    serve_one();
    const auto none = std::chrono::seconds(0);
    if (own.valid() && own.wait_for(none) != std::future_status::timeout) {
      take(own.get(), 0);
      longest = std::max<std::chrono::duration<double>>(longest,
                                                        clock::now() - began);
    }
  }
  if (own.valid()) take(own.get(), 0);
  // A rank that is not lost comes back from a block that others have done.
  const auto patience = 4 * longest + std::chrono::seconds(1);
  const auto end = clock::now();
  while (!busy.empty() && clock::now() - end < patience) serve_one();
  for (const int rank : idle) send_range(rank, {});
  lost_ = !busy.empty();
  parted_ = true;
  for (const int rank : busy) {
    print_error(fmt::format(
        "zeroulp: rank {} did not come back; others did its work\n", rank));
  }
  return apart;
}

void ranks::serve(const block_work& work) {
  send_text("");
  for (;;) {
    int is_there = 0;
    MPI_Iprobe(0, range_tag, MPI_COMM_WORLD, &is_there, MPI_STATUS_IGNORE);
    if (is_there == 0) {
      wait_a_moment();
      continue;
    }
    std::uint64_t words[2] = {0, 0};
    MPI_Recv(words, 2, MPI_UINT64_T, 0, range_tag, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    if (words[1] == 0) break;
    try {
      send_text(to_line(work({words[0], words[1]})));
    } catch (const std::exception& e) {
      send_text(fmt::format("!{}", e.what()));
    }
  }
  parted_ = true;
}

#else

ranks::ranks() {
  throw input_error(
      "--mpi: this build has no MPI: build with -DZEROULP_MPI=ON, or start "
      "shards by --shard I/N and merge their journals");
}

ranks::~ranks() = default;

std::vector<std::string> ranks::distribute(const std::vector<case_range>&,
                                           const block_work&,
                                           const use_record&) {
  return {};
}

void ranks::serve(const block_work&) {}

#endif

}  // namespace zeroulp::program
#endif
