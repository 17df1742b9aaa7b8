#include "fuzz/identify/blocks/block_gemm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bitset>

#include "fuzz/identify/gemm_grid.hpp"
#include "zeroulp/block_scaled.hpp"
#include "zeroulp/io.hpp"
#include "zeroulp/names.hpp"

namespace zeroulp::fuzz {
namespace {

// The grid. Values of a field are in the order of these lists.

/// What a step aligns.
enum class grid_terms : std::uint8_t {
  products,     ///< each product, its place raised by both scales
  sums,         ///< sums of 16 products
  dequantized,  ///< products of elements times scales, stored as BF16 first
};
constexpr const char* terms_names[] = {"products", "sums of 16",
                                       "products of BF16"};
constexpr std::int16_t grid_lengths[] = {8, 16, 32, 64, 128};
constexpr int least_fraction = 8, most_fraction = 36;
constexpr std::int16_t place_floors[] = {no_floor, -133, -139};
constexpr const char* stored_names[] = {"fp32, toward zero", "fp32, nearest",
                                        "the fraction bits, toward zero"};
constexpr const char* second_names[] = {
    "fl(acc*fl(ta*tb))", "fl(fl(acc*ta)*tb)", "fl(fl(acc*tb)*ta)"};
/// Orders of the second level, times epilogues.
constexpr std::size_t finish_count = std::size(second_names) * end_count;
using ends = std::bitset<finish_count>;

/// How the bytes are read.
struct byte_reading {
  block_scale kind;
  int block;

