// One GEMM row: bits, cuBLASLt's algorithms, rounds.

#include <fmt/format.h>

#include <algorithm>

#include "conformance/peers/outputs.hpp"
#include "tools/zeroulp/bench/gpu/cublaslt_across.hpp"
#include "tools/zeroulp/bench/gpu/gemm_sets.hpp"
#include "zeroulp/cuda_model.hpp"
#include "zeroulp/io.hpp"

namespace zeroulp::program {
namespace {

namespace peers = conformance::peers;
using peers::cublaslt_gemm;
using peers::cublaslt_problem;

/// What the emulator multiplies for a contestant, about: 1 TMAC/s and more.
constexpr double held_work = 4e10;
constexpr std::ptrdiff_t least_rows = 64;
constexpr std::ptrdiff_t most_bands = 4;

/// Bands of the groups' rows, all of them if that is not too much.
std::vector<gemm_band> bands_of(const std::vector<gemm_band>& groups,
                                std::ptrdiff_t n) {
  std::vector<gemm_band> all;
  for (const auto& g : groups) {
    const double row_work = static_cast<double>(n) *
                            static_cast<double>(g.k_end - g.k_begin) *
                            static_cast<double>(groups.size());
    const auto rows = static_cast<std::ptrdiff_t>(held_work / row_work);
    if (g.rows <= std::max(rows, least_rows)) {
      all.push_back(g);
      continue;
    }
    const std::ptrdiff_t count =
        std::clamp<std::ptrdiff_t>(rows / least_rows, 1, most_bands);
    const std::ptrdiff_t height = std::max(rows / count, least_rows);
    for (std::ptrdiff_t i = 0; i < count; ++i) {
      // The first and the last rows are among them.
      const std::ptrdiff_t at =
          count == 1 ? 0 : i * (g.rows - height) / (count - 1);
      gemm_band part = g;
      part.d_row += at, part.a_row += at, part.rows = height;
      all.push_back(part);
    }
  }
  return all;
}

/// A contestant that is ready.
struct player {
  gemm_result::entry entry;
  gpu_lab::job launch;
  double work_of_row = 1;  ///< its work over the row's
};

}  // namespace

struct gemm_bench::state {
  gpu_lab lab;
  device_memory workspace{cublaslt_gemm::workspace_bytes};
  device_memory tally{sizeof(peers::output_tally)};
  std::vector<device_memory> wgmma_codes = make_codes();

  std::vector<device_memory> make_codes() {
    const std::vector<gpu_operand> one{
        {"codes", gpu_use::read, e4m3, {1, wgmma_bytes}}};
    return lab.maker.make(one, set_layout(one), 1, lab.stream);
  }

