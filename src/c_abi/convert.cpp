// The C ABI: conversion and arithmetic of codes.

#include "src/c_abi/c_abi.hpp"
#include "zeroulp/core/arith.hpp"

namespace zeroulp::c_abi {
namespace {

/// How each element is rounded.
struct element_rounder {
  rounding mode;
  matrix_view<const std::uint32_t> random;

  rounder at(std::ptrdiff_t i, std::ptrdiff_t j) const {
    return {mode, random.data == nullptr ? 0 : random(i, j)};
  }
};

element_rounder rounder_of(std::int32_t mode,
                           const zeroulp_const_matrix* random,
                           const code_view& out) {
  element_rounder r{rounding_of(mode), {}};
  if (r.mode != rounding::stochastic) return r;
  const auto bits = view_of(random, "random");
  need_shape(bits, "random", out.rows, out.cols, "in out");
  r.random = words_of(bits, "random");
  return r;
}

void run_recode(const zeroulp_format* from, const zeroulp_const_matrix* in,
                const zeroulp_format* to, const zeroulp_matrix* out,
                std::int32_t mode, const zeroulp_policy* p,
                const zeroulp_const_matrix* random) {
  const format source = format_of(from, "from");
  const format target = format_of(to, "to");
  const auto x = view_of(in, "in");
  const auto y = view_of(out, "out");
  need_room(source, x, "in");
  need_room(target, y, "out");
  need_shape(y, "out", x.rows, x.cols, "in in");
  const policy how = policy_of(p, cuda_satfinite);
  const auto r = rounder_of(mode, random, y);
  if (x.bytes <= 4 && y.bytes <= 4) {
    return engine::recode(source, x, target, y, r.mode, how, r.random);
  }
  for_each_element(y, [&](std::ptrdiff_t i, std::ptrdiff_t j) {
    return recode(source, read(x, i, j), target, r.at(i, j), how);
  });
}

int operands_of(std::int32_t operation) {
  return operation == ZEROULP_SQUARE_ROOT ? 1
         : operation == ZEROULP_FMA       ? 3
                                          : 2;
}

std::uint64_t compute(std::int32_t operation, format f, const std::uint64_t* x,
                      rounder r, const policy& p) {
  switch (operation) {
    case ZEROULP_ADD:
      return add(f, x[0], x[1], r, p);
    case ZEROULP_SUBTRACT:
      return subtract(f, x[0], x[1], r, p);
    case ZEROULP_MULTIPLY:
      return multiply(f, x[0], x[1], r, p);
    case ZEROULP_FMA:
      return fma(f, x[0], x[1], x[2], r, p);
    case ZEROULP_DIVIDE:
      return divide(f, x[0], x[1], r, p);
    default:
      return square_root(f, x[0], r, p);
  }
}

void run_arithmetic(std::int32_t operation, const zeroulp_format* given,
                    const zeroulp_const_matrix* const (&operands)[3],
                    const zeroulp_matrix* result, std::int32_t mode,
                    const zeroulp_policy* p,
                    const zeroulp_const_matrix* random) {
  constexpr const char* names[] = {"a", "b", "c"};
  checked(operation, ZEROULP_ADD, ZEROULP_SQUARE_ROOT, "operation");
  const format f = format_of(given, "format");
  const auto out = view_of(result, "out");
  need_room(f, out, "out");
  const int count = operands_of(operation);
  const_code_view in[3];
  for (int k = 0; k < count; ++k) {
    in[k] = view_of(operands[k], names[k]);
    need_room(f, in[k], names[k]);
    need_shape(in[k], names[k], out.rows, out.cols, "in out");
  }
  const policy how = policy_of(p, cuda_nosat);
  const auto r = rounder_of(mode, random, out);
  for_each_element(out, [&](std::ptrdiff_t i, std::ptrdiff_t j) {
    std::uint64_t x[3] = {};
    for (int k = 0; k < count; ++k) x[k] = read(in[k], i, j);
    return compute(operation, f, x, r.at(i, j), how);
  });
}

}  // namespace
}  // namespace zeroulp::c_abi

using namespace zeroulp::c_abi;

zeroulp_status zeroulp_recode(const zeroulp_format* from,
                              const zeroulp_const_matrix* in,
                              const zeroulp_format* to,
                              const zeroulp_matrix* out, std::int32_t rounding,
                              const zeroulp_policy* policy,
                              const zeroulp_const_matrix* random) {
  return guarded(__func__, [&] {
    run_recode(from, in, to, out, rounding, policy, random);
  });
}

zeroulp_status zeroulp_arithmetic(
    std::int32_t operation, const zeroulp_format* format,
    const zeroulp_const_matrix* a, const zeroulp_const_matrix* b,
    const zeroulp_const_matrix* c, const zeroulp_matrix* out,
    std::int32_t rounding, const zeroulp_policy* policy,
    const zeroulp_const_matrix* random) {
  return guarded(__func__, [&] {
    run_arithmetic(operation, format, {a, b, c}, out, rounding, policy, random);
  });
}
