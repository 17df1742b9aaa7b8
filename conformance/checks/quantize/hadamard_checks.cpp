// The Hadamard transform of blocks (SPEC Q21).

#include <fmt/format.h>

#include <vector>

#include "conformance/checks/quantize/quantize_parts.hpp"
#include "conformance/oracles/blocks/hadamard_oracle.hpp"
#include "zeroulp/names.hpp"

namespace zeroulp::conformance {
namespace {

constexpr const char* hadamard_formats[] = {"bf16", "fp16", "fp32"};
constexpr const char* hadamard_paths[] = {
    "hopper.wgmma.bf16.bf16.f32",
    "hopper.wgmma.fp16.fp16.f32",
    "hopper.wgmma.fp16.fp16.f16",
    "blackwell.tcgen05.bf16.bf16.f32",
    "blackwell.tcgen05.fp16.fp16.f16",
    "exact.bf16.bf16.f32",
    "exact.fp32.fp32.f32",
};
/// The transform's own; half way between two of BF16; beyond FP16: FP32 bits.
constexpr std::uint32_t hadamard_scales[] = {0, 0, 0, 0x3f988000, 0x4788b800};

struct hadamard_case {
  hadamard_transform how;
  std::string by;  ///< a path; empty: butterflies
  bool with_signs;
};

hadamard_case any_hadamard_case(counter_rng& rng) {
  hadamard_case c{{fp32, format_named(hadamard_formats[rng.below(3)]).value,
                   2 << rng.below(rng.one_in(3) ? 10 : 5)},
                  {},
                  !rng.one_in(3)};
  if (rng.one_in(2)) {
    c.by = hadamard_paths[rng.below(std::size(hadamard_paths))];
    c.how.from = parse_path(c.by).value.a;
    c.how.size = 2 << rng.below(6);
  } else {
    c.how.from = format_named(hadamard_formats[rng.below(3)]).value;
  }
  c.how.scale = hadamard_scales[rng.below(std::size(hadamard_scales))];
  return c;
}

std::string name_of(const hadamard_case& c, const oracle::grid& x) {
  return fmt::format("hadamard {} -> {}, blocks of {}, {}, {} x {}",
                     zeroulp::name_of(c.how.from), zeroulp::name_of(c.how.to),
                     c.how.size, c.by.empty() ? "butterflies" : c.by, x.rows,
                     x.cols);
}

}  // namespace

verdict hadamard_transforms(const implementation& i, const effort& e) {
  verdict v;
  const std::uint64_t count = e.level == 0   ? 150
                              : e.level == 1 ? 2'000
                                             : 30'000;
  for (std::uint64_t n = 0; n < count; ++n) {
    counter_rng rng(e.seed + 11, n);
    const auto c = any_hadamard_case(rng);
    const auto family = static_cast<matrix_family>(rng.below(family_count));
    const auto x = make_matrix(family, c.how.from, 1 + rng.below(5),
                               c.how.size * rng.between(1, 3), rng);
    std::vector<std::int8_t> signs;
    if (c.with_signs) {
      for (int s = 0; s < c.how.size; ++s) {
        signs.push_back(rng.one_in(2) ? 1 : -1);
      }
    }
    const std::int8_t* flips = signs.empty() ? nullptr : signs.data();
    const auto p = c.by.empty() ? path{} : parse_path(c.by).value;
    const path* by = c.by.empty() ? nullptr : &p;
    placed<std::uint32_t> input(any_placement(rng), x.rows, x.cols, 0x7f7f7f7f);
    placed<std::uint32_t> out(any_placement(rng), x.rows, x.cols, 0xc0dec0de);
    input.load(x);
    i.hadamard(c.how, by, flips, input.input(), out.view());
    const auto describe = [&] { return name_of(c, x); };
    compare(v, out.read(), oracle::hadamard(c.how, by, flips, x), "y ",
            describe);
    v.count(out.guards_hold(),
            [&] { return describe() + ": wrote outside its matrix"; });
    if (e.stop_early && v.failures > 0) return v;
  }
  return v;
}

}  // namespace zeroulp::conformance
