// step: one tensor-core step with the alignment of each term, for a person.

#include <fmt/format.h>

#include <algorithm>

#include "tools/zeroulp/cli.hpp"
#include "tools/zeroulp/operands.hpp"
#include "tools/zeroulp/program.hpp"
#include "zeroulp/block_scaled.hpp"

namespace zeroulp::program {
namespace {

struct step_request {
  std::string path;
  std::string a;
  std::string b;
  std::string c;
  std::string scales_a;
  std::string scales_b;
  bool as_json = false;
};

/// The exact value of a term.
std::string exact_text(const detail::term& t) {
  return to_decimal({t.significand, t.exponent, kind::finite, t.negative});
}

struct term_row {
  std::string name;
  int place;
  std::string exact;
  std::string kept;
  std::string lost;
};

/// How a direct, cut step treats its terms.
std::vector<term_row> explain(const path& p, const std::vector<unpacked>& a,
                              const std::vector<unpacked>& b,
                              const char* product, const unpacked& c,
                              int& largest) {
  std::vector<std::pair<std::string, detail::term>> terms;
  const int point = p.a.man_bits + p.b.man_bits;
  for (std::size_t k = 0; k < a.size(); ++k) {
    if (!a[k].is_zero() && !b[k].is_zero()) {
      terms.emplace_back(fmt::format(fmt::runtime(product), k),
                         detail::product_term(p.acc, a[k], b[k], point));
    }
  }
  if (!c.is_zero() && p.acc.c == addend::aligned) {
    terms.emplace_back(
        "c", detail::term{c.significand, c.exponent,
                          c.exponent + p.acc.stored.man_bits, c.negative});
  }
  largest = p.acc.exponent_floor;
  for (const auto& [name, t] : terms) largest = std::max(largest, t.place);
  const int unit = largest - p.acc.fraction_bits;
  std::vector<term_row> rows;
  for (const auto& [name, t] : terms) {
    const unpacked kept{detail::cut(t, unit, p.acc.cut), unit, kind::finite,
                        t.negative};
    const unpacked value = kept.significand == 0 ? unpacked{} : kept;
    const unpacked exact{t.significand, t.exponent, kind::finite, t.negative};
    unpacked minus = value;
    minus.negative = !minus.negative;
    const auto lost = sum(exact, minus, rounding::nearest_even);
    const double lost_value = bit_cast<double>(encode(fp64, lost));
    rows.push_back({name, t.place, exact_text(t), to_decimal(value),
                    to_decimal(decode(lost_value))});
  }
  return rows;
}

/// What the table's columns mean.
constexpr std::string_view step_legend =
    "place: ea + eb of a product, the exponent of c; exact: the term; kept: "
    "what is left of it above the cut; lost: the rest\n";

/// A step as it is shown: operands of `p`, and what each product is called.
struct shown_step {
  std::string name;
  path p;
  std::vector<unpacked> a;
  std::vector<unpacked> b;
  const char* product;  ///< a format of its index
  std::uint64_t c;
  std::uint64_t d;
};

std::vector<unpacked> decoded(format f,
                              const std::vector<std::uint64_t>& codes) {
  std::vector<unpacked> values;
  for (const auto code : codes) values.push_back(decode(f, code));
  return values;
}

/// The codes of both operands, as many of each, and c.
struct step_codes {
  std::vector<std::uint64_t> a;
  std::vector<std::uint64_t> b;
  std::uint64_t c;
};

step_codes parse_codes(const step_request& q, std::string_view name,
                       const path& p) {
  step_codes s{parse_operands(q.a, p.a, "--a"), parse_operands(q.b, p.b, "--b"),
               q.c.empty() ? 0 : parse_code(q.c, p.acc.stored.bits(), "--c")};
  if (s.a.size() != s.b.size()) {
    throw input_error(fmt::format("--a has {} operands, --b {}: give as many",
                                  s.a.size(), s.b.size()));
  }
  if (s.a.size() > most_operands(p)) {
    throw input_error(
        fmt::format("--a has {} operands: a step of {} takes at most {}",
                    s.a.size(), name, most_operands(p)));
  }
  return s;
}

shown_step plain_step(const step_request& q) {
  const auto named = parse_path(q.path);
  const path& p = named.value;
  const step_codes s = parse_codes(q, named.name, p);
  const auto a = decoded(p.a, s.a);
  const auto b = decoded(p.b, s.b);
  const auto d = step(p, a.data(), b.data(), static_cast<int>(a.size()), s.c);
  return {named.name, p, a, b, "a[{0}]*b[{0}]", s.c, d};
}

/// The scales of `count` operands: a byte a block.
std::vector<unpacked> parse_scales(const std::string& text,
                                   const block_scaled_path& p,
                                   std::size_t count, const char* what) {
  const auto blocks = static_cast<std::size_t>(
      ceil_div(static_cast<std::ptrdiff_t>(count), p.block));
  if (text.size() != 2 * blocks) {
    throw input_error(fmt::format(
        "{} has {} hexadecimal digits: {} operands in blocks of {} have {} "
        "scales of 2 digits",
        what, text.size(), count, p.block, blocks));
  }
  std::vector<unpacked> scales;
  for (const auto code : parse_operands(text, e4m3, what)) {
    scales.push_back(decode(p.scale, code));
  }
  return scales;
}

shown_step block_scaled_step(const step_request& q) {
  const auto named = parse_block_scaled_path(q.path);
  const block_scaled_path& p = named.value;
  const path& unscaled = p.unscaled;
  const step_codes s = parse_codes(q, named.name, unscaled);
  const auto sa = parse_scales(q.scales_a, p, s.a.size(), "--scale-a");
  const auto sb = parse_scales(q.scales_b, p, s.b.size(), "--scale-b");
  const auto a = decoded(unscaled.a, s.a);
  const auto b = decoded(unscaled.b, s.b);
  const int count = static_cast<int>(a.size());
  const auto d = step(p, a.data(), b.data(), sa.data(), sb.data(), count, s.c);
  shown_step shown{named.name, unscaled, {}, {}, "a[{0}]*b[{0}]*scales",
                   s.c,        d};
  if (p.terms == block_terms::sums) {
    const auto sums =
        detail::sum_blocks(p, a.data(), b.data(), sa.data(), sb.data(), count);
    shown.p = sums.as;
    shown.a.assign(sums.a, sums.a + sums.count);
    shown.b.assign(sums.b, sums.b + sums.count);
    shown.product = "sum {0} of 16 products*scales";
    return shown;
  }
  const auto scaled = [&p](const std::vector<unpacked>& x,
                           const std::vector<unpacked>& scales) {
    const unpacked* const elements = x.data();
    const unpacked* const of_blocks = scales.data();
    const detail::scaled_elements<const unpacked*, const unpacked*> products{
        elements, of_blocks, p.block};
    std::vector<unpacked> values;
    for (int k = 0; k < static_cast<int>(x.size()); ++k) {
      values.push_back(products[k]);
    }
    return values;
  };
  shown.a = scaled(a, sa);
  shown.b = scaled(b, sb);
  return shown;
}

/// With scales, or by a path that needs them.
bool is_block_scaled(const step_request& q) {
  const auto& paths = all_block_scaled_paths();
  return !q.scales_a.empty() || q.path.starts_with("whatif.block_scaled_") ||
         std::any_of(paths.begin(), paths.end(),
                     [&q](const auto& row) { return row.name == q.path; });
}

void run_step(const step_request& q) {
  const shown_step s =
      is_block_scaled(q) ? block_scaled_step(q) : plain_step(q);
  const path& p = s.p;
  const unpacked c = decode(p.acc.stored, s.c);
  const auto specials = detail::find_specials(s.a.data(), s.b.data(),
                                              static_cast<int>(s.a.size()), c);
  int largest = no_floor;
  std::vector<term_row> rows;
  const bool explained = p.lowering == lowering::direct &&
                         p.acc.fraction_bits != uncut && !specials.any();
  if (explained) rows = explain(p, s.a, s.b, s.product, c, largest);
  const bool placed = largest != no_floor;

  const int bits = p.acc.stored.bits();
  if (q.as_json) {
    json terms = json::array();
    for (const auto& row : rows) {
      terms.push_back({{"term", row.name},
                       {"place", row.place},
                       {"exact", row.exact},
                       {"kept", row.kept},
                       {"lost", row.lost}});
    }
    json result{{"path", s.name},
                {"d", to_hex(s.d, bits)},
                {"value", to_decimal(decode(p.acc.stored, s.d))}};
    if (explained) {
      result["largest_place"] = placed ? json(largest) : json(nullptr);
      result["terms"] = terms;
    }
    print_json(result);
    return;
  }
  if (explained && !rows.empty()) {
    table t{{"term", "place", "exact", "kept", "lost"}, {}};
    for (const auto& row : rows) {
      t.rows.push_back(
          {row.name, std::to_string(row.place), row.exact, row.kept, row.lost});
    }
    print(t);
    print(fmt::format("largest place {}: terms are cut to multiples of 2^{}\n",
                      largest, largest - p.acc.fraction_bits));
    print(step_legend);
  } else if (specials.any()) {
    print("a term is NaN or infinite: nothing is aligned\n");
  } else if (!explained) {
    print("this path does not align in one step: only the result is shown\n");
  }
  print(fmt::format("D = {}\n", describe(p.acc.stored, s.d)));
}

}  // namespace

std::size_t most_operands(const path& p) {
  return static_cast<std::size_t>(p.length() > 0 ? p.length() : max_length);
}

std::vector<std::uint64_t> parse_operands(std::string_view text, format f,
                                          std::string_view what) {
  // TF32 operands are given as FP32 bits, whose low 13 are ignored.
  const bool tf32_operand = f == tf32;
  const int bits = tf32_operand ? 32 : f.bits();
  const auto width = static_cast<std::size_t>((bits + 3) / 4);
  if (text.empty() || text.size() % width != 0) {
    throw input_error(
        fmt::format("{} has {} hexadecimal digits: {} needs {} an operand",
                    what, text.size(), name_of(f), width));
  }
  std::vector<std::uint64_t> codes;
  for (std::size_t i = 0; i < text.size(); i += width) {
    const auto digits = text.substr(i, width);
    if (digits.find_first_not_of("0123456789abcdefABCDEF") !=
        std::string_view::npos) {
      throw input_error(fmt::format("{}, operand {}: '{}' is not hexadecimal",
                                    what, codes.size(), digits));
    }
    const auto code = parse_code(digits, bits, what);
    codes.push_back(tf32_operand ? code >> 13 : code);
  }
  return codes;
}

void add_step(cli::app& app, outcome&) {
  auto* sub = add_command(
      app, "step", "One tensor-core step, with the alignment of each term",
      "zeroulp step hopper.wgmma.e4m3.e4m3.f32 --a 7e38 --b 7e01 --c 3f800000");
  auto q = std::make_shared<step_request>();
  sub->add_option("PATH", q->path, "see zeroulp paths")->required();
  sub->add_option("--a", q->a, "operands, hexadecimal, k ascending")
      ->required();
  sub->add_option("--b", q->b, "operands, hexadecimal, k ascending")
      ->required();
  sub->add_option("--c", q->c, "the accumulator, hexadecimal; +0 if absent");
  sub->add_option(
      "--scale-a", q->scales_a,
      "of a path with block scales: bytes, hexadecimal, one a block");
  sub->add_option("--scale-b", q->scales_b, "the same of b")
      ->needs(sub->get_option("--scale-a"));
  sub->get_option("--scale-a")->needs(sub->get_option("--scale-b"));
  sub->add_flag("--json", q->as_json);
  sub->callback([q] { run_step(*q); });
}

}  // namespace zeroulp::program
