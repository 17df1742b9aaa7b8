// Cases: the table of targets, generation, and checks of operands.

#include "fuzz/cases/problem.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "fuzz/cases/options.hpp"
#include "zeroulp/io.hpp"

namespace zeroulp::fuzz {
namespace {

/// Bounds what a problem can make an implementation allocate.
constexpr std::ptrdiff_t most_elements = std::ptrdiff_t{1} << 24;

std::ptrdiff_t extent(axis a, std::ptrdiff_t m, std::ptrdiff_t n,
                      std::ptrdiff_t k) {
  if (a.name == 0 || a.group == 0) return 1;
  const std::ptrdiff_t length = a.name == 'm' ? m : a.name == 'n' ? n : k;
  return ceil_div(length, a.group);
}

}  // namespace

recipe recipe_of(const settings& s) {
  recipe r = s.gemm;
  r.acc = s.unit.acc;
  return r;
}

const target_info& info_of(target t) {
  static const std::array<target_info, target_count> rows = {
      encode_info(),    decode_info(),
      arith_info(),     step_info(),
      quantize_info(),  pack_info(),
      retile_info(),    gemm_info(),
      swiglu_info(),    adamw_info(),
      dispatch_info(),  combine_info(),
      rms_norm_info(),  rms_norm_backward_info(),
      attention_info(), route_info()};
  return rows[static_cast<std::size_t>(t)];
}

target parse_target(std::string_view name) {
  std::string known;
  for (int i = 0; i < target_count; ++i) {
    const auto& info = info_of(static_cast<target>(i));
    if (name == info.name) return info.what;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", info.name);
  }
  throw input_error(
      fmt::format("unknown target '{}': use one of {}", name, known));
}

int parse_profile(target t, std::string_view name) {
  if (name == "mixed") return -1;
  const auto& profiles = info_of(t).profiles;
  std::string known = "mixed";
  for (std::size_t i = 0; i < profiles.size(); ++i) {
    if (name == profiles[i]) return static_cast<int>(i);
    known += fmt::format(", {}", profiles[i]);
  }
  throw input_error(fmt::format("unknown profile '{}' of {}: use one of {}",
                                name, info_of(t).name, known));
}

problem generate(target t, int profile, std::uint64_t seed, std::uint64_t index,
                 const pins& pinned) {
  const target_info& info = info_of(t);
  const auto stream = static_cast<std::uint64_t>(t) << 32 |
                      static_cast<std::uint64_t>(generator_version);
  counter_rng rng(mix64(seed) ^ stream, index);
  if (profile < 0) {
    const auto count = static_cast<std::uint32_t>(info.profiles.size());
    profile = static_cast<int>(rng.below(count));
  }
  problem p;
  p.what = t;
  std::string why;
  // Draw again while the drawn settings conflict with the pinned ones.
  for (int tries = 0; tries < 1000; ++tries) {
    p.with = {};
    info.draw(p.with, rng);
    if (pinned) pinned(p.with);
    why = info.refuse(p.with);
    if (why.empty()) {
      info.fill(p, profile, rng);
      return p;
    }
  }
  throw input_error(fmt::format("no case with these settings: {}", why));
}

std::ptrdiff_t length_of(const problem& p, char dimension) {
  const auto specs = info_of(p.what).operands(p.with);
  for (std::size_t i = 0; i < std::min(specs.size(), p.in.size()); ++i) {
    const auto& [name, type, rows, cols, optional, magnitude] = specs[i];
    if (optional) continue;
    if (rows.name == dimension && rows.group == 1) return p.in[i].rows;
    if (cols.name == dimension && cols.group == 1) return p.in[i].cols;
  }
  return 0;
}

matrix make_operand(const operand_spec& spec, std::ptrdiff_t m,
                    std::ptrdiff_t n, std::ptrdiff_t k, std::uint64_t fill) {
  return {spec.name, spec.type, extent(spec.rows, m, n, k),
          extent(spec.cols, m, n, k), fill};
}

problem rearranged(
    const problem& p, std::ptrdiff_t m, std::ptrdiff_t n, std::ptrdiff_t k,
    const std::function<std::ptrdiff_t(char, std::ptrdiff_t)>& source) {
  const auto specs = info_of(p.what).operands(p.with);
  const auto place = [&](const axis& a, std::ptrdiff_t at) {
    if (a.name == 0 || a.group == 0) return at;
    return source(a.name, at * a.group) / a.group;
  };
  problem q = p;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    if (specs[i].optional && p.in[i].rows == 0) continue;
    matrix& x = q.in[i];
    x = make_operand(specs[i], m, n, k);
    for (std::ptrdiff_t r = 0; r < x.rows; ++r) {
      for (std::ptrdiff_t c = 0; c < x.cols; ++c) {
        x(r, c) = p.in[i](place(specs[i].rows, r), place(specs[i].cols, c));
      }
    }
  }
  return q;
}

std::string refuse_operands(const problem& p) {
  const auto specs = info_of(p.what).operands(p.with);
  if (specs.size() != p.in.size()) {
    return fmt::format("{} operands, not {}", p.in.size(), specs.size());
  }
  const auto m = length_of(p, 'm');
  const auto n = length_of(p, 'n');
  const auto k = length_of(p, 'k');
  for (const auto& [x, y] : {std::pair{m, n}, {m, k}, {n, k}}) {
    if (x > most_elements || y > most_elements || x * y > most_elements) {
      return fmt::format("{} x {} is beyond {} elements", x, y, most_elements);
    }
  }
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const matrix& x = p.in[i];
    const auto rows = extent(specs[i].rows, m, n, k);
    const auto cols = extent(specs[i].cols, m, n, k);
    const bool absent = specs[i].optional && x.rows == 0 && x.cols == 0;
    if (!absent && (x.rows != rows || x.cols != cols)) {
      return fmt::format("{} is {}x{}, not {}x{}", x.name, x.rows, x.cols, rows,
                         cols);
    }
    const std::uint64_t mask =
        specs[i].magnitude ? x.type.magnitude_mask() : low_bits(x.type.bits());
    for (const auto code : x.words) {
      if ((code & ~mask) != 0) {
        return fmt::format("{} has {:x}, beyond {:x}", x.name, code, mask);
      }
    }
  }
  return "";
}

}  // namespace zeroulp::fuzz
