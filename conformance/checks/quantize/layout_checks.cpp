// Layouts of scales and packing of 12-bit codes.

#include <fmt/format.h>

#include "conformance/checks/quantize/quantize_parts.hpp"
#include "conformance/oracles/layout_oracle.hpp"

namespace zeroulp::conformance {
namespace {

/// Mostly powers of two; sometimes what ue8m0 has no byte for.
std::uint32_t layout_scale(counter_rng& rng) {
  static constexpr std::uint32_t odd[] = {
      0,          0x00000001, 0x00200000, 0x00400000, 0x00400001, 0x00600000,
      0x00800000, 0x3f800001, 0x3fc00000, 0x7f000000, 0x7f7fffff, 0x7f800000,
      0x7fffffff, 0x7fc00000, 0xbf800000, 0x80000000};
  if (rng.one_in(6)) return odd[rng.below(std::size(odd))];
  return (1 + rng.below(254)) << 23;
}

std::vector<matrix_shape> layout_shapes(const effort& e) {
  std::vector<matrix_shape> shapes;
  for (int mn = 0; mn <= 9; ++mn) {
    for (int k = 0; k <= 9; ++k) shapes.push_back({mn, k});
  }
  const int longest = e.level == 0 ? 129 : 300;
  for (const int mn : {127, 128, longest}) shapes.push_back({mn, 5});
  for (const int k : {56, 57, longest}) shapes.push_back({3, k});
  return shapes;
}

bytes_in as_bytes(const std::vector<std::uint8_t>& bytes, std::ptrdiff_t m,
                  std::ptrdiff_t n) {
  return {bytes.data(), m, n};
}

const char* name_of(pack_layout layout) {
  return layout == pack_layout::bytes ? "bytes" : "words";
}

void check_packing(const implementation& i, pack_layout layout,
                   const oracle::grid& x, counter_rng rng, verdict& v) {
  const auto want = oracle::pack(layout, x);
  const auto how = static_cast<placement>(rng.below(placement_count));
  placed<std::uint32_t> codes(how, x.rows, x.cols, 0xfff);
  placed<std::uint8_t> packed(how, want.rows, want.cols, 0xa5);
  placed<std::uint32_t> back(how, x.rows, x.cols, 0xc0dec0de);
  codes.load(x);
  i.pack(layout, codes.input(), packed.view());
  const auto describe = [&] {
    return fmt::format("{} of {} x {}", name_of(layout), x.rows, x.cols);
  };
  compare(v, packed.read(), want, "pack: byte ", describe);
  packed.load(want);
  i.unpack(layout, packed.input(), back.view());
  compare(v, back.read(), x, "unpack: code ", describe);
  v.count(packed.guards_hold() && back.guards_hold(),
          [&] { return describe() + ": wrote outside its matrices"; });
}

}  // namespace

verdict laid_out_scales(const implementation& i, const effort& e) {
  verdict v;
  std::uint64_t index = 0;
  for (int round = 0; round < (e.level == 0 ? 1 : 40); ++round) {
    for (const matrix_shape& shape : layout_shapes(e)) {
      const std::ptrdiff_t mn = shape.rows;
      const std::ptrdiff_t k = shape.cols;
      counter_rng rng(e.seed, index++);
      oracle::grid s(mn, k);
      for (auto& scale : s.words) scale = layout_scale(rng);
      const auto how = static_cast<placement>(rng.below(placement_count));
      placed<std::uint32_t> scales(how, mn, k, 0x7f7fffff);
      scales.load(s);
      for (const auto& layout : named_scale_layouts) {
        const auto want = oracle::lay_out_scales(layout.value, s);
        placed<std::uint32_t> out(how, want.rows, want.cols, 0xc0dec0de);
        i.lay_out_scales(layout.value, scales.input(), out.view());
        const auto describe = [&] {
          return fmt::format("{} of {} x {} scales", layout.name, mn, k);
        };
        const auto got = out.read();
        compare(v, got, want, "word ", describe);
        v.count(out.guards_hold(),
                [&] { return describe() + ": wrote outside its matrix"; });
        out.load(want);
        for (std::ptrdiff_t r = 0; r < mn; ++r) {
          for (std::ptrdiff_t c = 0; c < k; ++c) {
            const auto read = i.scale_at(layout.value, out.input(), r, c);
            const auto right = oracle::scale_read_back(layout.value, s(r, c));
            v.compare(read, right, [&] {
              return fmt::format("{}: scale_at({}, {}) is {:#x}, not {:#x}",
                                 describe(), r, c, read, right);
            });
          }
        }
        if (e.stop_early && v.failures > 0) return v;
      }
    }
  }
  return v;
}

verdict packed_bits(const implementation& i, const effort& e) {
  verdict v;
  // Every bit of every code of a row: it goes to one place, no other to it.
  for (const auto layout : {pack_layout::bytes, pack_layout::words}) {
    for (std::ptrdiff_t n = 1; n <= 17; ++n) {
      const auto width = oracle::packed_width(layout, n);
      std::vector<int> taken(static_cast<std::size_t>(width) * 8);
      for (std::ptrdiff_t j = 0; j < n; ++j) {
        for (int bit = 0; bit < 12; ++bit) {
          oracle::grid codes(1, n);
          codes(0, j) = 1u << bit;
          std::vector<std::uint8_t> bytes(static_cast<std::size_t>(width),
                                          0xa5);
          i.pack(layout, codes_in(codes.words.data(), 1, n),
                 bytes_out(bytes.data(), 1, width));
          const auto place = oracle::place_of(layout, j, bit);
          int set = 0;
          for (const auto byte : bytes) set += __builtin_popcount(byte);
          const auto at = static_cast<std::size_t>(place.byte);
          const bool there = (bytes[at] >> place.bit & 1) != 0;
          const int before = taken[at * 8 + static_cast<unsigned>(place.bit)]++;
          oracle::grid back(1, n, 0xdeadbeef);
          i.unpack(layout, as_bytes(bytes, 1, width),
                   codes_out(back.words.data(), 1, n));
          const bool held = set == 1 && there && before == 0 && back == codes;
          v.count(held, [&] {
            return fmt::format(
                "{} row of {}: bit {} of code {} sets {} bits, {} byte {} bit "
                "{}; unpacked {}",
                name_of(layout), n, bit, j, set, there ? "among them" : "not",
                place.byte, place.bit, back == codes ? "right" : "wrong");
          });
          if (e.stop_early && v.failures > 0) return v;
        }
      }
    }
  }
  return v;
}

verdict packed_codes(const implementation& i, const effort& e) {
  verdict v;
  const std::uint64_t count = e.level == 0 ? 60 : 3'000;
  for (std::uint64_t n = 0; n < count; ++n) {
    counter_rng rng(e.seed, n);
    const std::ptrdiff_t rows = rng.below(6);
    const auto cols =
        static_cast<std::ptrdiff_t>(n < 40 ? n / 2 : rng.below(140));
    oracle::grid codes(rows, cols);
    for (auto& code : codes.words) code = rng.next32() & 0xfff;
    for (const auto layout : {pack_layout::bytes, pack_layout::words}) {
      check_packing(i, layout, codes, rng, v);
      if (e.stop_early && v.failures > 0) return v;
    }
  }
  return v;
}

}  // namespace zeroulp::conformance