  double seconds_of(const gpu_lab::job& job, int launches) {
    return lab.times({&job, &job}, launches)[1];
  }
  void hold(const gemm_row& row, const gemm_contestant& c,
            const gemm_sets& sets);
  void launch_ours(const gemm_row& row, const gemm_contestant& c,
                   const gemm_sets& sets, std::size_t set) const;
  player make_ours(const gemm_row& row, const gemm_contestant& c,
                   const gemm_sets& sets, std::size_t& turn);
  std::vector<player> make_cublaslt(const gemm_row& row,
                                    const gemm_contestant& c,
                                    const gemm_sets& sets, std::size_t& turn,
                                    const gemm_effort& how);
  template <class Gemm>
  std::vector<player> make_cublaslt(const std::shared_ptr<Gemm>& gemm,
                                    const gemm_contestant& c,
                                    const gemm_sets& sets, std::size_t& turn,
                                    const gemm_effort& how);
  player make_wgmma(const gemm_row& row, const gemm_contestant& c);
};

void gemm_bench::state::launch_ours(const gemm_row& row,
                                    const gemm_contestant& c,
                                    const gemm_sets& sets,
                                    std::size_t set) const {
  const auto launch = [&](const cuda::gemm_partition& groups,
                          const cuda::operand& a, const cuda::operand& b,
                          const cuda::matrix& d) {
    cuda::gemm(c.by, groups, a, b,
               row.adds ? cuda::const_matrix(d) : cuda::const_matrix{}, d,
               lab.stream);
  };
  const std::ptrdiff_t n = row.size.n;
  if (row.element == bf16) {
    cuda::bf16_gemm g;
    g.a = sets.half_a(set);
    g.b = sets.half_b(set);
    g.output = row.output;
    g.d = {sets.d(set), row.size.m, n};
    cuda::gemm_bf16(g, lab.stream);
    return;
  }
  if (c.apart) {
    const int bytes = row.output == fp32 ? 4 : 2;
    for (const auto& x : sets.groups(true)) {
      auto* const d = static_cast<unsigned char*>(sets.d(set));
      launch({}, sets.a(set, c.by, x), sets.b(set, c.by, x),
             {d + x.d_row * n * bytes, x.rows, n});
    }
    return;
  }
  const std::ptrdiff_t rows = c.grouped ? sets.d_shape().m : row.size.m;
  launch(sets.partition(c.grouped), sets.a(set, c.by),
         sets.b(set, c.by, c.grouped), {sets.d(set), rows, n});
}

/// Launches once, on set 0, and holds bands of the result against the emulator.
void gemm_bench::state::hold(const gemm_row& row, const gemm_contestant& c,
                             const gemm_sets& sets) {
  const std::ptrdiff_t n = row.size.n;
  const int bytes = row.output == fp32 ? 4 : 2;
  const device_memory before(row.adds ? sets.d_bytes() : 4);
  if (row.adds) {
    require_cuda(cudaMemcpyAsync(before.data(), sets.d(0), sets.d_bytes(),
                                 cudaMemcpyDeviceToDevice, lab.stream));
  }
  launch_ours(row, c, sets, 0);
  for (const auto& x : bands_of(sets.groups(c.grouped), n)) {
    const device_memory want(static_cast<std::size_t>(x.rows * n * bytes));
    cuda::const_matrix added;
    if (row.adds) {
      added = {
          reinterpret_cast<const std::uint32_t*>(before.data()) + x.d_row * n,
          x.rows, n};
    }
    cuda::emulate_gemm(c.by, sets.a(0, c.by, x), sets.b(0, c.by, x), added,
                       {want.data(), x.rows, n}, lab.stream);
    peers::output_tally t{};
    require_cuda(cudaMemcpyAsync(tally.data(), &t, sizeof t,
                                 cudaMemcpyHostToDevice, lab.stream));
    require_cuda(peers::compare_outputs(
        static_cast<const unsigned char*>(sets.d(0)) + x.d_row * n * bytes,
        bytes, n, want.data(), x.rows, n,
        reinterpret_cast<peers::output_tally*>(tally.data()), lab.stream));
    require_cuda(cudaStreamSynchronize(lab.stream));
    require_cuda(
        cudaMemcpy(&t, tally.data(), sizeof t, cudaMemcpyDeviceToHost));
    if (t.differing == 0) continue;
    const auto at = static_cast<std::ptrdiff_t>(t.index);
    throw bench_mismatch(
        fmt::format("{}: {} outputs of {} differ from the emulator's, among "
                    "them ({}, {}), which is {:x}, not {:x}",
                    c.name, t.differing, x.rows * n, x.d_row + at / n, at % n,
                    t.got, t.want));
  }
}

player gemm_bench::state::make_ours(const gemm_row& row,
                                    const gemm_contestant& c,
                                    const gemm_sets& sets, std::size_t& turn) {
  hold(row, c, sets);
  return {{c.name, "", {}, c.is_rival}, [this, &row, &c, &sets, &turn] {
            launch_ours(row, c, sets, turn++ % sets.count());
          }};
}

/// The fastest of its algorithms and, if asked for, its first choice.
std::vector<player> gemm_bench::state::make_cublaslt(const gemm_row& row,
                                                     const gemm_contestant& c,
                                                     const gemm_sets& sets,
                                                     std::size_t& turn,
                                                     const gemm_effort& how) {
  const auto& s = row.size;
  const format element = c.halves ? bf16 : e4m3;
  if (row.across) {
    return make_cublaslt(
        std::make_shared<cublaslt_across>(s.m, s.n, s.k, row.output), c, sets,
        turn, how);
  }
  return make_cublaslt(std::make_shared<cublaslt_gemm>(cublaslt_problem{
                           s.m, s.n, s.k, element, element, row.output,
                           c.scales, c.fast, row.adds}),
                       c, sets, turn, how);
}

template <class Gemm>
std::vector<player> gemm_bench::state::make_cublaslt(
    const std::shared_ptr<Gemm>& gemm, const gemm_contestant& c,
    const gemm_sets& sets, std::size_t& turn, const gemm_effort& how) {
  const auto job_of = [&](const peers::cublaslt_algorithm& by) {
    return [this, gemm, by, &c, &sets, &turn] {
      gemm->run(by, sets.for_cublaslt(turn++ % sets.count(), c),
                workspace.data(), lab.stream);
    };
  };
  std::vector<player> first, best;
  double least = 0;
  for (const auto& by : gemm->algorithms(how.algorithms)) {
    if (c.one_split && (by.splits > 1 || by.reduction != 0)) continue;
    const gpu_lab::job job = job_of(by);
    double seconds = 0;
    try {
      seconds = seconds_of(job, 3);
    } catch (const peers::cublaslt_error&) {
      continue;  // it cannot run what it offered
    }
    const player p{{c.name, by.text(), {}, c.is_rival}, job};
    if (first.empty()) first = {p};
    if (best.empty() || seconds < least) best = {p}, least = seconds;
  }
  if (best.empty()) throw peers::cublaslt_error("it serves no such problem");
  if (!c.shows_first) return best;
  if (first[0].entry.detail == best[0].entry.detail) {
    best[0].entry.name += ", first and best";
    return best;
  }
  first[0].entry.name += ", first";
  best[0].entry.name += ", best";
  return {best[0], first[0]};
}

player gemm_bench::state::make_wgmma(const gemm_row& row,
                                     const gemm_contestant& c) {
  const double work = row.size.work();
  const auto launch = [this, work, &c] {
    return launch_wgmma(c.loop, wgmma_codes[0].data(), work,
                        lab.multiprocessors, lab.stream);
  };
  const double done = launch();
  return {{c.name, "", {}, false}, [launch] { launch(); }, done / work};
}

gemm_bench::gemm_bench() : state_(std::make_unique<state>()) {}
gemm_bench::~gemm_bench() = default;

gemm_result gemm_bench::measure(const gemm_row& row, const gemm_effort& how) {
  auto& lab = state_->lab;
  const gemm_sets sets(lab, row);
  std::size_t turn = 0;
  std::vector<player> players;
  gemm_result result;
  for (const auto& c : row.contestants) {
    try {
      switch (c.player) {
        case gemm_player::ours:
          players.push_back(state_->make_ours(row, c, sets, turn));
          break;
        case gemm_player::cublaslt:
          for (auto& p : state_->make_cublaslt(row, c, sets, turn, how)) {
            players.push_back(std::move(p));
          }
          break;
        case gemm_player::wgmma:
          players.push_back(state_->make_wgmma(row, c));
          break;
      }
    } catch (const peers::cublaslt_error& e) {
      result.absent.push_back(c.name + ": " + e.what());
    }
  }

  // The first keeps the queue full.
  std::vector<const gpu_lab::job*> round{&players[0].launch};
  for (const auto& p : players) round.push_back(&p.launch);
  for (auto p = players.rbegin(); p != players.rend(); ++p) {
    round.push_back(&p->launch);
  }
  const double once = state_->seconds_of(players[0].launch, 2);
  const int launches =
      std::clamp(static_cast<int>(how.seconds / once), 2, how.launches);
  lab.sensors->clear();
  for (int i = 0; i < how.rounds; ++i) {
    const auto t = lab.times(round, launches);
    for (std::size_t p = 0; p < players.size(); ++p) {
      const double seconds = (t[1 + p] + t[round.size() - 1 - p]) / 2;
      players[p].entry.seconds.push_back(seconds / players[p].work_of_row);
    }
  }
  result.clock_mhz = lab.sensors->clock_mhz();
  result.power_w = lab.sensors->power_w();
  for (auto& p : players) result.entries.push_back(std::move(p.entry));

  const auto& ours = row.contestants[0];
  if (row.adds || ours.player != gemm_player::ours) return result;
  // The bits again, and the same in each set.
  state_->hold(row, ours, sets);
  const device_memory right(sets.d_bytes());
  require_cuda(cudaMemcpyAsync(right.data(), sets.d(0), sets.d_bytes(),
                               cudaMemcpyDeviceToDevice, lab.stream));
  for (std::size_t i = 0; i < sets.count(); ++i) {
    state_->launch_ours(row, ours, sets, i);
  }
  lab.hold_equal(right, sets.d_from(), sets.d_bytes(), sets.memory());
  return result;
}

}  // namespace zeroulp::program
