// amax -> scale, and the amax of delayed scaling.

#include <fmt/format.h>

#include <array>

#include "conformance/checks/quantize/quantize_parts.hpp"

namespace zeroulp::conformance {
namespace {

/// What is quantized: of each largest numbers may matter.
const char* const sources[] = {"fp32", "bf16", "fp16"};

/// A scale is a case; the inverse counts where elements are multiplied by it.
void check_scale(const implementation& i, const quantizer_case& q,
                 std::uint32_t amax, verdict& v) {
  const group_scale got = i.make_scale(q.value(), amax);
  const group_scale want = oracle::make_scale(q.value(), amax);
  const bool uses_inverse = q.how.value.element == element_rule::inverse;
  const bool held =
      got.scale == want.scale && (!uses_inverse || got.inverse == want.inverse);
  v.got.add(got.scale), v.expected.add(want.scale);
  if (uses_inverse) v.got.add(got.inverse), v.expected.add(want.inverse);
  v.count(held, [&] {
    return fmt::format(
        "make_scale {} of amax {:#010x}: scale {:#010x}, not {:#010x}; "
        "inverse {:#010x}, not {:#010x}",
        q.name(), amax, got.scale, want.scale, got.inverse, want.inverse);
  });
}

}  // namespace

verdict scales_at_boundaries(const implementation& i, const effort& e) {
  verdict v;
  auto formats = targets(e, 5);
  // With a largest value below 1 exponents reach both ends, -127 and 127.
  formats.push_back({"(2-1, bias 4)", {2, 1, 4, specials::finite}});
  for (const named_format& to : formats) {
    const auto amaxes = boundary_amaxes(to.value);
    for (const char* const from : sources) {
      for (const named_convention& how : named_conventions) {
        for (const named_scale_kind& kind : named_scale_kinds) {
          const quantizer_case q{format_named(from), to, how, kind, {}};
          for (const std::uint32_t amax : amaxes) {
            check_scale(i, q, amax, v);
            if (e.stop_early && v.failures > 0) return v;
          }
        }
      }
    }
  }
  return v;
}

verdict scales_of_bf16(const implementation& i, const effort& e) {
  verdict v;
  v.exhaustive = e.level >= 1;
  const std::uint32_t stride = e.level == 0 ? 149 : 1;
  const named_format from = format_named("bf16");
  for (const named_format& to : targets({e.level > 1, 0, false}, 3)) {
    for (const named_convention& how : named_conventions) {
      for (const named_scale_kind& kind : named_scale_kinds) {
        for (std::uint32_t x = 0; x < 0x8000; x += stride) {
          check_scale(i, {from, to, how, kind, {}}, x << 16, v);
          if (e.stop_early && v.failures > 0) return v;
        }
      }
    }
  }
  return v;
}

verdict scales_of_any_convention(const implementation& i, const effort& e) {
  verdict v;
  const std::uint64_t count = e.level == 0   ? 40'000
                              : e.level == 1 ? 2'000'000
                                             : 50'000'000;
  const auto formats = targets({1, 0, false}, 0);
  std::vector<std::vector<std::uint32_t>> boundaries;
  boundaries.reserve(formats.size());
  for (const auto& to : formats)
    boundaries.push_back(boundary_amaxes(to.value));
  const std::array<named_format, 3> from = {format_named(sources[0]),
                                            format_named(sources[1]),
                                            format_named(sources[2])};
  constexpr auto conventions =
      static_cast<std::uint32_t>(std::size(named_conventions));
  for (std::uint64_t n = 0; n < count; ++n) {
    counter_rng rng(e.seed, n);
    named_convention how = named_conventions[rng.below(conventions)];
    how.name = "(any)";
    how.value.scale = static_cast<scale_rule>(rng.below(4));
    how.value.element = element_rule::inverse;
    how.value.edges = {rng.one_in(2), rng.one_in(2), rng.one_in(2),
                       rng.one_in(2), rng.one_in(2)};
    if (rng.one_in(4)) how.value.amax_floor = rng.below(0x7f800000);
    if (rng.one_in(4)) how.value.scale_floor = rng.below(0x7f800000);
    how.value.exponent = static_cast<exponent_rule>(rng.below(3));
    how.value.bf16_scale = rng.one_in(4);
    how.value.unrounded_inverse = rng.one_in(2);
    const auto& kind = named_scale_kinds[rng.below(
        static_cast<std::uint32_t>(std::size(named_scale_kinds)))];
    const std::size_t to =
        rng.below(static_cast<std::uint32_t>(formats.size()));
    // Some number of the format, or any.
    how.value.largest =
        rng.one_in(2) ? 0
        : rng.one_in(4)
            ? rng.below(0x7f800000)
            : static_cast<std::uint32_t>(recode(
                  formats[to].value,
                  rng.next() % (formats[to].value.max_code() + 1), fp32));
    const auto& known = boundaries[to];
    const std::uint32_t amax =
        rng.one_in(2)
            ? known[rng.below(static_cast<std::uint32_t>(known.size()))]
            : rng.below(0x7f800001);
    check_scale(i, {from[rng.below(3)], formats[to], how, kind, {}}, amax, v);
    if (e.stop_early && v.failures > 0) return v;
  }
  return v;
}

verdict delayed_amaxes(const implementation& i, const effort& e) {
  verdict v;
  const std::uint64_t count = e.level == 0 ? 4'000 : 400'000;
  for (std::uint64_t n = 0; n < count; ++n) {
    counter_rng rng(e.seed, n);
    std::vector<std::uint32_t> history(rng.below(18));
    const std::uint32_t near = rng.below(0x7f000000);
    for (std::uint32_t& amax : history) {
      amax = rng.one_in(3)    ? rng.below(0x7f800000)
             : rng.one_in(10) ? 0
             : rng.one_in(40) ? 0x7f800000
                              : near + rng.below(0x00800000);
    }
    const std::uint32_t current = rng.below(0x7f800001);
    // 0, 1, 0.9, or anything between.
    const std::uint32_t decay = rng.one_in(8)   ? 0
                                : rng.one_in(8) ? 0x3f800000
                                : rng.one_in(2) ? 0x3f666666
                                                : rng.below(0x3f800000);
    for (const auto rule :
         {history_rule::maximum, history_rule::moving_average}) {
      const auto size = static_cast<std::ptrdiff_t>(history.size());
      const auto got =
          i.delayed_amax(history.data(), size, current, rule, decay);
      const auto want =
          oracle::delayed_amax(history.data(), size, current, rule, decay);
      v.compare(got, want, [&] {
        std::string all;
        for (const auto amax : history) all += hex(amax) + " ";
        return fmt::format(
            "delayed_amax {} of [{}], current {:#x}, decay {:#x}: {:#x}, not "
            "{:#x}",
            rule == history_rule::maximum ? "maximum" : "moving_average", all,
            current, decay, got, want);
      });
      if (e.stop_early && v.failures > 0) return v;
    }
  }
  return v;
}

}  // namespace zeroulp::conformance
