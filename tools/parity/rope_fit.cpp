// Rope by the cosines and sines of another mathematical library, as NumPy,
// torch and CUDA have them: no two round alike. They are read from what a side
// made.

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "tools/parity/numbers.hpp"
#include "tools/parity/places.hpp"
#include "tools/parity/rope.hpp"
#include "zeroulp/io.hpp"

namespace zeroulp::parity {
namespace {

/// How far a library's cosine, sine or frequency is from the nearest FP32
/// number, in its last bit. Those that are in use are within 2.
constexpr std::array<int, 5> errors = {0, 1, -1, 2, -2};
constexpr std::size_t pairs_of_errors = errors.size() * errors.size();

/// A pair of errors, the smaller ones first.
constexpr auto pairs = [] {
  std::array<std::pair<int, int>, pairs_of_errors> all{};
  std::size_t count = 0;
  for (int size = 0; size <= 4; ++size) {
    for (const int c : errors) {
      for (const int s : errors) {
        const int sum = (c < 0 ? -c : c) + (s < 0 ? -s : s);
        if (sum == size) all[count++] = {c, s};
      }
    }
  }
  return all;
}();

/// The number that is so many steps away from zero.
std::uint32_t moved(std::uint32_t word, int steps) {
  const auto magnitude = static_cast<std::int64_t>(word & 0x7fffffff) + steps;
  return magnitude < 0
             ? word
             : (word & 0x80000000) | static_cast<std::uint32_t>(magnitude);
}

/// As `rounded`, without its generality: every number is tried often.
std::uint64_t quickly_rounded(float x, format f) {
  const auto word = bit_cast<std::uint32_t>(x);
  const bool is_finite = (word & 0x7f800000) != 0x7f800000;
  if (f == fp32 && is_finite) return word;
  if (!(f == bf16) || !is_finite) return rounded(x, f);
  return (word + 0x7fff + (word >> 16 & 1)) >> 16;
}

/// The cosine and sine of a position and a frequency, and which pairs of errors
/// give every bit that was seen.
struct seen {
  cosine_and_sine near;
  std::uint32_t fits = (1U << pairs_of_errors) - 1;

  cosine_and_sine with(std::size_t pair) const {
    return {moved(near.cosine, pairs[pair].first),
            moved(near.sine, pairs[pair].second)};
  }
};

class tables_that_are_read {
 public:
  explicit tables_that_are_read(const rope_settings& s)
      : by_(s), rows_(std::make_shared<rope_rows>()) {}

  /// False, and nothing changes: no table has all bits of `y`.
  bool read(const problem& p, const matrix& y) {
    const rows_at all(p, by_, y);
    std::vector<std::map<std::ptrdiff_t, seen>> columns;
    for (std::ptrdiff_t k = 0; k < all.shape.half; ++k) {
      if (!read_column(all, k, columns.emplace_back())) return false;
    }
    for (std::size_t k = 0; k < columns.size(); ++k) keep(columns, k);
    return true;
  }

  outputs answer(problem p) const {
    p.rope = by_;
    p.rope.read = rows_;
    return run_rope(p);
  }

 private:
  /// What a side made, by position.
  struct rows_at {
    rows_at(const problem& given, const rope_settings& by, const matrix& made)
        : p(with(given, by)), y(made), shape(p) {
      const auto at = positions(p);
      for (std::size_t i = 0; i < at.size(); ++i) {
        rows[at[i]].push_back(static_cast<std::ptrdiff_t>(i));
      }
    }
    static problem with(problem p, const rope_settings& by) {
      p.rope = by;
      return p;
    }

    problem p;
    const matrix& y;
    head_shape shape;
    std::map<std::ptrdiff_t, std::vector<std::ptrdiff_t>> rows;
  };

  bool read_column(const rows_at& all, std::ptrdiff_t k,
                   std::map<std::ptrdiff_t, seen>& column) const {
    const auto near = static_cast<float>(frequency(by_, 2 * all.shape.half, k));
    for (const int steps : errors) {
      const auto f =
          bit_cast<float>(moved(bit_cast<std::uint32_t>(near), steps));
      column.clear();
      const bool fits =
          std::all_of(all.rows.begin(), all.rows.end(), [&](const auto& x) {
            const auto known = seen_.find(x.first);
            seen one = known != seen_.end()
                           ? known->second[static_cast<std::size_t>(k)]
                           : seen{of_fp32_angle(x.first, f)};
            for (std::size_t i = 0; i < pairs.size(); ++i) {
              const std::uint32_t bit = 1U << i;
              if ((one.fits & bit) == 0) continue;
              if (!gives_all(all, k, x.second, one.with(i))) one.fits &= ~bit;
            }
            column.emplace(x.first, one);
            return one.fits != 0;
          });
      if (fits) return true;
    }
    return false;
  }

