// Rotary position embedding as an operator of a chain, and how it is misread.
// Source: SPEC clauses N4, E7. Bases other than 10000 take the C library's pow;
// a pass that has its own cosines and sines reads them.

#include "tools/parity/rope.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "src/base/whole_number.hpp"
#include "tools/parity/numbers.hpp"
#include "zeroulp/io.hpp"
#include "zeroulp/model.hpp"

namespace zeroulp::parity {
namespace {

constexpr std::ptrdiff_t most_positions = std::ptrdiff_t{1} << 20;

std::vector<fuzz::operand_spec> rope_operands(const problem& p) {
  return {{"x", p.with.from, {'m', 1}, {'n', 1}},
          {"positions", fuzz::integer, {'m', 1}, {0, 1}, true},
          {"cosines", fp32, {'p', 1}, {'h', 1}, true},
          {"sines", fp32, {'p', 1}, {'h', 1}, true}};
}

float bf16_of(float x) { return as_float(bf16, rounded(x, bf16)); }

std::uint32_t fp32_of(double x) {
  return bit_cast<std::uint32_t>(static_cast<float>(x));
}

}  // namespace

head_shape::head_shape(const problem& p)
    : count(p.with.heads),
      width(p.in[x_of].cols / count),
      first(p.rope.skip),
      half((p.rope.turned > 0 ? p.rope.turned : width - first) / 2) {
  const bool alike = p.in[x_of].cols % count == 0;
  const std::ptrdiff_t turned =
      p.rope.turned > 0 ? p.rope.turned : width - first;
  if (alike && turned > 0 && turned % 2 == 0 && first + turned <= width) {
    return;
  }
  throw input_error(
      fmt::format("{} columns are no {} heads of which {} columns turn after "
                  "{}: use heads=, skip= and turned=",
                  p.in[x_of].cols, count, turned, first));
}

std::vector<std::ptrdiff_t> positions(const problem& p) {
  const matrix& given = p.in[positions_of];
  const auto m = p.in[x_of].rows;
  std::vector<std::ptrdiff_t> all;
  for (std::ptrdiff_t i = 0; i < m; ++i) {
    auto at = static_cast<std::ptrdiff_t>(p.first_row) + i;
    if (!given.words.empty()) {
      const std::uint64_t word = given.words[static_cast<std::size_t>(i)];
      at = static_cast<std::ptrdiff_t>(word);
      if (at < 0) {
        throw input_error(fmt::format("row {} has position {}", i, at));
      }
    } else if (p.with.length > 0 && !p.rope.one_sequence) {
      at %= p.with.length;
    }
    all.push_back(std::max<std::ptrdiff_t>(at + p.rope.shift, 0));
  }
  return all;
}

double frequency(const rope_settings& s, std::ptrdiff_t n, std::ptrdiff_t i) {
  const double share = 2.0 * static_cast<double>(i) / static_cast<double>(n);
  if (s.angles == rope_angles::fp32_ratio) {
    const auto rounded_share = static_cast<double>(static_cast<float>(share));
    const auto power = static_cast<float>(
        std::pow(static_cast<double>(s.base), rounded_share));
    return 1.0F / power;
  }
  const bool specified = n >= 2 && n <= 128 && (n & (n - 1)) == 0;
  const double exact = s.base == 10000 && specified
                           ? engine::rope_frequency(n, i)
                           : std::pow(static_cast<double>(s.base), -share);
  return s.angles == rope_angles::exact
             ? exact
             : static_cast<double>(static_cast<float>(exact));
}

float turned(rope_products how, float x, float c, float y, float s) {
  switch (how) {
    case rope_products::second_fused:
      return std::fma(y, s, x * c);
    case rope_products::first_fused:
      return std::fma(x, c, y * s);
    case rope_products::apart:
      return x * c + y * s;
    case rope_products::apart_bf16:
      break;
  }
  return bf16_of(bf16_of(x * c) + bf16_of(y * s));
}

cosine_and_sine of_fp32_angle(std::ptrdiff_t position, float f) {
  const double angle = static_cast<float>(position) * f;
  return {fp32_of(std::cos(angle)), fp32_of(std::sin(angle))};
}

namespace {

/// Cosines and sines: a row for each row of x, half of n in each.
struct tables {
  matrix cosines, sines;
};

matrix rows_of(const problem& p, const matrix& table,
               const std::vector<std::ptrdiff_t>& at, std::ptrdiff_t half) {
  // A table of n columns has each half twice.
  if (table.cols != half && table.cols != 2 * half) {
    throw input_error(
        fmt::format("{} has {} columns, not {}", table.name, table.cols, half));
  }
  matrix rows(table.name, fp32, static_cast<std::ptrdiff_t>(at.size()), half);
  for (std::ptrdiff_t i = 0; i < rows.rows; ++i) {
    auto from = at[static_cast<std::size_t>(i)];
    // A shift, which nobody claims, may leave the table.
    if (p.rope.shift != 0) from = std::min(from, table.rows - 1);
    if (from >= table.rows) {
      throw input_error(fmt::format(
          "{} has {} rows, none for position {}: give positions, or length=",
          table.name, table.rows, from));
    }
    for (std::ptrdiff_t j = 0; j < half; ++j) rows(i, j) = table(from, j);
  }
  return rows;
}

}  // namespace

/// The cosines and sines of the positions that were asked for, by what they
/// were computed from.
class rope_table_cache {
 public:
  using row = std::vector<std::uint32_t>;  ///< cosines, then sines

