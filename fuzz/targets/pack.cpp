// Defines the target `pack`: 12-bit codes to bytes and back, and scales to a
// layout and back. Source: SPEC clauses P1, P2, Q11.

#include "fuzz/targets/matrix_parts.hpp"

namespace zeroulp::fuzz {
namespace {

enum class profile : std::uint8_t { single_bits, any_bits, odd_scales };

void draw(settings& s, counter_rng& rng) {
  s.packing = rng.one_in(2) ? pack_layout::bytes : pack_layout::words;
  s.layout = one_of(named_scale_layouts, rng).value;
  s.place = draw_placement(rng);
}

std::string refuse(const settings&) { return ""; }

std::vector<operand_spec> operands_of(const settings&) {
  return {{"codes", e5m6, {'m', 1}, {'n', 1}},
          {"scales", fp32, {'m', 1}, {'k', 1}}};
}

/// Rows and columns around multiples of what is packed or padded; some cases
/// are as large as a tile.
void fill(problem& p, int profile_index, counter_rng& rng) {
  const auto how = static_cast<profile>(profile_index);
  std::ptrdiff_t m = rng.below(10);
  std::ptrdiff_t n = rng.below(34);
  std::ptrdiff_t k = rng.below(10);
  if (rng.one_in(8)) n = rng.between(120, 264);
  if (rng.one_in(16)) m = rng.between(126, 130);
  if (rng.one_in(16)) k = rng.between(55, 58);
  p.in.clear();
  for (const auto& spec : operands_of(p.with)) {
    p.in.push_back(make_operand(spec, m, n, k));
  }
  auto& codes = p.in[0].words;
  if (how == profile::single_bits) {
    // One bit of one code set, or all but one.
    const std::uint64_t rest = rng.one_in(2) ? 0 : 0xfff;
    for (auto& code : codes) code = rest;
    if (!codes.empty()) {
      const auto at = rng.below(static_cast<std::uint32_t>(codes.size()));
      codes[at] ^= std::uint64_t{1} << rng.below(12);
    }
  } else {
    for (auto& code : codes) code = rng.next() >> 52;
  }
  for (auto& scale : p.in[1].words) {
    const bool any = how == profile::odd_scales || rng.one_in(16);
    scale = any ? draw_scale(rng) : (1 + rng.below(254)) << 23;
  }
}

std::string clauses(const problem& p, std::string_view output) {
  if (output == "stored" || output == "read") return "Q11";
  const std::string packing =
      p.with.packing == pack_layout::bytes ? "P1" : "P2";
  return output == "guards" ? packing + " Q11" : packing;
}

enum family { byte_bits, word_bits, byte_tails, word_tails, layouts, paddings };

/// The values 0 to `count` - 1, at most 12.
bin_axis numbers(const char* name, std::size_t count) {
  bin_axis axis{name,
                {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11"}};
  axis.values.resize(count);
  return axis;
}

const bin_table& table() {
  static const bin_table all = [] {
    bin_table t;
    const bin_axis bytes{"packing", {"bytes"}};
    const bin_axis in_words{"packing", {"words"}};
    t.add({bytes, numbers("position", 2), numbers("bit", 12)});
    t.add({in_words, numbers("position", 8), numbers("bit", 12)});
    t.add({bytes, numbers("tail", 2)});
    t.add({in_words, numbers("tail", 8)});
    bin_axis names{"layout", {}};
    for (const auto& row : named_scale_layouts)
      names.values.push_back(row.name);
    t.add({names, scale_class_axis("scale")});
    t.add({names, {"padding", {"no", "yes"}}},
          [](const bin_table::combination& at) {
            return at[0] > 0 || at[1] == 0;  // row_major has none
          });
    return t;
  }();
  return all;
}

std::vector<std::string> bins() { return table().names(); }

void cover(const problem& p, const outputs&, bin_counts counts) {
  const settings& s = p.with;
  const bool bytes = s.packing == pack_layout::bytes;
  const std::ptrdiff_t group = bytes ? 2 : 8;
  const matrix& codes = p.in[0];
  const matrix& scales = p.in[1];
  if (codes.rows > 0) {
    table().hit(counts, bytes ? byte_tails : word_tails, 0, codes.cols % group);
  }
  const auto size = static_cast<std::ptrdiff_t>(codes.words.size());
  for_each_sampled(size, 64, [&](std::ptrdiff_t at) {
    const auto code = codes.words[static_cast<std::size_t>(at)];
    for (int bit = 0; bit < 12; ++bit) {
      if ((code >> bit & 1) == 0) continue;
      table().hit(counts, bytes ? byte_bits : word_bits, 0,
                  at % codes.cols % group, bit);
    }
  });
  const auto count = static_cast<std::ptrdiff_t>(scales.words.size());
  for_each_sampled(count, 64, [&](std::ptrdiff_t at) {
    table().hit(counts, layouts, s.layout,
                scale_class_of(scales.words[static_cast<std::size_t>(at)]));
  });
  const auto stored = stored_shape(s.layout, scales.rows, scales.cols);
  const int a_word = s.layout == scale_layout::packed_ue8m0 ? 4 : 1;
  table().hit(counts, paddings, s.layout,
              stored.rows * stored.cols * a_word > count ? 1 : 0);
}

}  // namespace

target_info pack_info() {
  return {target::pack,
          "pack",
          "12-bit codes to bytes and back, scales to a layout and back",
          {"packing", "layout", "place"},
          {"single_bits", "any_bits", "odd_scales"},
          draw,
          refuse,
          operands_of,
          fill,
          run_pack,
          clauses,
          bins,
          cover};
}

}  // namespace zeroulp::fuzz
