// The instruction of every Hopper tensor-core path against the emulator, and
// the emulator against the core on the host: SPEC clauses T1 to T12, T15.

#include <atomic>
#include <thread>

#include "conformance/device/support/batch.hpp"
#include "fuzz/cases/token.hpp"
#include "zeroulp/names.hpp"

namespace zeroulp::conformance::device {
namespace {

constexpr int tiles_of_a_batch = 4096;

const char* name_of(unit u) { return u == unit::wgmma ? "wgmma" : "mma"; }

std::string path_name(unit u, const path& p) {
  return std::string("hopper.") + name_of(u) + "." + zeroulp::name_of(p.a) +
         "." + zeroulp::name_of(p.b) + (p.acc.stored == fp16 ? ".f16" : ".f32");
}

/// Returns the operands of a mismatch as a problem, which a token can replay.
fuzz::problem problem_of(const path& p, const mismatch_record& m) {
  fuzz::problem x;
  x.what = fuzz::target::step;
  x.with.unit = p;
  const int length = layout_of(p.a).length();
  x.in = {fuzz::matrix("a", p.a, 1, length), fuzz::matrix("b", p.b, 1, length),
          fuzz::matrix("c", p.acc.stored, 1, 1, m.c)};
  for (int k = 0; k < length; ++k) {
    x.in[0](0, k) = m.a[k];
    x.in[1](0, k) = m.b[k];
  }
  return x;
}

std::string describe(const path& p, const mismatch_record& m) {
  char text[64];
  std::snprintf(text, sizeof text, "silicon %x, emulated %x: ", m.silicon,
                m.emulated);
  return text + std::string("zeroulp fuzz step --against silicon --replay ") +
         fuzz::to_token(problem_of(p, m));
}

/// Compares `outputs` outputs with the emulator, from number 0 on, in batches.
verdict hold(unit by, const path& p, filling how, family of,
             std::uint64_t outputs) {
  const std::uint64_t tiles =
      ceil_div(static_cast<std::ptrdiff_t>(outputs), batch_outputs);
  const auto size =
      static_cast<int>(std::min<std::uint64_t>(tiles, tiles_of_a_batch));
  const batch_memory memory(p, size);
  const device_buffer<mismatch_record> found(1);
  const auto seed = static_cast<std::uint64_t>(of) + 1;
  for (std::uint64_t first = 0; first < tiles; first += tiles_of_a_batch) {
    batch x = memory.value();
    x.tiles = static_cast<int>(
        std::min<std::uint64_t>(tiles - first, tiles_of_a_batch));
    fill(x, how, of, seed, first * batch_outputs);
    multiply(x, by);
    compare(x, found.data());
  }
  finish_kernel();
  mismatch_record m{};
  found.copy_to(&m, 1);
  verdict v;
  v.cases = tiles * batch_outputs;
  v.failures = m.count;
  v.add(m.sums);
  v.exhaustive = how != filling::random;
  if (m.count != 0) v.first_failure = describe(p, m);
  return v;
}

/// Returns the number of outputs for a path, all families together.
std::uint64_t random_outputs(const path& p, const effort& e) {
  const bool main_path =
      p.acc == hopper_fp8_f32 && p.lowering == lowering::direct;
  switch (e.level) {
    case 0:
      return std::uint64_t{10} * batch_outputs;
    case 1:
      return std::uint64_t{1} << 28;
    case 2:
      return std::uint64_t{1} << 32;
    default:
      // Four pairs of FP8 formats: 10^12 outputs in all.
      return main_path ? 250'000'000'000 : 10'000'000'000;
  }
}

/// The emulator leaves Inf and NaN to the core: these families take it a
/// thousand times as long.
bool is_slow(family of) { return of == family::bits || of == family::specials; }

verdict hold_random(unit by, const path& p, const effort& e) {
  verdict v;
  constexpr std::uint64_t most_slow = std::uint64_t{1} << 27;
  for (int i = 0; i < families; ++i) {
    const auto of = static_cast<family>(i);
    const std::uint64_t share = random_outputs(p, e) / (families - 2);
    v += hold(by, p, filling::random, of,
              is_slow(of) ? std::min(share, most_slow) : share);
  }
  return v;
}

verdict hold_every_c(unit by, const path& p, const effort& e) {
  const std::uint64_t all = std::uint64_t{1} << p.acc.stored.bits();
  const std::uint64_t few = std::uint64_t{8} * batch_outputs;
  const std::uint64_t count = e.level == 0 ? std::min(all, few) : all;
  verdict v = hold(by, p, filling::every_c, family::bits, count);
  v.exhaustive = count == all;
  return v;
}

verdict hold_every_pair(unit by, const path& p, const effort& e) {
  const std::uint64_t all = std::uint64_t{1} << 32;
  const std::uint64_t few = std::uint64_t{8} * batch_outputs;
  const std::uint64_t count = e.level == 0 ? few : all;
  verdict v = hold(by, p, filling::every_pair, family::bits, count);
  v.exhaustive = count == all;
  return v;
}

/// Checks a chain of steps, in which each D is the next c.
verdict hold_chain(unit by, const path& p, const effort& e) {
  const int steps = e.level == 0 ? 4 : 512;
  const int tiles = e.level == 0 ? 8 : 1024;
  const batch_memory memory(p, tiles);
  const device_buffer<mismatch_record> found(1);
  batch x = memory.value();
  verdict v;
  for (const family of : {family::normal, family::cancelling, family::spread,
                          family::finite, family::tiny}) {
    for (int step = 0; step < steps; ++step) {
      // Swaps c and d: the last D becomes c.
      const batch next{x.p, x.tiles, x.a, x.b, x.d, x.c};
      fill(step == 0 ? x : next, filling::random, of, 99,
           static_cast<std::uint64_t>(step) * static_cast<unsigned>(tiles) *
               batch_outputs);
      if (step == 0) {
        require(cudaMemset(x.c, 0,
                           sizeof(std::uint32_t) *
                               static_cast<unsigned>(tiles) * batch_outputs));
      }
      multiply(x, by);
      compare(x, found.data());
      std::swap(x.c, x.d);
    }
    v.cases += static_cast<std::uint64_t>(steps) *
               static_cast<unsigned>(tiles) * batch_outputs;
  }
  finish_kernel();
  mismatch_record m{};
  found.copy_to(&m, 1);
  v.failures = m.count;
  v.add(m.sums);
  if (m.count != 0) v.first_failure = describe(p, m);
  return v;
}

/// A copy of the batch on the host.
struct host_batch {
  explicit host_batch(const batch& x)
      : a(copy(x.a, x.tiles * batch_rows * row_bytes)),
        b(copy(x.b, x.tiles * batch_cols * row_bytes)),
        c(copy(x.c, x.tiles * batch_outputs)),
        d(copy(x.d, x.tiles * batch_outputs)) {}

