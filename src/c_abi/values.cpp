// The C ABI: structs of values, checked, to those of C++ and back.

#include "src/c_abi/c_abi.hpp"

namespace zeroulp::c_abi {
namespace {

/// The exponent of the highest bit of the largest finite number.
int max_exponent(format f) {
  const unpacked max = decode(f, f.max_code());
  return msb(max.significand) + max.exponent;
}

/// Returns true iff every finite number of `f` is one of `in`.
bool holds(format in, format f) {
  return f.man_bits <= in.man_bits &&
         f.quantum_exponent() >= in.quantum_exponent() &&
         max_exponent(f) <= max_exponent(in);
}

bool flag_of(std::int32_t value, const char* what) {
  return checked(value, 0, 1, what) == 1;
}

/// A value of zeroulp_unit_scale, or a sum of them.
scale_edges edges_of(std::int32_t value, const char* what) {
  constexpr std::int32_t all = ZEROULP_UNIT_SCALE_OF_ZERO |
                               ZEROULP_UNIT_SCALE_OF_INFINITY |
                               ZEROULP_FINITE_INVERSE | ZEROULP_POSITIVE_SCALE |
                               ZEROULP_UNIT_SCALE_OF_NAN;
  if (value == ZEROULP_UNIT_SCALE) return all_scale_edges;
  if ((value & ~all) != 0) {
    refuse("{} is {}: use ZEROULP_UNIT_SCALE, or a sum of the others", what,
           value);
  }
  return {(value & ZEROULP_UNIT_SCALE_OF_ZERO) != 0,
          (value & ZEROULP_UNIT_SCALE_OF_INFINITY) != 0,
          (value & ZEROULP_FINITE_INVERSE) != 0,
          (value & ZEROULP_POSITIVE_SCALE) != 0,
          (value & ZEROULP_UNIT_SCALE_OF_NAN) != 0};
}

std::int32_t edges_to_c(const scale_edges& e) {
  if (e == all_scale_edges) return ZEROULP_UNIT_SCALE;
  return (e.unit_of_zero ? ZEROULP_UNIT_SCALE_OF_ZERO : 0) |
         (e.unit_of_infinity ? ZEROULP_UNIT_SCALE_OF_INFINITY : 0) |
         (e.finite_inverse ? ZEROULP_FINITE_INVERSE : 0) |
         (e.positive ? ZEROULP_POSITIVE_SCALE : 0) |
         (e.unit_of_nan ? ZEROULP_UNIT_SCALE_OF_NAN : 0);
}

/// The members of a convention that ABI 2 added.
void set_rules_of_abi_2(const ::zeroulp_convention& c, convention& how) {
  if (c.scale_floor >= fp32_infinity) {
    refuse("quantizer.how.scale_floor is {:08x}: negative or not finite",
           c.scale_floor);
  }
  how.scale_floor = c.scale_floor;
  how.exponent =
      enum_of(c.exponent, exponent_rule::of_log2, "quantizer.how.exponent");
  how.bf16_scale = flag_of(c.bf16_scale, "quantizer.how.bf16_scale");
  how.unrounded_inverse =
      flag_of(c.unrounded_inverse, "quantizer.how.unrounded_inverse");
  how.through =
      enum_of(c.through, pre_rounding::to_fp16, "quantizer.how.through");
  if (c.largest >= fp32_infinity) {
    refuse("quantizer.how.largest is {:08x}: negative or not finite",
           c.largest);
  }
  how.largest = c.largest;
  check_reserved(c.reserved, "quantizer.how");
}

rounding exact_rounding_of(std::int32_t mode, const char* what) {
  return enum_of(mode, rounding::to_odd, what);
}

format quantizable_of(const zeroulp_format& f, const char* what) {
  const format result = format_of(&f, what);
  if (!is_quantizable(result)) {
    refuse(
        "{}: elements are quantized to formats with a sign, at most 32 bits "
        "and a largest number below 2^128",
        what);
  }
  return result;
}

accumulator accumulator_of(const zeroulp_accumulator& a) {
  accumulator acc{
      static_cast<std::int16_t>(
          checked(a.length, 0, INT16_MAX, "accumulator.length")),
      static_cast<std::int16_t>(checked(a.fraction_bits, uncut,
                                        max_fraction_bits,
                                        "accumulator.fraction_bits")),
      static_cast<std::int16_t>(checked(a.exponent_floor, INT16_MIN, INT16_MAX,
                                        "accumulator.exponent_floor")),
      format_of(&a.output, "accumulator.output"),
      exact_rounding_of(a.conversion, "accumulator.conversion"),
      format_of(&a.stored, "accumulator.stored"),
      exact_rounding_of(a.cut, "accumulator.cut"),
      enum_of(a.addend, addend::last, "accumulator.addend"),
      flag_of(a.renormalized, "accumulator.renormalized")};
  if (acc.length == 0 && acc.fraction_bits != uncut) {
    refuse("accumulator.length: 0 (all of K) needs a sum that is not cut");
  }
  if (acc.output.kind != specials::ieee || acc.stored.kind != specials::ieee ||
      !holds(acc.stored, acc.output) || !holds(fp32, acc.stored)) {
    refuse(
        "accumulator: output and stored need specials IEEE, stored the "
        "numbers of output, and FP32 those of stored");
  }
  return acc;
}

zeroulp_accumulator accumulator_to_c(const accumulator& a) {
  return {a.length,
          a.fraction_bits,
          a.exponent_floor,
          static_cast<std::int32_t>(a.conversion),
          static_cast<std::int32_t>(a.cut),
          static_cast<std::int32_t>(a.c),
          a.renormalized,
          to_c(a.output),
          to_c(a.stored)};
}

granularity granularity_of(const zeroulp_group& g, const char* what) {
  const group_shape shape = group_of(g, what);
  return {shape.rows, shape.cols};
}

}  // namespace

std::int32_t checked(std::int32_t value, std::int32_t low, std::int32_t high,
                     const char* what) {
  if (value < low || value > high) {
    refuse("{} is {}: use {} to {}", what, value, low, high);
  }
  return value;
}

format format_of(const zeroulp_format* given, const char* what) {
  const auto& g = needed(given, what);
  const auto invalid = [&](const char* why) {
    refuse("{}: exponent_bits {}, fraction_bits {}, bias {}, specials {}: {}",
           what, g.exponent_bits, g.fraction_bits, g.bias, g.specials, why);
  };
  if (g.specials < 0 || g.specials > static_cast<int>(specials::scale)) {
    invalid("specials are 0 to 4");
  }
  if (g.exponent_bits < 1 || g.exponent_bits > 11 || g.fraction_bits < 0 ||
      g.fraction_bits > 52) {
    invalid("1 to 11 exponent and 0 to 52 fraction bits are taken");
  }
  if (g.bias < -4096 || g.bias > 4096) invalid("its numbers are beyond FP64's");
  const format f{static_cast<std::uint8_t>(g.exponent_bits),
                 static_cast<std::uint8_t>(g.fraction_bits),
                 static_cast<std::int16_t>(g.bias),
                 static_cast<specials>(g.specials)};
  if (f.kind == specials::ieee && f.man_bits == 0) {
    invalid("NaN needs a fraction bit beside Inf");
  }
  if (f.kind == specials::scale && f.man_bits != 0) {
    invalid("a scale has no fraction");
  }
  if (f.kind != specials::scale && f.max_code() == 0) {
    invalid("zero is its only number");
  }
  if (!holds(fp64, f)) invalid("its numbers are beyond FP64's");
  return f;
}

format operand_of(const zeroulp_format* given, const char* what) {
  const format f = format_of(given, what);
  if (!holds(fp32, f)) refuse("{}: its numbers are beyond FP32's", what);
  return f;
}

rounding rounding_of(std::int32_t mode) {
  return enum_of(mode, rounding::stochastic, "rounding");
}

policy policy_of(const zeroulp_policy* p, const policy& otherwise) {
  if (p == nullptr) return otherwise;
  return {flag_of(p->saturate_finite, "policy.saturate_finite"),
          flag_of(p->saturate_infinite, "policy.saturate_infinite"),
          flag_of(p->nan_sign, "policy.nan_sign"),
          enum_of(p->nan_payload, nan_payload::largest, "policy.nan_payload"),
          flag_of(p->scale_magnitude, "policy.scale_magnitude")};
}

group_shape group_of(const zeroulp_group& g, const char* what) {
  if (g.rows < 0 || g.cols < 0) refuse("{}: {} x {}", what, g.rows, g.cols);
  return {g.rows, g.cols};
}

scale_kind scale_kind_of(std::int32_t kind) {
  return enum_of(kind, scale_kind::ocp, "scale");
}

quantizer quantizer_of(const zeroulp_quantizer* given) {
  const auto& q = needed(given, "quantizer");
  const format from = format_of(&q.from, "quantizer.from");
  if (!(from == fp32 || from == bf16 || from == fp16)) {
    refuse("quantizer.from: elements are quantized from fp32, bf16 or fp16");
  }
  const auto& c = q.how;
  if (c.amax_floor > fp32_infinity) {
    refuse("quantizer.how.amax_floor is {:08x}: negative or NaN", c.amax_floor);
  }
  quantizer result{
      from,
      quantizable_of(q.to, "quantizer.to"),
      {c.amax_floor,
       enum_of(c.scale, scale_rule::reciprocal_product, "quantizer.how.scale"),
       enum_of(c.element, element_rule::approximate_quotient,
               "quantizer.how.element"),
       enum_of(c.amax, amax_rule::keep_nan, "quantizer.how.amax"),
       edges_of(c.unit_scale, "quantizer.how.unit_scale"),
       flag_of(c.bf16_amax, "quantizer.how.bf16_amax"),
       flag_of(c.power_of_two, "quantizer.how.power_of_two"),
       policy_of(&c.conversion, {})},
      enum_of(q.scale, scale_kind::ocp, "quantizer.scale"),
      group_of(q.group, "quantizer.group")};
  set_rules_of_abi_2(c, result.how);
  check_reserved(q.reserved, "quantizer");
  return result;
}

retiling retiling_of(const zeroulp_retiling* given) {
  const auto& r = needed(given, "retiling");
  check_reserved(r.reserved, "retiling");
  return {quantizable_of(r.from, "retiling.from"),
          quantizable_of(r.to, "retiling.to"),
          enum_of(r.scale, scale_kind::ocp, "retiling.scale"),
          checked(r.tile, 0, INT32_MAX, "retiling.tile"),
          enum_of(r.rule, retile_rule::max_scale, "retiling.rule")};
}

path path_of(const zeroulp_path* given) {
  const auto& p = needed(given, "path");
  check_reserved(p.reserved, "path");
  const path result{operand_of(&p.a, "path.a"), operand_of(&p.b, "path.b"),
                    accumulator_of(p.accumulator),
                    enum_of(p.lowering, lowering::hmma_zero, "path.lowering")};
  if (result.lowering != lowering::direct &&
      (result.acc.length == 0 || !holds(fp16, result.a) ||
       !holds(fp16, result.b))) {
    refuse(
        "path.lowering: a step of some length, and operands whose numbers "
        "are FP16's");
  }
  return result;
}

block_scaled_path path_of(const zeroulp_block_scaled_path* given) {
  const auto& p = needed(given, "path");
  check_reserved(p.reserved, "path");
  const block_scaled_path result{
      path_of(&p.path),
      enum_of(p.scale, block_scale::unsigned_e4m3, "path.scale"),
      static_cast<std::int16_t>(checked(p.block, 1, INT16_MAX, "path.block")),
      enum_of(p.terms, block_terms::sums, "path.terms")};
  if (!is_valid(result)) {
    refuse(
        "path: block scales need a direct path that is cut, a length and a "
        "block of which one is a multiple of the other, and scales of ue8m0 or "
        "sums of E2M1");
  }
  return result;
}

recipe recipe_of(const zeroulp_recipe* given) {
  const auto& r = needed(given, "recipe");
  check_reserved(r.reserved, "recipe");
  const recipe result{
      accumulator_of(r.accumulator),
      checked(r.interval, 0, INT32_MAX, "recipe.interval"),
      enum_of(r.promotion, promotion::other_then_one, "recipe.promotion"),
      granularity_of(r.a, "recipe.a"),
      granularity_of(r.b, "recipe.b"),
      checked(r.splits, 1, INT32_MAX, "recipe.splits"),
      enum_of(r.epilogue, epilogue::accumulate, "recipe.epilogue"),
      format_of(&r.output, "recipe.output")};
  if (result.output.bits() > 32) {
    refuse("recipe.output has {} bits: at most 32 are taken",
           result.output.bits());
  }
  return result;
}

zeroulp_format to_c(format f) {
  return {f.exp_bits, f.man_bits, f.bias, static_cast<std::int32_t>(f.kind)};
}

zeroulp_policy to_c(const policy& p) {
  return {p.saturate_finite, p.saturate_infinite, p.nan_sign,
          static_cast<std::int32_t>(p.payload), p.scale_magnitude};
}

zeroulp_group to_c(group_shape g) { return {g.rows, g.cols}; }

::zeroulp_convention to_c(const convention& c) {
  return {c.amax_floor,
          static_cast<std::int32_t>(c.scale),
          static_cast<std::int32_t>(c.element),
          static_cast<std::int32_t>(c.amax),
          edges_to_c(c.edges),
          c.bf16_amax,
          c.power_of_two,
          to_c(c.conversion),
          c.scale_floor,
          static_cast<std::int32_t>(c.exponent),
          c.bf16_scale,
          c.unrounded_inverse,
          static_cast<std::int32_t>(c.through),
          c.largest,
          {}};
}

zeroulp_path to_c(const path& p) {
  return {to_c(p.a),
          to_c(p.b),
          accumulator_to_c(p.acc),
          static_cast<std::int32_t>(p.lowering),
          {}};
}

zeroulp_block_scaled_path to_c(const block_scaled_path& p) {
  return {to_c(p.unscaled),
          static_cast<std::int32_t>(p.scale),
          p.block,
          static_cast<std::int32_t>(p.terms),
          {}};
}

zeroulp_recipe to_c(const recipe& r) {
  return {accumulator_to_c(r.acc),
          r.interval,
          static_cast<std::int32_t>(r.update),
          {r.a.mn, r.a.k},
          {r.b.mn, r.b.k},
          r.splits,
          static_cast<std::int32_t>(r.end),
          to_c(r.output),
          {}};
}

}  // namespace zeroulp::c_abi