  /// Whether a cosine and a sine give what all heads of these rows have.
  bool gives_all(const rows_at& all, std::ptrdiff_t k,
                 const std::vector<std::ptrdiff_t>& rows,
                 cosine_and_sine both) const {
    if (by_.table) {
      both.cosine =
          static_cast<std::uint32_t>(through(*by_.table, both.cosine, fp32));
      both.sine =
          static_cast<std::uint32_t>(through(*by_.table, both.sine, fp32));
    }
    if (by_.backward) both.sine ^= 0x80000000;
    const auto c = bit_cast<float>(both.cosine);
    const auto s = bit_cast<float>(both.sine);
    const matrix& x = all.p.in[x_of];
    for (const std::ptrdiff_t i : rows) {
      for (std::ptrdiff_t head = 0; head < all.shape.count; ++head) {
        const auto at = all.shape.column(by_, head, k);
        const auto other = at + all.shape.apart(by_);
        const float x0 = as_float(x.type, x(i, at));
        const float x1 = as_float(x.type, x(i, other));
        const auto y0 = turned(by_.products, x0, c, -x1, s);
        const auto y1 = turned(by_.products, x1, c, x0, s);
        if (quickly_rounded(y0, all.y.type) != all.y(i, at) ||
            quickly_rounded(y1, all.y.type) != all.y(i, other)) {
          return false;
        }
      }
    }
    return true;
  }

  void keep(const std::vector<std::map<std::ptrdiff_t, seen>>& columns,
            std::size_t k) {
    const std::size_t half = columns.size();
    for (const auto& [position, one] : columns[k]) {
      auto& known = seen_[position];
      auto& row = (*rows_)[position];
      known.resize(half);
      row.resize(2 * half);
      known[k] = one;
      const auto best = static_cast<std::size_t>(std::countr_zero(one.fits));
      const cosine_and_sine both = one.with(best);
      row[k] = both.cosine;
      row[half + k] = both.sine;
    }
  }

  rope_settings by_;
  std::shared_ptr<rope_rows> rows_;
  std::map<std::ptrdiff_t, std::vector<seen>> seen_;
};

const matrix* turned_by(const outputs& made) {
  const auto at = std::find_if(made.begin(), made.end(), [](const matrix& x) {
    return x.name == std::string_view("y");
  });
  return at == made.end() ? nullptr : &*at;
}

}  // namespace

std::vector<rule> rules_of_read_tables(const question& q) {
  const bool is_rope = q.p.is->run == run_rope;
  if (!is_rope || !q.p.in[cosines_of].words.empty()) return {};
  const std::tuple<const char*, rope_products, std::optional<format>>
      products[] = {
          {", products rounded apart", rope_products::apart, {}},
          {"", rope_products::second_fused, {}},
          {", cosine's product fused", rope_products::first_fused, {}},
          {", tables through bf16", rope_products::second_fused, bf16},
          {", tables and steps through bf16", rope_products::apart_bf16, bf16}};
  std::vector<rule> all;
  for (const auto& [also, how, table] : products) {
    rope_settings by = q.p.rope;
    by.angles = rope_angles::fp32_ratio;
    by.products = how;
    by.table = table;
    const auto tables = std::make_shared<tables_that_are_read>(by);
    rule one = variant(
        std::string("fp32 angles of another library") + also,
        std::string(
            "position times 1 / base^(2i/n), all in FP32, and cosines "
            "and sines within 2 in the last bit, each the same wherever "
            "its position is") +
            also,
        [tables](const problem& p) { return tables->answer(p); });
    one.read_more = [tables](const problem& p, const outputs& made) {
      const matrix* const y = turned_by(made);
      return y != nullptr && tables->read(p, *y);
    };
    if (one.read_more(q.p, q.made)) all.push_back(std::move(one));
  }
  return all;
}

}  // namespace zeroulp::parity
