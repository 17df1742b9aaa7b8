// What the kernels of a chain take, and how far: operands at the edges of their
// storage, sums at the edges of the results, in any storage.

#include <thread>

#include "conformance/tests/engine/chain_parts.hpp"

namespace zeroulp::conformance {
namespace {

/// Formats around those that BF16 and FP32 hold.
void add_operands(engine_case_list& all) {
  for (const format f :
       {ieee(8, 7, 126), ieee(8, 3, 126), ieee(8, 7, 128), ieee(8, 2, 128),
        ieee(5, 8, 15), ieee(8, 8, 127), ieee(5, 24, 15), ieee(5, 23, 15),
        ieee(8, 22, 126), ieee(8, 22, 128)}) {
    chain_problems few;
    for (const int kind : {0, 2, 3}) {
      few.push_back(any_problem({f, f, hopper_half_f32}, kind, {4, 4, 20}));
      few.push_back(any_problem({f, e4m3, fp32_sequential}, kind, {4, 4, 20}));
    }
    all.push_back(case_of(fmt::format("chain of operands of {}", name_of(f)),
                          std::move(few)));
  }
  chain_problems few;
  // Inf and NaN of FP32 with any payload.
  for (const auto& acc : {hopper_tf32_f32, hopper_half_f32, fp32_sequential}) {
    for (const std::uint32_t x : {0x7f800001u, 0xffffffffu, 0xff800000u}) {
      auto a = any_codes(fp32, 3, 8, 40);
      a[25] = x;
      few.push_back(solved({fp32, fp32, acc}, {2, 2, 20}, std::move(a),
                           any_codes(fp32, 3, 9, 40), words(4, 0x3f800000)));
    }
  }
  all.push_back(case_of("chain of Inf and NaN of any payload", std::move(few)));
}

/// Sums that are just Inf, NaN of finite numbers, zeros.
void add_edges(engine_case_list& all) {
  const path half{bf16, bf16, hopper_half_f32};
  const path single{fp32, fp32, fp32_sequential};
  const path fp8{e5m2, e5m2, hopper_fp8_f16};
  chain_problems few;
  few.push_back(solved(half, {1, 1, 1}, {0x7f00}, {0x4000}, {0}));
  few.push_back(solved(half, {1, 1, 1}, {0x7f00}, {0xc000}, {0}));
  few.push_back(solved(half, {1, 1, 1}, {0x7f00}, {0x3f80}, {0x7f000000}));
  few.push_back(solved(single, {1, 1, 2}, {0x7f7fffff, 0x7f7fffff},
                       {0x7f7fffff, 0xff7fffff}, {0}));
  few.push_back(
      solved(single, {1, 1, 1}, {0x80000000}, {0x3f800000}, {0x80000000}));
  // Without a product C stays what it is.
  for (const auto& acc : {hopper_fp8_f32, fp32_sequential, exact_f32}) {
    few.push_back(solved({e4m3, e4m3, acc}, {1, 1, 0}, {}, {}, {0x80000000}));
  }
  few.push_back(solved({e4m3, e4m3, hopper_half_f32, lowering::hmma_zero},
                       {1, 1, 0}, {}, {}, {0x80000000}));
  // 2^-23 + 2^-25 + 2^-28: the last decides, but is cut.
  few.push_back(solved(fp8, {1, 1, 2}, {0x0c, 0x04}, {0x08, 0x04}, {2}));
  // 2^-23 + 2^-25 + 2^-27: the last decides, and is kept.
  few.push_back(solved(fp8, {1, 1, 2}, {0x0c, 0x04}, {0x08, 0x08}, {2}));
  // Beyond FP16 after a step: Inf, whatever the next one subtracts.
  words a(64, 0), b(64, 0x3c);
  a[0] = 0x4c;
  a[32] = 0xfb;
  few.push_back(solved(fp8, {1, 1, 64}, a, b, {0x7bff}));
  a = words(32, 0);
  b = words(32, 0x3c00);
  a[0] = 0x4c00;
  a[16] = 0xfbff;
  few.push_back(
      solved({fp16, fp16, hopper_half_f16}, {1, 1, 32}, a, b, {0x7bff}));
  // A small c beside zeros of a format of large exponents.
  const path large{e4m3, ieee(4, 3, -15), hopper_fp8_f32};
  words c(30 * 30);
  for (std::size_t i = 0; i < c.size(); ++i) {
    counter_rng rng{31, i};
    c[i] = (rng.next32() & 0x807fffff) |
           static_cast<std::uint32_t>(rng.between(8, 40)) << 23;
  }
  few.push_back(solved(large, {30, 30, 4}, words(120, 0),
                       any_codes(large.b, 3, 30, 120), std::move(c)));
  // A large c that is cut before products are added, and kept in full.
  path full = hopper_wgmma_e4m3;
  full.acc.output = fp32;
  c.resize(30 * 30);
  for (std::size_t i = 0; i < c.size(); ++i) {
    counter_rng rng{32, i};
    c[i] = (rng.next32() & 0x807fffff) |
           static_cast<std::uint32_t>(rng.between(200, 254)) << 23;
  }
  few.push_back(solved(full, {30, 30, 4}, any_codes(e4m3, 3, 33, 120),
                       any_codes(e4m3, 3, 34, 120), std::move(c)));
  // Whole blocks of many elements.
  few.push_back(any_problem(hopper_wgmma_e4m3, 3, {64, 1, 2080}));
  all.push_back(case_of("chain to the edges of the results", std::move(few)));
  // Whose memory nobody has asked for before.
  const chain_problem x = any_problem(hopper_wgmma_e4m3, 3, {5, 5, 64});
  all.push_back({"chain in a new thread", [x](const engine_calls& e) {
                   std::string what;
                   std::thread([&] { what = difference_of(x, e); }).join();
                   return what;
                 }});
}

/// Operands in elements of 1, 2 and 4 bytes, at any strides.
void add_storages(engine_case_list& all) {
  for (const path& p : {hopper_wgmma_e4m3, path{bf16, bf16, hopper_half_f32}}) {
    const chain_problem x = any_problem(p, 3, {19, 21, 35}, 3);
    for (const stored_as how : storages) {
      all.push_back({fmt::format("chain of {}, storage {}", name_of(p.a),
                                 static_cast<int>(how)),
                     [x, how](const engine_calls& e) -> std::string {
                       for (const int width : {1, 2, 4}) {
                         if (8 * width < x.p.a.bits()) continue;
                         auto a = make_stored(how, width, x.s.m, x.s.k, x.a);
                         auto b = make_stored(how, width, x.s.n, x.s.k, x.b);
                         auto c = make_stored(how, 4, x.s.m, x.s.n, x.c);
                         stored d(how, 4, x.s.m, x.s.n);
                         e.multiply(x.p, a.view(), b.view(),
                                    c.as<const std::uint32_t>(),
                                    d.as<std::uint32_t>());
                         if (d.content() != x.expected) return "d";
                         if (!d.is_intact()) return "wrote beside";
                       }
                       return "";
                     }});
    }
  }
}

bool is_same(const unpacked& x, const unpacked& y) {
  const bool finite = x.kind == kind::finite;
  return x.kind == y.kind && (x.is_nan() || x.negative == y.negative) &&
         (!finite ||
          (x.significand == y.significand && x.exponent == y.exponent));
}

/// Whether an operand is packed, and that it holds what it was made of.
std::string wrong_operand(const engine_calls& e, format f, bool packed) {
  for (const int kind : {0, 2, 3}) {
    constexpr std::ptrdiff_t m = 67, k = 41;
    const auto codes = any_codes(f, kind, 21, area(m, k));
    const auto found = e.prepare(f, codes_in(codes.data(), m, k));
    if (found.packed != packed) return "packed";
    for (std::size_t i = 0; i < m; ++i) {
      bool special = false;
      for (std::size_t j = 0; j < k; ++j) {
        const unpacked x = decode(f, codes[i * k + j]);
        special = special || !x.is_finite();
        if (!is_same(found.values[i * k + j], x)) {
          return fmt::format("code {:#x}", codes[i * k + j]);
        }
      }
      if (found.special[i] != special) return "special";
    }
  }
  return "";
}

void add_prepared(engine_case_list& all) {
  const auto add = [&all](format f, bool packed) {
    all.push_back({fmt::format("prepared operand of {}", name_of(f)),
                   [f, packed](const engine_calls& e) {
                     return wrong_operand(e, f, packed);
                   }});
  };
  for (const format f : {e4m3, e5m2, e5m6, bf16, fp16, tf32, fp32, e2m1}) {
    add(f, true);
  }
  for (const format f :
       {ieee(5, 2, 140), ieee(8, 2, 126), ieee(5, 24, 15), ieee(4, 3, 140)}) {
    add(f, false);
  }
}

/// Every kernel takes what is its own; the core the rest.
std::string wrong_kernel(const engine_calls& e) {
  struct row {
    path p;
    std::ptrdiff_t k;
    const char* by;
  };
  const auto of = [](int length, int fraction, int floor = no_floor) {
    accumulator acc = hopper_fp8_f32;
    acc.exponent_floor = static_cast<std::int16_t>(floor);
    acc.length = static_cast<std::int16_t>(length);
    acc.fraction_bits = static_cast<std::int16_t>(fraction);
    return path{e4m3, e4m3, acc};
  };
  const auto between = [](format a, format b) {
    return path{a, b, hopper_fp8_f32};
  };
  const auto lowered = [](format a, format b) {
    return path{a, b, hopper_half_f32, lowering::hmma_zero};
  };
  const auto to = [](format output) {
    path p = hopper_wgmma_e4m3;
    p.acc.output = output;
    return p;
  };
  const row rows[] = {
      {hopper_wgmma_e4m3, 64, "float"},
      {{e5m2, e5m2, hopper_fp8_f16}, 64, "float"},
      {{fp16, fp16, hopper_half_f32}, 64, "double"},
      {lowered(e4m3, e4m3), 64, "double"},
      {{bf16, bf16, fp32_sequential}, 64, "sums"},
      {{bf16, bf16, exact_f32}, 64, "core"},
      {{e4m3, e4m3, what_if_c_last}, 64, "core"},
      // 36 bits a product, and those of K.
      {{e4m3, e4m3, exact_f32}, 1 << 17, "exact"},
      {{e4m3, e4m3, exact_f32}, (1 << 17) + 1, "core"},
      {{e4m3, fp16, exact_f32}, 1, "core"},
      {{ieee(4, 19, 7), ieee(4, 6, 7), exact_f32}, 1, "exact"},
      {{ieee(4, 19, 7), ieee(4, 6, 7), exact_f32}, 2, "core"},
      {{ieee(4, 19, 7), ieee(4, 7, 7), exact_f32}, 1, "core"},
      // Windows of float and of double.
      {of(1, 0), 64, "float"},
      {of(1, -1), 64, "core"},
      {of(0, 13), 64, "core"},
      {of(31, 16), 64, "float"},
      {of(32, 16), 64, "double"},
      {of(32, 15), 64, "float"},
      {of(1, 20), 64, "float"},
      {of(1, 21), 64, "double"},
      {of(32, 44), 64, "double"},
      {of(1, 45), 64, "core"},
      {of(33, 13), 64, "core"},
      {of(32, 13, 100), 64, "float"},
      {of(32, 13, 101), 64, "core"},
      // Places of 8 bits.
      {between(e4m3, ieee(5, 3, 15)), 64, "double"},
      {between(ieee(3, 4, 3), e4m3), 64, "double"},
      {between(ieee(4, 3, 30), e4m3), 64, "float"},
      {between(ieee(4, 3, 31), e4m3), 64, "double"},
      {between(ieee(4, 3, -15), e4m3), 64, "float"},
      {between(ieee(4, 3, -16), e4m3), 64, "double"},
      // Numbers of FP16.
      {lowered(ieee(4, 3, 22), e4m3), 64, "double"},
      {lowered(ieee(4, 3, 23), e4m3), 64, "core"},
      {lowered(e4m3, ieee(4, 3, -1)), 64, "double"},
      {lowered(e4m3, ieee(4, 3, -2)), 64, "core"},
      {lowered(e4m3, fp16), 64, "core"},
      {lowered(fp16, e4m3), 64, "core"},
      // Results that FP32 cut short is.
      {to(tf32), 64, "float"},
      {to(ieee(8, 10, 126)), 64, "core"},
      {to(ieee(7, 10, 127)), 64, "core"},
      {to(fp16), 64, "core"},
      {to({8, 10, 127, specials::fn}), 64, "core"},
  };
  for (const auto& r : rows) {
    const std::string by = e.kernel_of(r.p, r.k);
    if (by != r.by) {
      return fmt::format("row {}: {}, not {}", &r - rows, by, r.by);
    }
  }
  return "";
}

}  // namespace

engine_case_list kernel_cases() {
  engine_case_list all{{"the kernel of a path", wrong_kernel}};
  add_prepared(all);
  add_edges(all);
  add_operands(all);
  add_storages(all);
  return all;
}

}  // namespace zeroulp::conformance