  /// The row of each position; those that are new are computed.
  const std::map<std::ptrdiff_t, row>& rows(
      const rope_settings& s, std::ptrdiff_t half,
      const std::vector<std::ptrdiff_t>& at) {
    auto& known = all_[{s.angles, s.base, half}];
    std::set<std::ptrdiff_t> missing;
    for (const auto position : at) {
      if (!known.contains(position)) missing.insert(position);
    }
    std::vector<double> by;
    for (std::ptrdiff_t i = 0; i < half; ++i) {
      by.push_back(frequency(s, 2 * half, i));
    }
    for (auto next = missing.begin(); next != missing.end();) {
      const std::ptrdiff_t first = *next;
      std::ptrdiff_t count = 0;
      for (; next != missing.end() && *next == first + count; ++next) ++count;
      add_run(s, by, first, count, known);
    }
    return known;
  }

 private:
  static void add_run(const rope_settings& s, const std::vector<double>& by,
                      std::ptrdiff_t first, std::ptrdiff_t count,
                      std::map<std::ptrdiff_t, row>& known) {
    const std::ptrdiff_t half = std::ssize(by);
    row c(static_cast<std::size_t>(count * half)), d(c.size());
    if (s.angles == rope_angles::exact) {
      engine::rope_table(by, first, {c.data(), count, half},
                         {d.data(), count, half});
    } else {
      for (std::size_t i = 0; i < c.size(); ++i) {
        const auto both =
            of_fp32_angle(first + static_cast<std::ptrdiff_t>(i) / half,
                          static_cast<float>(by[i % by.size()]));
        c[i] = both.cosine;
        d[i] = both.sine;
      }
    }
    for (std::ptrdiff_t i = 0; i < count; ++i) {
      row both(c.begin() + i * half, c.begin() + (i + 1) * half);
      both.insert(both.end(), d.begin() + i * half, d.begin() + (i + 1) * half);
      known.emplace(first + i, std::move(both));
    }
  }

