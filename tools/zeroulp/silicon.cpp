#ifdef ZEROULP_HAVE_CONFORMANCE
#include "silicon.hpp"

#include <fmt/format.h>

#include "zeroulp/io.hpp"
#include "zeroulp/names.hpp"
#ifdef ZEROULP_HAVE_DEVICE
#include "conformance/device/device.hpp"
#endif

namespace zeroulp::program {
namespace {

constexpr std::string_view silicon = "silicon";

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

fuzz::opponent silicon_opponent() {
  const auto why = device::why_absent();
  if (!why.empty()) throw input_error(fmt::format("silicon: {}", why));
  fuzz::opponent o = fuzz::core_opponent();
  o.name = silicon;
  o.table.name = o.name;
  o.table.step = step_of_silicon;
  return o;
}

#else

void keep_to_instructions(fuzz::settings&) {}

fuzz::opponent silicon_opponent() {
  throw input_error(
      "silicon: this build has no GPU support: install nvcc and "
      "build again");
}

#endif

}  // namespace

fuzz::opponent find_opponent(std::string_view name, fuzz::target t) {
  if (name != silicon) return fuzz::parse_opponent(name, t);
  if (t != fuzz::target::step) {
    throw input_error("silicon answers steps alone: zeroulp fuzz step");
  }
  return silicon_opponent();
}

fuzz::pins limits_of(const fuzz::opponent& o) {
  return o.name == silicon ? fuzz::pins(keep_to_instructions) : fuzz::pins();
}

}  // namespace zeroulp::program
#endif