  std::string name() const {
    return fmt::format("{} per {}",
                       kind == block_scale::power_of_two ? "ue8m0" : "ue4m3",
                       block);
  }
};

/// A member but for what follows its sums.
struct chain_member {
  std::size_t reading, terms, length, floor, stored;
  int fraction_bits;
};

accumulator accumulator_of(const chain_member& m) {
  accumulator acc = what_if_fraction(m.fraction_bits);
  acc.length = grid_lengths[m.length];
  acc.exponent_floor = place_floors[m.floor];
  if (m.stored != 2) acc.output = fp32;
  if (m.stored == 1) acc.conversion = rounding::nearest_even;
  return acc;
}

block_scaled_path path_of(const chain_member& m, const byte_reading& r,
                          const gemm_evidence& e) {
  return {{e.a.f, e.b.f, accumulator_of(m)},
          r.kind,
          static_cast<std::int16_t>(r.block),
          static_cast<grid_terms>(m.terms) == grid_terms::sums
              ? block_terms::sums
              : block_terms::products};
}

// Operands.

using values = std::vector<unpacked>;

/// What a reading makes of an operand.
struct read_operand {
  std::vector<values> scales;       ///< by row, a block each
  std::vector<values> dequantized;  ///< by row; none if BF16 does not hold it
};

/// x * scale as BF16, if that is exact.
std::optional<unpacked> as_bf16(const unpacked& x, const unpacked& scale) {
  if (x.is_nan() || scale.is_nan() || x.kind == kind::infinite) return {};
  if (x.is_zero() || scale.is_zero()) return decode(bf16, 0);
  unpacked y = x;
  y.significand *= scale.significand;
  y.exponent += scale.exponent;
  const unpacked z = decode(bf16, encode(bf16, y));
  if (z.kind != kind::finite) return {};
  const auto whole = [](unpacked v) {
    while (v.significand % 2 == 0) v.significand /= 2, ++v.exponent;
    return std::pair(v.significand, v.exponent);
  };
  if (whole(y) != whole(z)) return {};
  return z;
}

read_operand read(const operand_evidence& x, const std::vector<values>& rows,
                  const byte_reading& r) {
  read_operand out;
  bool holds = true;
  for (std::ptrdiff_t i = 0; i < x.codes.rows; ++i) {
    values scales;
    for (std::ptrdiff_t n = 0; n < x.scales->cols; ++n) {
      scales.push_back(decode(r.kind, (*x.scales)(i, n)));
    }
    values row;
    const values& elements = rows[static_cast<std::size_t>(i)];
    for (std::size_t k = 0; holds && k < elements.size(); ++k) {
      const auto y =
          as_bf16(elements[k], scales[k / static_cast<std::size_t>(r.block)]);
      holds = y.has_value();
      if (holds) row.push_back(*y);
    }
    out.scales.push_back(std::move(scales));
    out.dequantized.push_back(std::move(row));
  }
  if (!holds) out.dequantized.clear();
  return out;
}

std::vector<values> elements_of(const operand_evidence& x) {
  std::vector<values> rows;
  for (std::ptrdiff_t i = 0; i < x.codes.rows; ++i) {
    values row;
    for (std::ptrdiff_t k = 0; k < x.codes.cols; ++k) {
      row.push_back(decode(x.f, x.codes(i, k)));
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

/// The sizes of blocks that so many bytes can be for.
std::vector<int> blocks_of(const operand_evidence& x) {
  std::vector<int> all;
  if (!x.scales || x.words != scale_words::exponents ||
      x.scales->rows != x.codes.rows) {
    return all;
  }
  for (const int block : {16, 32}) {
    if (oracle::groups_along(x.codes.cols, block) == x.scales->cols) {
      all.push_back(block);
    }
  }
  return all;
}

void check_second(const std::optional<oracle::grid>& t, const std::string& name,
                  std::ptrdiff_t rows) {
  if (!t || (t->cols == 1 && (t->rows == 1 || t->rows == rows))) return;
  throw input_error(fmt::format(
      "{}: {} x {} scales of the second level: one, or a column of {}", name,
      t->rows, t->cols, rows));
}

std::uint32_t second_of(const std::optional<oracle::grid>& t,
                        std::ptrdiff_t i) {
  return t ? (*t)(t->rows == 1 ? 0 : i, 0) : fp32_one;
}

/// The search: what all members share.
class block_search {
 public:
  block_search(const gemm_evidence& e, const second_evidence& second)
      : e_(e),
        second_(second),
        a_rows_(elements_of(e.a)),
        b_rows_(elements_of(e.b)) {
    const auto of_a = blocks_of(e.a), of_b = blocks_of(e.b);
    for (const int block : of_a) {
      if (std::count(of_b.begin(), of_b.end(), block) == 0) continue;
      for (const auto kind :
           {block_scale::power_of_two, block_scale::unsigned_e4m3}) {
        readings.push_back({kind, block});
        a_.push_back(read(e.a, a_rows_, readings.back()));
        b_.push_back(read(e.b, b_rows_, readings.back()));
      }
    }
    for (std::size_t r = 0; r < readings.size(); ++r) add_members(r);
    // The same outputs in the same order each time; the first tell as much as
    // any.
    for (std::size_t i = 0; i < e.d.words.size(); ++i) order_.push_back(i);
    counter_rng rng(1, 0);
    for (std::size_t i = order_.size(); i > 1; --i) {
      std::swap(order_[i - 1],
                order_[rng.below(static_cast<std::uint32_t>(i))]);
    }
  }

  std::vector<byte_reading> readings;
  std::vector<chain_member> members;

  std::uint64_t tried() const { return members.size() * usual_ends().count(); }
  /// Returns the ends with which `m` gives the first `count` outputs looked at.
  ends that_give(const chain_member& m, std::size_t count) const {
    ends alive = usual_ends();
    for (std::size_t n = 0; n < count && alive.any(); ++n) {
      const auto [i, j] = place(n);
      const std::uint32_t acc = sum(m, i, j);
      for (std::size_t end = 0; end < finish_count; ++end) {
        if (alive[end]) alive[end] = finished(end, acc, i, j) == e_.d(i, j);
      }
    }
    return alive;
  }
  /// The first `count` outputs looked at, beside those of `m` with this end.
  tally compare(const chain_member& m, std::size_t end,
                std::size_t count) const {
    tally t;
    for (std::size_t n = 0; n < count; ++n) {
      const auto [i, j] = place(n);
      t.add({i, j, e_.d(i, j), finished(end, sum(m, i, j), i, j)});
    }
    return t;
  }
  std::size_t outputs() const { return order_.size(); }
  /// The number of the member that is this path, if any is.
  std::optional<std::size_t> member_of(const block_scaled_path& p) const {
    for (std::size_t n = 0; n < members.size(); ++n) {
      const chain_member& m = members[n];
      if (static_cast<grid_terms>(m.terms) != grid_terms::dequantized &&
          path_of(m, readings[m.reading], e_) == p) {
        return n;
      }
    }
    return {};
  }

 private:
  bool has_both_seconds() const { return second_.a && second_.b; }

  void add_members(std::size_t reading) {
    const bool holds =
        !a_[reading].dequantized.empty() && !b_[reading].dequantized.empty();
    for (std::size_t terms = 0; terms < std::size(terms_names); ++terms) {
      const bool is_dequantized =
          static_cast<grid_terms>(terms) == grid_terms::dequantized;
      if (is_dequantized && !holds) continue;
      for (std::size_t l = 0; l < std::size(grid_lengths); ++l) {
        for (int bits = least_fraction; bits <= most_fraction; ++bits) {
          for (std::size_t f = 0; f < std::size(place_floors); ++f) {
            for (std::size_t s = 0; s < std::size(stored_names); ++s) {
              if (s == 2 && bits >= 23) continue;  // it is the first
              const chain_member m{reading, terms, l, f, s, bits};
              if (is_dequantized ||
                  is_valid(path_of(m, readings[reading], e_))) {
                members.push_back(m);
              }
            }
          }
        }
      }
    }
  }
  std::pair<std::ptrdiff_t, std::ptrdiff_t> place(std::size_t n) const {
    const auto at = static_cast<std::ptrdiff_t>(order_[n]);
    return {at / e_.d.cols, at % e_.d.cols};
  }
  /// Without C there is one epilogue, without both second levels one order.
  ends usual_ends() const {
    ends all;
    for (std::size_t end = 0; end < finish_count; ++end) {
      all[end] = (e_.c || end % end_count == 0) &&
                 (has_both_seconds() || end < end_count);
    }
    return all;
  }

  std::uint32_t sum(const chain_member& m, std::ptrdiff_t i,
                    std::ptrdiff_t j) const {
    const auto x = static_cast<std::size_t>(i), y = static_cast<std::size_t>(j);
    const read_operand& a = a_[m.reading];
    const read_operand& b = b_[m.reading];
    const std::ptrdiff_t k = e_.a.codes.cols;
    if (static_cast<grid_terms>(m.terms) == grid_terms::dequantized) {
      const unpacked* const xs = a.dequantized[x].data();
      const unpacked* const ys = b.dequantized[y].data();
      return static_cast<std::uint32_t>(
          chain({bf16, bf16, accumulator_of(m)}, xs, ys, 0, k, 0));
    }
    const unpacked* const xs = a_rows_[x].data();
    const unpacked* const ys = b_rows_[y].data();
    const unpacked* const scales_x = a.scales[x].data();
    const unpacked* const scales_y = b.scales[y].data();
    return static_cast<std::uint32_t>(chain(path_of(m, readings[m.reading], e_),
                                            xs, ys, scales_x, scales_y, k, 0));
  }
  std::uint32_t finished(std::size_t end, std::uint32_t acc, std::ptrdiff_t i,
                         std::ptrdiff_t j) const {
    using detail::fl_multiply;
    const std::uint32_t ta = second_of(second_.a, i);
    const std::uint32_t tb = second_of(second_.b, j);
    block_recipe r{};
    r.path.unscaled.acc = what_if_fraction(25);
    r.end = grid_ends[end % end_count];
    r.output = e_.output;
    std::uint32_t scale = fp32_one;
    switch (end / end_count) {
      case 0:
        scale = fl_multiply(ta, tb);
        break;
      case 1:
        acc = fl_multiply(acc, ta), scale = tb;
        break;
      default:
        acc = fl_multiply(acc, tb), scale = ta;
    }
    // Without a second level nothing is multiplied: 1 x changes no number.
    return finish(r, acc, scale, e_.c ? (*e_.c)(i, j) : 0);
  }

  const gemm_evidence& e_;
  const second_evidence& second_;
  std::vector<values> a_rows_, b_rows_;
  std::vector<read_operand> a_, b_;  ///< of each reading
  std::vector<std::size_t> order_;
};

std::vector<fitting_field> all_fields(const block_search& s,
                                      const gemm_evidence& e,
                                      const second_evidence& second) {
  std::vector<fitting_field> all{{"scales", {}},
                                 {"terms", {}},
                                 {"products a step", {}},
                                 {"fraction bits", {}},
                                 {"floor of the place", {}},
                                 {"sums are stored as", {}},
                                 {"second level", {second_names[0]}},
                                 {"epilogue", {"store"}}};
  for (const auto& r : s.readings) all[0].values.push_back(r.name());
  for (const char* const t : terms_names) all[1].values.emplace_back(t);
  for (const int l : grid_lengths) all[2].values.push_back(std::to_string(l));
  for (int f = least_fraction; f <= most_fraction; ++f) {
    all[3].values.push_back(std::to_string(f));
  }
  for (const int f : place_floors) {
    all[4].values.push_back(f == no_floor ? "none" : std::to_string(f));
  }
  for (const char* const t : stored_names) all[5].values.emplace_back(t);
  if (second.a && second.b) {
    all[6].values.assign(std::begin(second_names), std::end(second_names));
  } else if (!second.a && !second.b) {
    all[6].values = {"none"};
  }
  if (e.c) all[7].values.emplace_back("fl(acc+C)");
  return all;
}

}  // namespace

bool has_block_scales(const gemm_evidence& e) {
  const auto of_a = blocks_of(e.a), of_b = blocks_of(e.b);
  return std::any_of(of_a.begin(), of_a.end(), [&](int block) {
    return std::count(of_b.begin(), of_b.end(), block) > 0;
  });
}

block_gemm_answer identify_block_gemm(const gemm_evidence& e,
                                      const second_evidence& second,
                                      double most_products) {
  const stopwatch watch;
  check_gemm_shapes(e);
  check_second(second.a, second.a_name, e.a.codes.rows);
  check_second(second.b, second.b_name, e.b.codes.rows);
  const block_search s(e, second);
  block_gemm_answer answer;
  answer.grid = all_fields(s, e, second);
  answer.tried = s.tried();

  const double of_all = static_cast<double>(s.members.size()) *
                        static_cast<double>(e.a.codes.cols);
  const auto few =
      static_cast<std::size_t>(std::clamp(most_products / of_all, 4.0, 64.0));
  std::vector<ends> give(s.members.size());
  for_each_index(s.members.size(), [&](std::size_t n) {
    give[n] = s.that_give(s.members[n], std::min(few, s.outputs()));
  });
  std::vector<std::size_t> left;
  for (std::size_t n = 0; n < give.size(); ++n) {
    if (give[n].any()) left.push_back(n);
  }
  const double each =
      static_cast<double>(std::max<std::size_t>(left.size(), 1)) *
      static_cast<double>(e.a.codes.cols);
  const auto looked_at =
      std::min(s.outputs(),
               std::max(few, static_cast<std::size_t>(most_products / each)));
  for_each_index(left.size(), [&](std::size_t n) {
    give[left[n]] = s.that_give(s.members[left[n]], looked_at);
  });

  class_builder builder(answer.grid);
  for (const std::size_t n : left) {
    if (give[n].none()) continue;
    answer.is_near = true;
    const chain_member& m = s.members[n];
    for (std::size_t end = 0; end < finish_count; ++end) {
      if (!give[n][end]) continue;
      builder.add({m.reading, m.terms, m.length,
                   static_cast<std::size_t>(m.fraction_bits - least_fraction),
                   m.floor, m.stored, end / end_count, end % end_count});
    }
  }
  if (answer.is_near) {
    answer.best = {looked_at, looked_at};
    answer.exact = looked_at == s.outputs();
    answer.found = builder.result();
    // Where nearly all fit, D tells nothing of any.
    answer.tells = 2 * answer.found.members <= answer.tried;
  }
  for (const auto& row : all_block_recipes()) {
    const auto takes = [&](format f) {
      return std::count(row.takes.begin(), row.takes.end(), f) > 0;
    };
    if (!takes(e.a.f) || !takes(e.b.f)) continue;
    const auto n = s.member_of(parse_block_recipe(row.name, e.a.f, e.b.f).path);
    if (!n) continue;
    if (answer.is_near) {
      // The order of the second level is the first one's.
      if (give[*n][0] || give[*n][1]) answer.found.names.emplace_back(row.name);
      continue;
    }
    const std::size_t some = std::min<std::size_t>(looked_at, 4096);
    const tally t = s.compare(s.members[*n], e.c ? 1 : 0, some);
    if (answer.best.count > 0 && some - t.differ <= answer.best.agree) {
      continue;
    }
    answer.best = {some - t.differ, some};
    answer.first = t.first;
    answer.nearest = row.name;
  }
  answer.seconds = watch.seconds();
  return answer;
}

}  // namespace zeroulp::fuzz
