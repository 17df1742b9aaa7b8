// Quantization by the vector kernels.

#include "conformance/tests/engine/engine_case_parts.hpp"

namespace zeroulp::conformance {
namespace {

words numbers_as(format to, const words& x) {
  words codes(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    codes[i] =
        static_cast<std::uint32_t>(recode(fp32, x[i], to, {}, ocp_nonsaturate));
  }
  return codes;
}

/// A quantization and what the core makes of it. Without amaxes that are given
/// each group has its own.
struct quantization {
  quantizer q;
  std::ptrdiff_t m, n;
  stored_as how;
  bool given;
  words x, amaxes, codes, scales;
  words statically;  ///< codes by `scales` as given ones
};

quantization solved(const quantizer& q, words x, std::ptrdiff_t m,
                    std::ptrdiff_t n, stored_as how, words given = {}) {
  const auto count = groups_of(q.group, m, n);
  quantization s{q,  m,  n, how, !given.empty(), std::move(x), std::move(given),
                 {}, {}, {}};
  s.codes.resize(s.x.size());
  s.scales.resize(count.all());
  if (!s.given) s.amaxes.resize(count.all());
  const codes_in in(s.x.data(), m, n);
  const codes_out codes(s.codes.data(), m, n);
  s.statically.resize(s.x.size());
  const codes_out statically(s.statically.data(), m, n);
  std::size_t next = 0;
  for_each_group(q.group, m, n,
                 [&](std::ptrdiff_t, std::ptrdiff_t, std::ptrdiff_t i,
                     std::ptrdiff_t j, std::ptrdiff_t gm, std::ptrdiff_t gn) {
                   const auto group = in.block(i, j, gm, gn);
                   if (!s.given) s.amaxes[next] = group_amax(q, group);
                   const auto amax = s.amaxes[next];
                   const auto scale = quantize_group(q, group, amax,
                                                     codes.block(i, j, gm, gn));
                   encode_group(q, given_scale(scale), group,
                                statically.block(i, j, gm, gn));
                   s.scales[next++] = scale;
                 });
  return s;
}

std::string difference_of(const quantization& s, const engine_calls& e) {
  const auto count = groups_of(s.q.group, s.m, s.n);
  auto in = make_stored(s.how, storage_bytes(s.q.from), s.m, s.n, s.x);
  stored codes(s.how, storage_bytes(s.q.to), s.m, s.n);
  stored scales(s.how, 4, count.m, count.n);
  stored amaxes(s.how, 4, count.m, count.n);
  if (s.given) {
    amaxes.fill(s.amaxes);
    e.quantize_by(s.q, in.view(), amaxes.as<const std::uint32_t>(),
                  codes.view(), scales.as<std::uint32_t>());
  } else {
    e.quantize(s.q, in.view(), codes.view(), scales.as<std::uint32_t>());
    e.group_amaxes(s.q, in.view(), amaxes.as<std::uint32_t>());
  }
  if (amaxes.content() != s.amaxes) return "amaxes";
  if (scales.content() != s.scales) return "scales";
  if (codes.content() != s.codes) return "codes";
  stored statically(s.how, storage_bytes(s.q.to), s.m, s.n);
  e.quantize_by_scale(s.q, in.view(), scales.as<const std::uint32_t>(),
                      statically.view());
  if (statically.content() != s.statically) return "codes by given scales";
  const bool intact = statically.is_intact() && codes.is_intact() &&
                      scales.is_intact() && amaxes.is_intact();
  return intact ? "" : "wrote beside the matrix";
}

void add_conventions(engine_case_list& all) {
  constexpr std::ptrdiff_t m = 19, n = 37;
  constexpr group_shape groups[] = {{1, 16}, {16, 1}, {8, 8}, {0, 0},
                                    {1, 0},  {3, 5},  {0, 1}, {1, 1}};
  std::uint64_t seed = 0;
  for (const auto& convention : named_conventions) {
    for (const auto& scale : named_scale_kinds) {
      std::vector<quantization> few;
      for (const format from : {fp32, bf16, fp16}) {
        for (const family kind : families) {
          ++seed;
          const format to = seed % 3 == 0 ? e5m2 : seed % 5 == 0 ? e5m6 : e4m3;
          few.push_back(solved(
              {from, to, convention.value, scale.value, groups[seed % 8]},
              numbers_as(from, make_numbers(kind, seed,
                                            static_cast<std::size_t>(m * n))),
              m, n, storages[seed / 2 % 4]));
        }
      }
      all.push_back(case_of(
          fmt::format("quantize by {}, {}", convention.name, scale.name),
          std::move(few)));
    }
  }
}

/// NaN of any payload, and numbers of formats that no kernel decodes.
void add_inputs(engine_case_list& all) {
  std::vector<quantization> few;
  auto x = make_numbers(family::ordinary, 6, 6 * 40);
  const words nans{0x7f800001, 0xff800001, 0x7fffffff, 0xffffffff, 0x7f800000};
  for (std::size_t i = 0; i < nans.size(); ++i) x[i * 40 + 3 + i] = nans[i];
  for (const auto& convention : named_conventions) {
    for (const auto rule :
         {amax_rule::finite_only, amax_rule::skip_nan, amax_rule::keep_nan}) {
      auto how = convention.value;
      how.amax = rule;
      few.push_back(solved({fp32, e4m3, how, scale_kind::float32, {1, 20}}, x,
                           6, 40, stored_as::dense));
    }
    for (const format from : {format{8, 3, 140, specials::ieee},
                              format{8, 3, 130, specials::fn}, ue8m0}) {
      for (const stored_as how : storages) {
        auto codes = random_words(12, 6 * 40);
        for (auto& c : codes) {
          c &= static_cast<std::uint32_t>(low_bits(from.bits()));
        }
        few.push_back(
            solved({from, e4m3, convention.value, scale_kind::float32, {2, 10}},
                   std::move(codes), 6, 40, how));
      }
    }
  }
  auto codes = random_words(13, 1100);
  for (auto& c : codes) c &= 0xff;
  few.push_back(
      solved({ue8m0, e4m3, vllm_convention, scale_kind::float32, {1, 64}},
             std::move(codes), 1, 1100, stored_as::dense));
  all.push_back(case_of("quantize inputs of any kind", std::move(few)));
}

/// Groups by the core in the middle of lines, amaxes that are given at any
/// strides, scales of a format that no vector divides by.
void add_mixtures(engine_case_list& all) {
  std::vector<quantization> few;
  const auto zeroulp = zeroulp_convention;
  for (const stored_as how : storages) {
    auto x = make_numbers(family::tiny, 8, 3 * 2100);
    for (auto& number : x) number &= 0x8fffffff;
    few.push_back(solved({fp32, e4m3, zeroulp, scale_kind::float32, {2, 700}},
                         std::move(x), 3, 2100, how));
    few.push_back(solved({fp32, e4m3, zeroulp, scale_kind::float32, {2, 5}},
                         make_numbers(family::wide, 9, 6 * 20), 6, 20, how,
                         make_numbers(family::ordinary, 10, 12)));
  }
  const format huge{5, 2, -60, specials::finite};
  words amaxes(40);
  for (std::size_t i = 0; i < amaxes.size(); ++i) {
    amaxes[i] = static_cast<std::uint32_t>(i * 3) << 23 | 0x123456;
  }
  for (const family kind : families) {
    few.push_back(solved({fp32, huge, zeroulp, scale_kind::float32, {1, 8}},
                         make_numbers(kind, 11, 320), 1, 320, stored_as::dense,
                         amaxes));
  }
  // Quotients that overflow in FP32 and not in the format.
  auto large = random_words(16, 320);
  for (auto& x : large) x = (x & 0x81ffffff) | 0x5c000000;
  few.push_back(
      solved({fp32, ieee(4, 3, -114), zeroulp, scale_kind::float32, {1, 320}},
             std::move(large), 1, 320, stored_as::dense, {0x5d800000}));
  // Scales where the GPU's division changes its way.
  const format small{3, 2, 8, specials::finite};
  for (const auto& convention : named_conventions) {
    if (convention.value.element != element_rule::approximate_quotient)
      continue;
    for (const std::uint32_t at : {0x7e800000u, 0x00800000u}) {
      words given;
      const unpacked max = decode(small, small.max_code());
      for (std::uint32_t s = at - 2; s < at + 3; ++s) {
        const auto near = static_cast<std::uint32_t>(
            encode(fp32, product(decode(fp32, s), max)));
        for (std::uint32_t d = 0; d < 9; ++d) given.push_back(near + d - 4);
      }
      const auto n = static_cast<std::ptrdiff_t>(given.size()) * 8;
      for (const family kind : families) {
        few.push_back(
            solved({fp32, small, convention.value, scale_kind::float32, {1, 8}},
                   make_numbers(kind, 14, given.size() * 8), 1, n,
                   stored_as::dense, given));
      }
    }
  }
  // The least floor of a scale, and the least of largest numbers.
  auto floor = vllm_convention, largest = floor;
  floor.amax_floor = 0, floor.scale_floor = 1, largest.largest = 1;
  for (std::size_t i = 0; i < amaxes.size(); ++i) {
    amaxes[i] = static_cast<std::uint32_t>(i * 12);
  }
  for (const format to : {e4m3, fp32}) {
    for (const auto& how : {floor, largest}) {
      few.push_back(solved({fp32, to, how, scale_kind::float32, {1, 8}},
                           make_numbers(family::ordinary, 15, 320), 1, 320,
                           stored_as::dense, amaxes));
    }
  }
  all.push_back(case_of("quantize mixtures", std::move(few)));
}

void add_formats(engine_case_list& all) {
  const auto x = make_numbers(family::wide, 5, 6 * 40);
  for (const format to :
       {bf16, fp16, tf32, fp32, e2m1, e2m3, e4m3fnuz,
        format{4, 0, 7, specials::fn}, format{5, 2, -60, specials::finite},
        format{8, 21, 127, specials::ieee}, format{8, 22, 127, specials::ieee},
        format{5, 20, 102, specials::ieee},
        format{5, 2, 119, specials::ieee}}) {
    std::vector<quantization> few;
    for (const auto& convention : named_conventions) {
      few.push_back(
          solved({fp32, to, convention.value, scale_kind::float32, {1, 20}}, x,
                 6, 40, stored_as::dense));
    }
    all.push_back(
        case_of(fmt::format("quantize to {}", name_of(to)), std::move(few)));
  }
}

void add_given_amaxes(engine_case_list& all) {
  const words amaxes{0,          1,          0x007fffff, 0x00800000,
                     0x7f800000, 0x7f7fffff, 0x7fc00000, 0x3f800000,
                     0x12345678, 0x7e812345, 0x3f812345, 0x1a5a5a5a,
                     0x03e00000, 0x03dfffff, 0x04600000, 0x7e000001};
  const auto n = static_cast<std::ptrdiff_t>(amaxes.size());
  // Of the second, scales of large amaxes overflow.
  for (const format to : {e4m3, format{3, 2, 8, specials::finite}}) {
    for (const auto& convention : named_conventions) {
      std::vector<quantization> few;
      for (const family kind : families) {
        const auto x =
            make_numbers(kind, 77, static_cast<std::size_t>(n) * 2 * 16);
        for (const auto& scale : named_scale_kinds) {
          few.push_back(
              solved({fp32, to, convention.value, scale.value, {2, 16}}, x, 2,
                     n * 16, stored_as::dense, amaxes));
        }
      }
      all.push_back(case_of(fmt::format("quantize by given amaxes, {}, {}",
                                        convention.name, name_of(to)),
                            std::move(few)));
    }
  }
}

// x = fl(midpoint * scale) and its neighbours: where the exact quotient is off
// a tie by less than FP32 can say.
void add_ties(engine_case_list& all) {
  for (const format to :
       {e4m3, e5m2, fp16, format{5, 20, 15, specials::ieee},
        format{5, 21, 15, specials::ieee}, format{5, 22, 15, specials::ieee},
        format{5, 20, 101, specials::ieee}}) {
    std::vector<quantization> few;
    for (std::uint64_t i = 0; i < 40; ++i) {
      counter_rng rng{23, i};
      // From where the vectors leave off up to the largest scales.
      const std::uint32_t amax =
          static_cast<std::uint32_t>(i < 20 ? rng.between(20, 70)
                                            : rng.between(1, 254))
              << 23 |
          (rng.next32() & 0x7fffff);
      const auto s =
          make_scale({fp32, to, zeroulp_convention, scale_kind::float32}, amax)
              .scale;
      words x;
      const std::uint64_t step = to.max_code() / 120 + 1;
      for (std::uint64_t code = 0; code < to.max_code(); code += step) {
        auto middle = decode(to, code);
        const auto next = decode(to, code + 1);
        if (middle.exponent != next.exponent || middle.is_zero()) continue;
        middle.significand += next.significand;
        --middle.exponent;
        const auto near = static_cast<std::uint32_t>(
            encode(fp32, product(middle, decode(fp32, s))));
        for (std::uint32_t d = 0; d < 5; ++d) x.push_back(near + d - 2);
      }
      const auto n = static_cast<std::ptrdiff_t>(x.size());
      if (n == 0) continue;
      few.push_back(
          solved({fp32, to, zeroulp_convention, scale_kind::float32, {1, 0}},
                 std::move(x), 1, n, stored_as::dense, {amax}));
    }
    all.push_back(case_of(fmt::format("quotients by ties of {}", name_of(to)),
                          std::move(few)));
  }
}

void add_shapes(engine_case_list& all) {
  struct shape {
    std::ptrdiff_t m, n;
    group_shape group;
    stored_as how = stored_as::dense;
    words given = {};
  };
  for (const shape& s :
       {shape{3, 5000, {1, 0}}, shape{2, 5000, {1, 2048}},
        shape{5000, 3, {0, 1}}, shape{130, 300, {128, 128}},
        shape{1, 1, {1, 1}}, shape{5, 2100, {2, 700}},
        shape{2100, 5, {700, 2}, stored_as::by_columns}, shape{0, 5, {1, 128}},
        shape{5, 0, {1, 128}}, shape{1100, 1000, {0, 0}},
        shape{1030, 1021, {0, 0}, stored_as::sparse},
        shape{1, (1 << 20) + 6, {1, (1 << 20) + 1}},
        shape{1, (1 << 20) + 1, {0, 0}, stored_as::dense, {0x3f812345}},
        shape{(1 << 20) + 6, 1, {(1 << 20) + 1, 1}, stored_as::padded}}) {
    const auto x =
        make_numbers(family::ordinary, 31, static_cast<std::size_t>(s.m * s.n));
    const auto how = vllm_convention;  // its quotient is quick
    all.push_back(case_of<quantization>(
        fmt::format("quantize {} x {}", s.m, s.n),
        {solved({fp32, e4m3, how, scale_kind::float32, s.group}, x, s.m, s.n,
                s.how, s.given)}));
  }
}

}  // namespace

engine_case_list quantize_cases() {
  engine_case_list all;
  add_conventions(all);
  add_inputs(all);
  add_mixtures(all);
  add_formats(all);
  add_given_amaxes(all);
  add_ties(all);
  add_shapes(all);
  return all;
}

}  // namespace zeroulp::conformance