  template <class T>
  static std::vector<T> copy(const T* from, int count) {
    std::vector<T> to(static_cast<std::size_t>(count));
    require(cudaMemcpy(to.data(), from, to.size() * sizeof(T),
                       cudaMemcpyDeviceToHost));
    return to;
  }

  std::vector<unsigned char> a, b;
  std::vector<std::uint32_t> c, d;
};

/// A row of operands, read by the host.
struct host_row {
  const unsigned char* row;
  format f;
  // For host and device, as `step`, which calls it, is.
  ZEROULP_HD unpacked operator[](std::ptrdiff_t k) const {
    const element_layout e = layout_of(f);
    std::uint32_t word = 0;  // little end first
    for (int i = 0; i < e.bytes; ++i) {
      word |= static_cast<std::uint32_t>(row[k * e.bytes + i]) << (8 * i);
    }
    return decode(f, word >> e.unused_bits);
  }
};

/// Compares d of a batch with the core; returns the number of differences and
/// the first of them. Adds the outputs to v.
std::pair<std::uint64_t, std::int64_t> differences(const batch& x,
                                                   const host_batch& h,
                                                   verdict& v) {
  std::atomic<std::uint64_t> count{0};
  std::atomic<std::int64_t> first{-1};
  std::atomic<int> next{0};
  std::mutex guard;
  const auto work = [&] {
    output_digest got, expected;
    for (int tile = next++; tile < x.tiles; tile = next++) {
      for (int at = 0; at < batch_outputs; ++at) {
        const int row = tile * batch_rows + at / batch_cols;
        const int col = tile * batch_cols + at % batch_cols;
        const auto i = static_cast<std::size_t>(tile * batch_outputs + at);
        const auto core =
            step(x.p, host_row{h.a.data() + row * row_bytes, x.p.a},
                 host_row{h.b.data() + col * row_bytes, x.p.b},
                 layout_of(x.p.a).length(), h.c[i]);
        got.add(h.d[i]), expected.add(core);
        if (core == h.d[i]) continue;
        if (count++ == 0) first = static_cast<std::int64_t>(i);
      }
    }
    const std::lock_guard<std::mutex> lock(guard);
    v.got.add_sum(got.sum()), v.expected.add_sum(expected.sum());
  };
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < std::max(1u, std::thread::hardware_concurrency());
       ++i) {
    threads.emplace_back(work);
  }
  for (auto& t : threads) t.join();
  return {count, first};
}

/// Compares the emulator with the core on the host.
verdict hold_emulator(const path& p, const effort& e) {
  const int tiles = e.level == 0 ? 1 : 16 << (2 * (e.level - 1));
  const batch_memory memory(p, tiles);
  const batch& x = memory.value();
  verdict v;
  for (int of = 0; of < families; ++of) {
    fill(x, filling::random, static_cast<family>(of), 7, 0);
    emulate(x);
    finish_kernel();
    const host_batch h(x);
    const auto [count, first] = differences(x, h, v);
    v.cases += static_cast<std::uint64_t>(tiles) * batch_outputs;
    if (v.failures == 0 && count != 0) {
      v.first_failure =
          std::string(family_names[of]) + ", output " + std::to_string(first);
    }
    v.failures += count;
  }
  return v;
}

std::string clauses_of(const path& p) {
  return p.lowering == lowering::direct ? "T1 T2 T3 T4 T5 T6 T7 T8 T12 T15"
                                        : "T6 T7 T8 T10 T12 T15";
}

check_list checks_of(unit by, const std::vector<path>& paths) {
  check_list all;
  for (const path& p : paths) {
    const std::string name = path_name(by, p);
    const auto add = [&](const std::string& what, const std::string& oracle,
                         verdict (*run)(unit, const path&, const effort&)) {
      all.push_back(device_check(
          "silicon." + name + "." + what, clauses_of(p), oracle,
          [by, p, run](const effort& e) { return run(by, p, e); }));
    };
    add("random", "instruction", hold_random);
    add("chain", "instruction", hold_chain);
    add("every_c", "instruction", hold_every_c);
    if (p.a.bits() == 8) add("every_pair", "instruction", hold_every_pair);
  }
  return all;
}

}  // namespace

check_list silicon_wgmma_checks() {
  return checks_of(unit::wgmma, wgmma_paths());
}

check_list silicon_mma_checks() { return checks_of(unit::mma, mma_paths()); }

check_list emulator_checks() {
  check_list all;
  const auto add = [&all](unit by, const std::vector<path>& paths) {
    for (const path& p : paths) {
      all.push_back(
          device_check("emulator." + path_name(by, p), clauses_of(p), "host",
                       [p](const effort& e) { return hold_emulator(p, e); }));
    }
  };
  add(unit::wgmma, wgmma_paths());
  std::vector<path> lowered;  // wgmma_paths() has the others
  for (const path& p : mma_paths()) {
    if (p.lowering != lowering::direct) lowered.push_back(p);
  }
  add(unit::mma, lowered);
  return all;
}

}  // namespace zeroulp::conformance::device
