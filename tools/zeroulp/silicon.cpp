#ifdef ZEROULP_HAVE_CONFORMANCE
#include "tools/zeroulp/silicon.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "src/base/near_names.hpp"
#include "tools/zeroulp/program.hpp"
#include "zeroulp/io.hpp"
#include "zeroulp/names.hpp"
#ifdef ZEROULP_HAVE_DEVICE
#include "conformance/device/device.hpp"
#endif

namespace zeroulp::program {
namespace {

constexpr std::string_view silicon = "silicon";
constexpr std::string_view kernels = "gpu";

bool has_kernels(fuzz::target t) {
  using fuzz::target;
  return t >= target::quantize && t <= target::rms_norm;
}

#ifdef ZEROULP_HAVE_DEVICE

namespace device = conformance::device;

std::uint64_t step_of_silicon(const path& p, const std::uint64_t* a,
                              const std::uint64_t* b, int count,
                              std::uint64_t c) {
  if (!device::has_instruction(p)) {
    throw input_error("silicon: no instruction of Hopper follows this path");
  }
  return device::run_steps(p, {{{a, a + count}, {b, b + count}, count, c}})[0];
}

const std::vector<path>& instructions() {
  static const auto paths = [] {
    std::vector<path> all;
    for (const auto& named : all_paths()) {
      if (device::has_instruction(named.value)) all.push_back(named.value);
    }
    return all;
  }();
  return paths;
}

/// Another path where no instruction follows this one.
void keep_to_instructions(fuzz::settings& s) {
  if (device::has_instruction(s.unit)) return;
  const auto key = static_cast<std::uint64_t>(s.unit.acc.fraction_bits) * 31 +
                   static_cast<std::uint64_t>(s.unit.acc.length);
  s.unit = instructions()[mix64(key) % instructions().size()];
}

void need_gpu(std::string_view opponent) {
  const auto why = device::why_absent();
  if (!why.empty()) throw input_error(fmt::format("{}: {}", opponent, why));
}

fuzz::opponent silicon_opponent() {
  need_gpu(silicon);
  fuzz::opponent o = fuzz::core_opponent();
  o.name = silicon;
  o.table.name = o.name;
  o.table.step = step_of_silicon;
  return o;
}

fuzz::opponent kernel_opponent() {
  need_gpu(kernels);
  fuzz::opponent o = fuzz::core_opponent();
  o.table = device::gpu_implementation();
  o.name = kernels;
  return o;
}

/// Other settings where no kernel serves these.
fuzz::pins limits_of_kernels(fuzz::target t) {
  return [t](fuzz::settings& s) { device::keep_to_kernels(t, s); };
}

#else

void keep_to_instructions(fuzz::settings&) {}

fuzz::pins limits_of_kernels(fuzz::target) { return {}; }

fuzz::opponent absent(std::string_view opponent) {
  throw input_error(fmt::format("{}: {}", opponent, no_gpu_part));
}

fuzz::opponent silicon_opponent() { return absent(silicon); }
fuzz::opponent kernel_opponent() { return absent(kernels); }

#endif

/// Throws input_error where `name` is nearly that of an opponent.
void check_spelling(std::string_view name) {
  const std::vector<std::string_view> known{"oracle", "engine", silicon,
                                            kernels, "core"};
  const auto near = did_you_mean(name, known);
  if (near.empty() ||
      std::find(known.begin(), known.end(), name) != known.end()) {
    return;
  }
  throw input_error(
      fmt::format("unknown opponent '{}': {}see --help for all", name, near));
}

}  // namespace

fuzz::opponent find_opponent(std::string_view name, fuzz::target t) {
  if (name == kernels) {
    if (!has_kernels(t)) {
      throw input_error(
          "gpu answers what kernels do alone: zeroulp fuzz quantize, pack, "
          "retile, gemm, swiglu, adamw, dispatch, combine, rms_norm");
    }
    return kernel_opponent();
  }
  if (name != silicon) {
    check_spelling(name);
    return fuzz::parse_opponent(name, t);
  }
  if (t != fuzz::target::step) {
    throw input_error("silicon answers steps alone: zeroulp fuzz step");
  }
  return silicon_opponent();
}

fuzz::pins limits_of(const fuzz::opponent& o, fuzz::target t) {
  if (o.name == kernels) return limits_of_kernels(t);
  return o.name == silicon ? fuzz::pins(keep_to_instructions) : fuzz::pins();
}

}  // namespace zeroulp::program
#endif