  std::map<std::tuple<rope_angles, std::int32_t, std::ptrdiff_t>,
           std::map<std::ptrdiff_t, row>>
      all_;
};

namespace {

void share_tables(problem& p, const chain_operator&, const dump&) {
  p.tables = std::make_shared<rope_table_cache>();
}

tables computed(const problem& p, const std::vector<std::ptrdiff_t>& at,
                std::ptrdiff_t half) {
  const auto high = *std::max_element(at.begin(), at.end());
  if (high > most_positions) {
    throw input_error(
        fmt::format("position {} is beyond {}: give cosines and "
                    "sines",
                    high, most_positions));
  }
  const auto cache = p.tables ? p.tables : std::make_shared<rope_table_cache>();
  const auto& rows = cache->rows(p.rope, half, at);
  tables t{
      matrix("cosines", fp32, static_cast<std::ptrdiff_t>(at.size()), half),
      {}};
  t.sines = t.cosines;
  for (std::ptrdiff_t i = 0; i < t.cosines.rows; ++i) {
    const auto position = at[static_cast<std::size_t>(i)];
    const bool is_read = p.rope.read && p.rope.read->contains(position);
    const auto& row = (is_read ? *p.rope.read : rows).at(position);
    for (std::ptrdiff_t j = 0; j < half; ++j) {
      t.cosines(i, j) = row[static_cast<std::size_t>(j)];
      t.sines(i, j) = row[static_cast<std::size_t>(half + j)];
    }
  }
  return t;
}

tables tables_of(const problem& p, std::ptrdiff_t half) {
  const auto at = positions(p);
  const bool given = !p.in[cosines_of].words.empty();
  if (given != !p.in[sines_of].words.empty()) {
    throw input_error("cosines and sines go together");
  }
  tables t = given ? tables{rows_of(p, p.in[cosines_of], at, half),
                            rows_of(p, p.in[sines_of], at, half)}
                   : computed(p, at, half);
  if (p.rope.exchanged) std::swap(t.cosines.words, t.sines.words);
  for (matrix* const x : {&t.cosines, &t.sines}) {
    for (auto& word : x->words) {
      if (p.rope.table) word = through(*p.rope.table, word, fp32);
      if (p.rope.backward && x == &t.sines) word ^= 0x80000000;
    }
  }
  return t;
}

}  // namespace

outputs run_rope(const problem& p) {
  const matrix& x = p.in[x_of];
  const head_shape h(p);
  matrix y("y", p.with.value, x.rows, x.cols);
  if (x.rows == 0) return {y};
  for (std::size_t i = 0; i < x.words.size(); ++i) {
    y.words[i] = x.type == y.type
                     ? x.words[i]
                     : rounded(as_float(x.type, x.words[i]), y.type);
  }
  const tables t = tables_of(p, h.half);
  const std::ptrdiff_t apart = h.apart(p.rope);
  const auto is_still = [&](std::ptrdiff_t head) {
    return head >= p.rope.still_first &&
           head < p.rope.still_first + p.rope.still_count;
  };
  for (std::ptrdiff_t i = 0; i < x.rows; ++i) {
    for (std::ptrdiff_t head = 0; head < h.count; ++head) {
      if (is_still(head)) continue;
      for (std::ptrdiff_t k = 0; k < h.half; ++k) {
        const auto at = h.column(p.rope, head, k);
        const float x0 = as_float(x.type, x(i, at));
        const float x1 = as_float(x.type, x(i, at + apart));
        const float c = as_float(fp32, t.cosines(i, k));
        const float s = as_float(fp32, t.sines(i, k));
        const auto how = p.rope.products;
        y(i, at) = rounded(turned(how, x0, c, -x1, s), y.type);
        y(i, at + apart) = rounded(turned(how, x1, c, x0, s), y.type);
      }
    }
  }
  return {y};
}

namespace {

/// As torch computes angles, and what its models do behind that.
template <class Add>
void add_angles(const problem& claim, const Add& add) {
  if (!claim.in[cosines_of].words.empty()) return;
  const std::tuple<const char*, const char*, rope_angles> angles[] = {
      {"fp32 angles", "position times 1 / base^(2i/n), all in FP32",
       rope_angles::fp32_ratio},
      {"fp32 angles of fp32 powers", "position times base^(-2i/n), all in FP32",
       rope_angles::fp32_power}};
  const std::tuple<const char*, rope_products, std::optional<format>> behind[] =
      {{"", rope_products::second_fused, {}},
       {", products rounded apart", rope_products::apart, {}},
       {", cosine's product fused", rope_products::first_fused, {}},
       {", tables through bf16", rope_products::second_fused, bf16},
       {", tables and steps through bf16", rope_products::apart_bf16, bf16}};
  for (const auto& [name, what, angle] : angles) {
    for (const auto& [also, products, table] : behind) {
      add(fmt::format("{}{}", name, also), fmt::format("{}{}", what, also),
          [angle = angle, products = products,
           table = table](rope_settings& s) {
            s.angles = angle;
            s.products = products;
            s.table = table;
          });
    }
  }
}

void add_rope_variants(const problem& claim, std::vector<rule>& all) {
  const auto add = [&](std::string name, std::string what, auto change) {
    all.push_back(
        variant(std::move(name), std::move(what), [change](const problem& p) {
          problem q = p;
          change(q.rope);
          return run_rope(q);
        }));
  };
  const auto heads = claim.with.heads;
  const bool halves = claim.rope.halves;
  add(halves ? "pairs adjacent" : "pairs halves",
      halves ? "elements 2i and 2i + 1 are a pair"
             : "elements i and i + n / 2 are a pair",
      [](rope_settings& s) { s.halves = !s.halves; });
  for (std::int32_t h = 0; heads > 1 && h < heads; ++h) {
    add(fmt::format("head {} not rotated", h),
        fmt::format("head {} of {} is left as it was", h, heads),
        [h](rope_settings& s) {
          s.still_first = h;
          s.still_count = 1;
        });
  }
  add("not rotated", "every head is left as it was",
      [heads](rope_settings& s) { s.still_count = heads; });
  for (const std::int32_t by : {1, -1, 2, -2}) {
    add(fmt::format("positions {:+}", by),
        fmt::format("positions are off by {}", by),
        [by](rope_settings& s) { s.shift = by; });
  }
  add("positions of one sequence", "positions do not begin anew",
      [](rope_settings& s) { s.one_sequence = true; });
  add("turned back", "the angle has the other sign",
      [](rope_settings& s) { s.backward = !s.backward; });
  add("cosines for sines", "cosines and sines are exchanged",
      [](rope_settings& s) { s.exchanged = true; });
  const std::tuple<const char*, const char*, rope_products> products[] = {
      {"products rounded apart", "both products are rounded, then added",
       rope_products::apart},
      {"cosine's product fused", "the fma has the cosine's product",
       rope_products::first_fused},
      {"steps through bf16", "products and their sum are rounded to BF16",
       rope_products::apart_bf16}};
  for (const auto& [name, what, how] : products) {
    add(name, what, [how = how](rope_settings& s) { s.products = how; });
  }
  add_angles(claim, add);
  for (const format f : {bf16, fp16}) {
    const std::string name = f == bf16 ? "bf16" : "fp16";
    add("tables through " + name, "cosines and sines were rounded to " + name,
        [f](rope_settings& s) { s.table = f; });
  }
  for (const std::int32_t base :
       {10000, 500000, 1000000, 5000000, 10000000, 100000}) {
    add(fmt::format("base {}", base), fmt::format("the base is {}", base),
        [base](rope_settings& s) { s.base = base; });
  }
  const auto width = claim.in[x_of].cols / std::max(heads, 1);
  for (const auto part : {width / 4, width / 2, width}) {
    for (const auto skip : {std::ptrdiff_t{0}, width - part}) {
      add(fmt::format("{} columns turn after {}", part, skip),
          fmt::format("{} columns of a head turn, from {} on", part, skip),
          [part, skip](rope_settings& s) {
            s.turned = static_cast<std::int32_t>(part);
            s.skip = static_cast<std::int32_t>(skip);
          });
    }
  }
}

template <std::int32_t rope_settings::*Member>
void read_count(problem& p, std::string_view text) {
  const auto value = whole_number<std::int32_t>(text);
  if (!value || *value < 0) {
    throw input_error(fmt::format("'{}': use a number from 0 on", text));
  }
  p.rope.*Member = *value;
}

template <bool rope_settings::*Member>
void read_choice(problem& p, std::string_view text, const char* no,
                 const char* yes) {
  if (text != no && text != yes) {
    throw input_error(fmt::format("'{}': use {} or {}", text, no, yes));
  }
  p.rope.*Member = text == yes;
}

}  // namespace

operator_kind rope_kind() {
  operator_kind k;
  k.name = "rope";
  k.follows = {{"from", "x"}, {"value", "y"}};
  k.settings = {
      {"from", nullptr},
      {"value", nullptr},
      {"heads", nullptr},
      {"length", nullptr},
      {"pairs",
       [](problem& p, std::string_view text) {
         read_choice<&rope_settings::halves>(p, text, "adjacent", "halves");
       }},
      {"pass",
       [](problem& p, std::string_view text) {
         read_choice<&rope_settings::backward>(p, text, "forward", "backward");
       }},
      {"base", read_count<&rope_settings::base>},
      {"skip", read_count<&rope_settings::skip>},
      {"turned", read_count<&rope_settings::turned>}};
  k.operands = rope_operands;
  k.run = run_rope;
  k.makes = {"y"};
  k.complete = share_tables;
  k.add_variants = add_rope_variants;
  return k;
}

}  // namespace zeroulp::parity
