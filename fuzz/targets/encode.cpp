// Defines the target `encode`: codes of one format, encoded in another. Most
// cases lie on the grid of the target format: at its codes and midpoints, and
// one source code to either side.

#include <algorithm>
#include <iterator>

#include "fuzz/targets/coverage.hpp"
#include "fuzz/targets/parts.hpp"

namespace zeroulp::fuzz {
namespace {

enum class profile : std::uint8_t {
  uniform,
  grid,
  edges,
  tails,
  thresholds,
  subnormals,
  special,
};

/// Returns the code of `from` at or below a point between codes of `to`. The
/// point is `part` / 2^32 of the way from code `m` to the next; codes continue
/// beyond the largest.
std::uint64_t between_codes(format from, format to, std::uint64_t m,
                            std::uint32_t part) {
  const int biased = static_cast<int>(m >> to.man_bits);
  const std::uint64_t hidden = std::uint64_t{1} << to.man_bits;
  const bool is_scale = to.kind == specials::scale;
  const bool normal = biased > 0 || is_scale;
  const int above_lowest = normal && !is_scale ? biased - 1 : biased;
  number<wide<2>> x{
      {}, to.quantum_exponent() + above_lowest - 32, kind::finite, false};
  x.significand.add((m & (hidden - 1)) | (normal ? hidden : 0), 32);
  x.significand.add(part, 0);
  if (x.significand.is_zero()) return 0;
  return encode(from, x, {rounding::toward_zero}, ocp_saturate);
}

/// Returns a code of `to`, without sign, that `from` is likely to reach.
std::uint64_t some_target(format from, format to, counter_rng& rng) {
  const std::uint64_t code = any_code(from, rng);
  if (rng.one_in(2)) {
    return recode(from, code, to, {rounding::toward_zero}, ocp_saturate) &
           to.magnitude_mask();
  }
  return rng.next() % (to.max_code() + 1);
}

/// Returns a code near zero, near the smallest normal number, or near or
/// beyond the largest.
std::uint64_t edge_target(format to, counter_rng& rng) {
  const std::uint64_t hidden = std::uint64_t{1} << to.man_bits;
  const std::uint64_t near = rng.below(3);
  switch (rng.below(5)) {
    case 0:
      return near;
    case 1:
      return hidden + near - std::min<std::uint64_t>(hidden, 2);
    case 2:
      return to.max_code() - std::min(to.max_code(), near);
    case 3:
      return to.max_code() + near;
    default:  // the next powers of two
      return ((to.max_code() >> to.man_bits) + near) << to.man_bits;
  }
}

/// Returns a part of a gap that shows one discarded bit, or a run of them.
std::uint32_t tail(counter_rng& rng) {
  const std::uint32_t bit = std::uint32_t{1} << rng.below(32);
  switch (rng.below(4)) {
    case 0:
      return bit;
    case 1:
      return 0x80000000u ^ bit;
    case 2:
      return rng.next32() & ~(bit - 1);
    default:
      return rng.next32() & (bit - 1);
  }
}

std::uint64_t element(const settings& s, profile how, counter_rng& rng) {
  const format from = s.from;
  const format to = s.to;
  const auto beside = [&](std::uint64_t m, std::uint32_t part) {
    const auto code = between_codes(from, to, m, part);
    const std::uint64_t moved = code + rng.below(3) - 1;
    return with_any_sign(from, moved > from.max_code() ? code : moved, rng);
  };
  const auto half = [&] { return rng.one_in(2) ? 0 : 0x80000000u; };
  switch (how) {
    case profile::uniform:
      return any_code(from, rng);
    case profile::grid:
      return beside(some_target(from, to, rng), half());
    case profile::edges:
      return beside(edge_target(to, rng), half());
    case profile::tails: {
      const auto m = some_target(from, to, rng);
      return with_any_sign(from, between_codes(from, to, m, tail(rng)), rng);
    }
    case profile::thresholds: {
      // Where part + random is 2^32 - 1, 2^32 or 2^32 + 1.
      const auto m =
          rng.one_in(4) ? edge_target(to, rng) : some_target(from, to, rng);
      const std::uint32_t part = 0u - s.round.random + rng.below(3) - 1;
      return with_any_sign(from, between_codes(from, to, m, part), rng);
    }
    case profile::subnormals: {
      if (rng.one_in(2)) return code_of_kind(from, code_kind::subnormal, rng);
      const auto m = rng.next() & low_bits(to.man_bits);
      return with_any_sign(from, between_codes(from, to, m, tail(rng)), rng);
    }
    case profile::special:
      break;
  }
  return code_of_kind(from, static_cast<code_kind>(rng.below(code_kinds)), rng);
}

void draw(settings& s, counter_rng& rng) {
  if (rng.one_in(2)) {
    constexpr format sources[] = {fp32, fp32, bf16, fp16};
    constexpr format targets[] = {e4m3, e5m2, e5m6, e4m3};
    s.from = sources[rng.below(4)];
    s.to = targets[rng.below(4)];
  } else {
    s.from = any_format(rng);
    s.to = any_format(rng);
  }
  s.round = any_rounder(rng);
  s.overflow = named_policies[rng.below(std::size(named_policies))].value;
}

std::string refuse(const settings&) { return ""; }

std::vector<operand_spec> operands_of(const settings& s) {
  return {{"x", s.from, {0, 1}, {'n', 1}}};
}

void fill(problem& p, int by, counter_rng& rng) {
  matrix x("x", p.with.from, 1, some_length(rng));
  for (auto& word : x.words) {
    word = element(p.with, static_cast<profile>(by), rng);
  }
  p.in.clear();
  p.in.push_back(std::move(x));
}

std::string clauses(const problem& p, std::string_view) {
  const bool is_scale = p.with.to.kind == specials::scale;
  return clause_of(p.with.round.mode) + " R8 C1 C2 C3 C4 C5 C6 " +
         (is_scale ? "C7 C8" : "C8");
}

}  // namespace

target_info encode_info() {
  return {target::encode,
          "encode",
          "codes of one format, encoded in another",
          {"from", "to", "round", "random", "overflow"},
          {"uniform", "grid", "edges", "tails", "thresholds", "subnormals",
           "special"},
          draw,
          refuse,
          operands_of,
          fill,
          run_encode,
          clauses,
          encode_bins,
          cover_encode};
}

}  // namespace zeroulp::fuzz
