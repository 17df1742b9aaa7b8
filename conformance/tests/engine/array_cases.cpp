// Conversions and packing by the vector kernels: every length of a line, every
// element width, every stride.

#include "conformance/cases/boundaries.hpp"
#include "conformance/tests/engine/engine_case_parts.hpp"
#include "zeroulp/core/pack.hpp"

namespace zeroulp::conformance {
namespace {

struct conversion {
  format from;
  format to;
  rounding mode;
  policy how;
  std::ptrdiff_t m, n;
  stored_as in, out, bits;
  int width;  ///< bytes of an output
  words random, expected;
};

/// Conversions of the same codes.
struct conversions {
  words codes;
  std::vector<conversion> all;
};

std::string difference_of(const conversions& list, const engine_calls& e) {
  for (const auto& c : list.all) {
    auto in = make_stored(c.in, storage_bytes(c.from), c.m, c.n, list.codes);
    auto random = make_stored(c.bits, 4, c.m, c.n, c.random);
    stored out(c.out, c.width, c.m, c.n);
    e.recode(c.from, in.view(), c.to, out.view(), c.mode, c.how,
             random.as<const std::uint32_t>());
    const words found = out.content();
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (found[i] == c.expected[i]) continue;
      return fmt::format("{} to {}, {}, {:#x}: {:#x}, not {:#x}",
                         name_of(c.from), name_of(c.to), name_of(c.mode),
                         list.codes[i], found[i], c.expected[i]);
    }
    if (!out.is_intact()) return "wrote beside the matrix";
  }
  return "";
}

engine_case case_of(std::string name, conversions list) {
  for (auto& c : list.all) {
    for (std::size_t i = 0; i < list.codes.size(); ++i) {
      c.expected.push_back(static_cast<std::uint32_t>(
          recode(c.from, list.codes[i], c.to, {c.mode, c.random[i]}, c.how)));
    }
  }
  const auto shared = std::make_shared<const conversions>(std::move(list));
  return {std::move(name), [shared](const engine_calls& e) {
            return difference_of(*shared, e);
          }};
}

conversion in_one_line(format from, format to, rounding mode, policy how,
                       const words& codes, const words& random) {
  return {from,
          to,
          mode,
          how,
          1,
          static_cast<std::ptrdiff_t>(codes.size()),
          stored_as::dense,
          stored_as::dense,
          stored_as::dense,
          storage_bytes(to),
          random,
          {}};
}

std::vector<format> narrow_formats() {
  std::vector<format> formats = what_if_formats();
  for (const auto& f : named_formats_up_to(22)) formats.push_back(f.value);
  formats.push_back({8, 3, 140, specials::ieee});  // subnormals of FP32
  formats.push_back({8, 3, 130, specials::fn});    // numbers where FP32 has Inf
  formats.push_back({8, 3, 127, specials::ieee});
  formats.push_back({8, 3, 128, specials::ieee});
  formats.push_back({8, 22, 127, specials::ieee});
  formats.push_back({8, 23, 127, specials::ieee});
  formats.push_back({8, 1, 127, specials::fn});
  formats.push_back({8, 3, 126, specials::ieee});
  formats.push_back({9, 3, 127, specials::ieee});
  formats.push_back({9, 22, 127, specials::ieee});
  formats.push_back({7, 3, 148, specials::ieee});
  formats.push_back({5, 24, 15, specials::ieee});
  formats.push_back({7, 3, 63, specials::ieee});
  formats.push_back({7, 3, 146, specials::ieee});
  formats.push_back({7, 3, 147, specials::ieee});
  formats.push_back({7, 1, 253, specials::ieee});
  formats.push_back({2, 22, 253, specials::ieee});
  formats.push_back({2, 1, -1, specials::ieee});
  formats.push_back({2, 1, 0, specials::ieee});
  formats.push_back({5, 2, -100, specials::fn});
  formats.push_back({5, 2, 160, specials::fnuz});
  return formats;
}

/// Rounding modes and policies take turns: each pair with some formats.
void add_encodings(engine_case_list& all) {
  for (const format to : narrow_formats()) {
    conversions list;
    const auto stride = std::uint64_t{1} << std::max(0, to.bits() - 6);
    for (const auto x : boundary_codes(fp32, to, stride)) {
      list.codes.push_back(static_cast<std::uint32_t>(x));
    }
    for (const auto x : special_codes(fp32)) {
      list.codes.push_back(static_cast<std::uint32_t>(x));
    }
    const words random = random_words(17, list.codes.size());
    std::size_t next = static_cast<std::size_t>(to.bits());
    for (const auto& mode : named_roundings) {
      list.all.push_back(in_one_line(fp32, to, mode.value,
                                     named_policies[next++ % 5].value,
                                     list.codes, random));
    }
    for (const auto& how : named_policies) {
      list.all.push_back(in_one_line(fp32, to, rounding::nearest_even,
                                     how.value, list.codes, random));
    }
    all.push_back(case_of(fmt::format("fp32 to {}", name_of(to)), list));
  }
}

void add_decodings(engine_case_list& all) {
  for (const format from : narrow_formats()) {
    conversions list;
    list.codes.resize(std::size_t{1} << std::clamp(from.bits(), 10, 11));
    const int skipped = std::max(0, from.bits() - 11);
    for (std::size_t i = 0; i < list.codes.size(); ++i) {
      list.codes[i] = static_cast<std::uint32_t>(i << skipped | (i & 1));
    }
    const words random = random_words(18, list.codes.size());
    std::size_t next = static_cast<std::size_t>(from.bits());
    for (const format to : {fp32, e4m3, bf16, ue8m0}) {
      for (const auto mode : {rounding::nearest_even, rounding::stochastic}) {
        list.all.push_back(in_one_line(from, to, mode,
                                       named_policies[next++ % 5].value,
                                       list.codes, random));
      }
    }
    all.push_back(case_of(fmt::format("{} to others", name_of(from)), list));
  }
}

// Random bits that are just enough to round away, and one less.
void add_thresholds(engine_case_list& all) {
  for (const format to : {e4m3, e5m6, bf16, e5m2fnuz}) {
    conversions list;
    words random;
    for (std::uint64_t i = 0; i < 600; ++i) {
      const std::uint32_t x = counter_rng(19, i).next32();
      const unpacked v = decode(fp32, x);
      if (!v.is_finite() || v.is_zero()) continue;
      const int beyond = msb(v.significand) + v.exponent - to.min_exponent();
      const int shift =
          to.quantum_exponent() + std::max(beyond, 0) - v.exponent;
      const auto fraction =
          static_cast<std::uint32_t>(extract(v.significand, shift - 32));
      list.codes.insert(list.codes.end(), {x, x, x});
      random.insert(random.end(), {~fraction, ~fraction + 1, 0xffffffffu});
    }
    list.all.push_back(in_one_line(fp32, to, rounding::stochastic,
                                   keep_specials, list.codes, random));
    all.push_back(
        case_of(fmt::format("fp32 to {} by chance", name_of(to)), list));
  }
}

void add_storages(engine_case_list& all) {
  struct shape {
    std::ptrdiff_t m, n;
  };
  for (const auto& [m, n] : {shape{0, 5}, shape{5, 0}, shape{1, 3000},
                             shape{3000, 1}, shape{70, 131}, shape{3, 7}}) {
    const auto count = static_cast<std::size_t>(m * n);
    std::size_t next = 0;
    for (const format from : {fp32, bf16, e4m3, ue8m0}) {
      conversions list;
      list.codes = make_numbers(family::specials_too, 70, count);
      for (auto& code : list.codes) {
        code >>= 32 - from.bits();
      }
      const words random = random_words(71, count);
      for (const format to : {e4m3, fp32, ue8m0, bf16}) {
        for (const stored_as in : storages) {
          for (const stored_as out : storages) {
            const int widths[] = {1, 2, 4};
            const int width = widths[next++ % 3];
            const auto mode =
                next % 4 == 1 ? rounding::nearest_even : rounding::stochastic;
            list.all.push_back({from,
                                to,
                                mode,
                                cuda_nosat,
                                m,
                                n,
                                in,
                                out,
                                storages[next / 3 % 4],
                                std::max(width, storage_bytes(to)),
                                random,
                                {}});
          }
        }
      }
      all.push_back(case_of(
          fmt::format("{} as {} x {} in any storage", name_of(from), m, n),
          list));
    }
  }
}

engine_case pack_case(pack_layout layout, std::ptrdiff_t n) {
  constexpr std::ptrdiff_t m = 3;
  const bool by_bytes = layout == pack_layout::bytes;
  const auto size = by_bytes ? packed_bytes(n) : packed_word_bytes(n);
  const auto codes = random_words(60, static_cast<std::size_t>(m * n));
  stored core(stored_as::dense, 1, m, size);
  by_bytes ? pack_bytes(codes_in(codes.data(), m, n), core.as<std::uint8_t>())
           : pack_words(codes_in(codes.data(), m, n), core.as<std::uint8_t>());
  words low = codes;
  for (auto& c : low) c &= 0xfff;
  return {
      fmt::format("{} codes to {}", n, by_bytes ? "bytes" : "words"),
      [=, packed_codes = core.content()](const engine_calls& e) -> std::string {
        for (const stored_as how : storages) {
          for (const int width : {2, 4}) {
            auto in = make_stored(how, width, m, n, codes);
            // Often another: codes in one piece, bytes not, and back.
            const stored_as bytes = width == 2 ? how : storages[n % 4];
            stored packed(bytes, 1, m, size);
            e.pack(layout, in.view(), packed.as<std::uint8_t>());
            if (packed.content() != packed_codes) return "packed";
            stored back(how, width, m, n);
            e.unpack(layout, packed.as<const std::uint8_t>(), back.view());
            if (back.content() != low) return "unpacked";
            if (!packed.is_intact() || !back.is_intact()) return "beside";
          }
        }
        return "";
      }};
}

/// Elements of two rows in turn: the strides of one piece, but for columns.
std::string wrong_interleaving(const engine_calls& e) {
  const words x = random_words(63, 9);
  words d(9);
  e.recode(fp32, {x.data(), 2, 3, 3, 2, 4}, bf16, {d.data(), 2, 3, 3, 2, 4},
           rounding::nearest_even, keep_specials, {});
  for (const std::size_t at : {0u, 2u, 4u, 3u, 5u, 7u}) {
    if (d[at] != recode(fp32, x[at], bf16, {}, keep_specials)) return "codes";
  }
  return d[1] == 0 && d[6] == 0 && d[8] == 0 ? "" : "wrote beside";
}

/// Inputs that are one element, again and again: strides of 0.
std::string wrong_repetition(const engine_calls& e) {
  constexpr std::ptrdiff_t m = 3, n = 70;
  const words x = random_words(61, 100), random = random_words(62, 100);
  const auto all_are = [](stored& found, std::uint32_t code) {
    return found.content() == words(area(m, n), code);
  };
  for (const auto& [from, to] :
       {std::pair{fp32, e4m3}, {e4m3, fp32}, {e4m3, bf16}}) {
    stored out(stored_as::dense, storage_bytes(to), m, n);
    e.recode(from, {x.data(), m, n, 0, 0, storage_bytes(from)}, to, out.view(),
             rounding::stochastic, keep_specials, {random.data(), m, n, 0, 0});
    const auto right = recode(from, x[0] & low_bits(from.bits()), to,
                              {rounding::stochastic, random[0]}, keep_specials);
    if (!all_are(out, static_cast<std::uint32_t>(right))) return name_of(from);
  }
  stored packed(stored_as::dense, 1, m, packed_bytes(n));
  e.pack(pack_layout::bytes, {x.data(), m, n, 0, 0, 2},
         packed.as<std::uint8_t>());
  stored codes(stored_as::dense, 2, m, n);
  e.unpack(pack_layout::bytes, packed.as<const std::uint8_t>(), codes.view());
  if (!all_are(codes, x[0] & 0xfff)) return "packed";
  const std::uint8_t bytes[] = {0x55, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  e.unpack(pack_layout::bytes, {bytes, m, packed_bytes(n), 0, 0}, codes.view());
  return all_are(codes, 0x555) ? "" : "unpacked";
}

}  // namespace

engine_case_list array_cases() {
  engine_case_list all{{"rows that take turns", wrong_interleaving},
                       {"inputs of one element", wrong_repetition}};
  add_encodings(all);
  add_decodings(all);
  add_thresholds(all);
  add_storages(all);
  for (const auto layout : {pack_layout::bytes, pack_layout::words}) {
    for (const std::ptrdiff_t n : {0, 1, 2, 7, 8, 9, 16, 31, 100, 20001}) {
      all.push_back(pack_case(layout, n));
    }
  }
  return all;
}

}  // namespace zeroulp::conformance
