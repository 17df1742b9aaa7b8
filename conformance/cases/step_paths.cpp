#include "conformance/cases/step_paths.hpp"

#include <algorithm>
#include <iterator>
#include <span>

namespace zeroulp::conformance {
namespace {

constexpr format spec_e4m3{4, 3, 7, specials::fn};
constexpr format spec_e5m2{5, 2, 15, specials::ieee};
constexpr format spec_bf16{8, 7, 127, specials::ieee};
constexpr format spec_fp16{5, 10, 15, specials::ieee};
constexpr format spec_tf32{8, 10, 127, specials::ieee};
constexpr format spec_fp32{8, 23, 127, specials::ieee};
constexpr format spec_e8m13{8, 13, 127, specials::ieee};
constexpr format spec_e3m2{3, 2, 3, specials::finite};
constexpr format spec_e2m3{2, 3, 1, specials::finite};
constexpr format spec_e2m1{2, 1, 1, specials::finite};

constexpr int none = -32768;

accumulator truncating(int length, int fraction_bits, int floor,
                       format output) {
  return {static_cast<std::int16_t>(length),
          static_cast<std::int16_t>(fraction_bits),
          static_cast<std::int16_t>(floor),
          output,
          rounding::toward_zero,
          spec_fp32};
}

accumulator to_fp16(int length, int fraction_bits, int floor) {
  accumulator acc = truncating(length, fraction_bits, floor, spec_fp16);
  acc.conversion = rounding::nearest_even;
  acc.stored = spec_fp16;
  return acc;
}

accumulator nearest_unaligned(int length) {
  accumulator acc = truncating(length, -1, none, spec_fp32);
  acc.conversion = rounding::nearest_even;
  return acc;
}

struct named_operand {
  const char* name;
  format value;
};

/// FP8 first.
constexpr named_operand narrow_operands[] = {{"e4m3", spec_e4m3},
                                             {"e5m2", spec_e5m2},
                                             {"e3m2", spec_e3m2},
                                             {"e2m3", spec_e2m3},
                                             {"e2m1", spec_e2m1}};

void add_paths(const specified_row& row, std::vector<named_path>& paths) {
  const bool f16 = row.acc.stored == spec_fp16;
  const auto add = [&](const named_operand& a, const named_operand& b) {
    paths.push_back({std::string(row.name) + "." + a.name + "." + b.name +
                         (f16 ? ".f16" : ".f32"),
                     {a.value, b.value, row.acc, row.lowering}});
  };
  const auto both = [&](const named_operand& a) { add(a, a); };
  const bool any = row.takes == operands::any;
  const bool f8f6f4 = row.takes == operands::f8f6f4;
  if (any || f8f6f4 || row.takes == operands::fp8) {
    const std::size_t count = f8f6f4 ? std::size(narrow_operands) : 2;
    for (const auto& a : std::span(narrow_operands).first(count)) {
      for (const auto& b : std::span(narrow_operands).first(count)) add(a, b);
    }
  }
  const bool half = any || row.takes == operands::half;
  if (half) both({"bf16", spec_bf16});
  if (half || row.takes == operands::fp16_only) both({"fp16", spec_fp16});
  if (any || row.takes == operands::tf32_only) both({"tf32", spec_tf32});
  if (any) both({"fp32", spec_fp32});
}

}  // namespace

std::vector<specified_row> specified_rows() {
  using op = operands;
  using low = lowering;
  const auto fp8_f32 = truncating(32, 13, none, spec_e8m13);
  const auto fp8_f16 = to_fp16(32, 13, none);
  const auto half_f32 = truncating(16, 25, -133, spec_fp32);
  const auto half_f16 = to_fp16(16, 25, -21);
  const auto tf32_f32 = truncating(8, 25, -133, spec_fp32);
  const auto ampere_f32 = truncating(8, 24, -132, spec_fp32);
  const auto ampere_f16 = to_fp16(8, 24, -20);
  const auto narrow_f32 = truncating(32, 25, -133, spec_fp32);
  const auto narrow_f16 = to_fp16(32, 25, -21);
  auto sign_fill = fp8_f32;
  sign_fill.cut = rounding::down;
  auto top14 = fp8_f32;
  top14.renormalized = true;
  auto c_last = fp8_f32;
  c_last.c = addend::last;
  return {
      {"hopper.wgmma", op::fp8, fp8_f32, low::direct},
      {"hopper.wgmma", op::fp8, fp8_f16, low::direct},
      {"hopper.wgmma", op::half, half_f32, low::direct},
      {"hopper.wgmma", op::fp16_only, half_f16, low::direct},
      {"hopper.wgmma", op::tf32_only, tf32_f32, low::direct},
      {"hopper.mma", op::half, half_f32, low::direct},
      {"hopper.mma", op::fp16_only, half_f16, low::direct},
      {"hopper.mma", op::tf32_only, tf32_f32, low::direct},
      {"hopper.mma", op::fp8, half_f32, low::hmma_chained},
      {"hopper.mma", op::fp8, half_f16, low::hmma_chained},
      {"hopper.mma_zero", op::fp8, half_f32, low::hmma_zero},
      {"ampere.mma", op::half, ampere_f32, low::direct},
      {"ampere.mma", op::fp16_only, ampere_f16, low::direct},
      {"ampere.mma", op::tf32_only, truncating(4, 24, -132, spec_fp32),
       low::direct},
      {"ada.mma", op::half, ampere_f32, low::direct},
      {"ada.mma", op::fp16_only, ampere_f16, low::direct},
      {"ada.mma", op::tf32_only, truncating(4, 24, -132, spec_fp32),
       low::direct},
      {"ada.mma", op::fp8, truncating(16, 13, none, spec_e8m13), low::direct},
      {"ada.mma", op::fp8, to_fp16(16, 13, none), low::direct},
      {"blackwell.mma", op::half, half_f32, low::direct},
      {"blackwell.mma", op::fp16_only, half_f16, low::direct},
      {"blackwell.mma", op::tf32_only, tf32_f32, low::direct},
      {"blackwell.mma", op::fp8, half_f32, low::hmma_chained},
      {"blackwell.mma", op::fp8, half_f16, low::hmma_chained},
      {"blackwell.tcgen05", op::half, half_f32, low::direct},
      {"blackwell.tcgen05", op::fp16_only, half_f16, low::direct},
      {"blackwell.tcgen05", op::tf32_only, tf32_f32, low::direct},
      {"blackwell.tcgen05", op::f8f6f4, narrow_f32, low::direct},
      {"blackwell.tcgen05", op::f8f6f4, narrow_f16, low::direct},
      {"rtx_blackwell.mma", op::half, half_f32, low::direct},
      {"rtx_blackwell.mma", op::fp16_only, half_f16, low::direct},
      {"rtx_blackwell.mma", op::tf32_only, tf32_f32, low::direct},
      {"rtx_blackwell.mma", op::f8f6f4, narrow_f32, low::direct},
      {"rtx_blackwell.mma", op::f8f6f4, narrow_f16, low::direct},
      {"turing.mma", op::fp16_only, ampere_f32, low::direct},
      {"turing.mma", op::fp16_only, ampere_f16, low::direct},
      {"volta.mma", op::fp16_only, truncating(4, 23, none, spec_fp32),
       low::direct},
      {"volta.mma", op::fp16_only, to_fp16(4, 23, -19), low::direct},
      {"whatif.sign_fill", op::fp8, sign_fill, low::direct},
      {"whatif.top14", op::fp8, top14, low::direct},
      {"whatif.c_last", op::fp8, c_last, low::direct},
      {"sequential", op::any, nearest_unaligned(1), low::direct},
      {"exact", op::any, nearest_unaligned(0), low::direct},
  };
}

accumulator specified_fraction(int fraction_bits) {
  const auto kept = static_cast<std::uint8_t>(fraction_bits);
  return truncating(
      32, fraction_bits, none,
      fraction_bits < 23 ? format{8, kept, 127, specials::ieee} : spec_fp32);
}

std::vector<named_path> specified_paths() {
  std::vector<named_path> paths;
  for (const auto& row : specified_rows()) add_paths(row, paths);
  const auto seen_before = [&paths](const named_path& p) {
    return std::find_if(paths.begin(), paths.end(), [&p](const auto& q) {
             return q.value == p.value;
           })->name != p.name;
  };
  std::vector<named_path> distinct;
  for (const auto& p : paths) {
    if (!seen_before(p)) distinct.push_back(p);
  }
  return distinct;
}

std::vector<named_block_scaled> specified_block_scaled_paths() {
  const accumulator narrow = truncating(32, 25, -133, spec_fp32);
  const accumulator fp4 = truncating(64, 35, -139, spec_fp32);
  std::vector<named_block_scaled> paths;
  for (const std::string gpu : {"blackwell.tcgen05.", "rtx_blackwell.mma."}) {
    for (const auto& a : narrow_operands) {
      for (const auto& b : narrow_operands) {
        paths.push_back({gpu + "mxf8f6f4." + a.name + "." + b.name + ".f32",
                         {{a.value, b.value, narrow},
                          block_scale::power_of_two,
                          32,
                          block_terms::products}});
      }
    }
    const auto add = [&](const char* kind, block_scale s, std::int16_t block) {
      paths.push_back(
          {gpu + kind + ".e2m1.e2m1.f32",
           {{spec_e2m1, spec_e2m1, fp4}, s, block, block_terms::sums}});
    };
    add("mxf4", block_scale::power_of_two, 32);
    add("mxf4nvf4", block_scale::unsigned_e4m3, 16);
    add("mxf4nvf4_ue8m0", block_scale::power_of_two, 16);
  }
  return paths;
}

std::vector<named_path> what_if_paths() {
  std::vector<named_path> paths;
  const auto add = [&](const std::string& name, format f, accumulator acc,
                       lowering how = lowering::direct) {
    paths.push_back({"whatif." + name, {f, f, acc, how}});
  };
  for (int f = 8; f <= 34; ++f) {
    add("f" + std::to_string(f), f % 2 == 0 ? spec_e4m3 : spec_e5m2,
        specified_fraction(f));
  }
  add("f0", spec_e4m3, truncating(32, 0, none, spec_e8m13));
  add("f44", spec_tf32, truncating(16, 44, none, spec_fp32));
  for (const int length : {1, 2, 3, 5, 8, 24, 64, 100}) {
    add("l" + std::to_string(length), spec_e4m3,
        truncating(length, 13, none, spec_e8m13));
  }
  for (const auto mode : {rounding::nearest_even, rounding::nearest_away,
                          rounding::up, rounding::down, rounding::to_odd}) {
    auto acc = truncating(32, 13, none, spec_e8m13);
    const std::string number = std::to_string(static_cast<int>(mode));
    acc.cut = mode;
    add("cut" + number, spec_e5m2, acc);
    acc.cut = rounding::toward_zero;
    acc.conversion = mode;
    add("conversion" + number, spec_e4m3, acc);
    acc = to_fp16(16, 25, -21);
    acc.conversion = mode;
    add("fp16_conversion" + number, spec_fp16, acc);
    acc = truncating(8, 25, -133, spec_fp32);
    acc.conversion = mode;
    acc.c = addend::last;
    add("tf32_c_last" + number, spec_tf32, acc);
  }
  auto acc = truncating(16, 25, -133, spec_fp32);
  acc.renormalized = true;
  acc.cut = rounding::down;
  add("renormalized_half", spec_bf16, acc);
  acc.c = addend::last;
  add("renormalized_c_last", spec_fp16, acc);
  acc = to_fp16(32, 13, none);
  acc.c = addend::last;
  add("f16_c_last", spec_e5m2, acc);
  add("bf16_output", spec_bf16, truncating(16, 25, -133, spec_bf16));
  add("fp16_in_fp32", spec_e4m3, truncating(32, 13, none, spec_fp16));
  add("chained_f13", spec_e4m3, truncating(16, 13, none, spec_e8m13),
      lowering::hmma_chained);
  return paths;
}

}  // namespace zeroulp::conformance
