// What there is no GEMM for, and the recipe of what there is.

#include "tools/study/error/cell.hpp"

#include <fmt/format.h>

#include <cmath>

#include "zeroulp/engine.hpp"
#include "zeroulp/io.hpp"

namespace zeroulp::study {
namespace {

std::optional<std::string> impossible_operand(const operand& x) {
  const bool whole = x.group == per_tensor;
  const bool retiles =
      x.via == passage::retiled || x.via == passage::retiled_e5m6;
  if (x.scale == scaling::raw && !whole) {
    return "codes without scales have no groups: use group tensor";
  }
  if (x.scale == scaling::raw && x.when.history > 0) {
    return "codes without scales follow no amax";
  }
  if (x.when.history > 0 && x.from.matrix) {
    return "a file is one step: it has no history";
  }
  if (x.when.history > 0 && !whole) {
    return "delayed scaling keeps one amax a tensor";
  }
  if (retiles && (!(x.group == tile_1x128) || x.scale == scaling::raw ||
                  x.scale == scaling::ocp)) {
    return "a re-tiling makes 1x128 tiles, with FP32 or power-of-two scales";
  }
  return {};
}

}  // namespace

recipe recipe_of(const cell& c) {
  const bool late = c.a.group.k == 0 && c.b.group.k == 0;
  recipe r{hopper_fp8_f32,
           c.interval,
           late ? promotion::add : promotion::product_of_scales,
           c.a.group,
           c.b.group,
           1,
           epilogue::store,
           fp32};
  if (c.sum.by == accumulation::kind::hopper) {
    return engine::for_operands(r, c.a.element, c.b.element);
  }
  r.acc = c.sum.by == accumulation::kind::fp32 ? fp32_sequential
                                               : what_if_fraction(c.sum.bits);
  return r;
}

std::optional<std::string> impossible(const cell& c) {
  for (const auto* x : {&c.a, &c.b}) {
    if (auto why = impossible_operand(*x)) return why;
  }
  if (c.smooth && c.b.when.history > 0) {
    return "the channels of B follow A's amax: B has no history of its own";
  }
  const bool exact = c.sum.by == accumulation::kind::exact;
  const bool integers = c.a.element == int8 || c.b.element == int8;
  if (integers && !(c.a.element == c.b.element && exact)) {
    return "integers are multiplied by integers and summed exactly: use int8 "
           "on both sides and acc=exact";
  }
  if (exact) return {};
  for (const auto* x : {&c.a, &c.b}) {
    if (x->group.k > 0 && c.interval == 0) {
      return "scales along K need promotion";
    }
    if (x->group.k > 0 && x->group.k % c.interval != 0) {
      return fmt::format("an interval of {} crosses groups of {}", c.interval,
                         x->group.k);
    }
  }
  try {
    const recipe r = recipe_of(c);
    if (is_valid(r)) return {};
    return fmt::format(
        "a step takes {} products: the interval must be a "
        "multiple",
        r.acc.length);
  } catch (const input_error& e) {
    return e.what();
  }
}

std::uint32_t ocp_amax(std::uint32_t x, format to) {
  const float value = bit_cast<float>(x);
  if (value == 0) return x;
  const double max = to_double(decode(to, to.max_code()));
  const double fraction = max / std::ldexp(1.0, std::ilogb(max));
  return bit_cast<std::uint32_t>(
      static_cast<float>(std::ldexp(fraction, std::ilogb(value))));
}

}  // namespace zeroulp::study
