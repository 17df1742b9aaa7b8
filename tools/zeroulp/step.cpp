// step: one tensor-core step with the alignment of each term, for a person.

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "tools/zeroulp/operands.hpp"
#include "tools/zeroulp/program.hpp"

namespace zeroulp::program {
namespace {

struct step_request {
  std::string path;
  std::string a;
  std::string b;
  std::string c;
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
                              const std::vector<unpacked>& b, const unpacked& c,
                              int& largest) {
  std::vector<std::pair<std::string, detail::term>> terms;
  const int point = p.a.man_bits + p.b.man_bits;
  for (std::size_t k = 0; k < a.size(); ++k) {
    if (!a[k].is_zero() && !b[k].is_zero()) {
      terms.emplace_back(fmt::format("a[{0}]*b[{0}]", k),
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

void run_step(const step_request& q) {
  const auto named = parse_path(q.path);
  const path& p = named.value;
  const auto a = parse_operands(q.a, p.a, "--a");
  const auto b = parse_operands(q.b, p.b, "--b");
  if (a.size() != b.size()) {
    throw input_error(fmt::format("--a has {} operands, --b {}: give as many",
                                  a.size(), b.size()));
  }
  if (a.size() > most_operands(p)) {
    throw input_error(
        fmt::format("--a has {} operands: a step of {} takes at most {}",
                    a.size(), named.name, most_operands(p)));
  }
  const auto c_code =
      q.c.empty() ? 0 : parse_code(q.c, p.acc.stored.bits(), "--c");
  std::vector<unpacked> x;
  std::vector<unpacked> y;
  for (const auto code : a) x.push_back(decode(p.a, code));
  for (const auto code : b) y.push_back(decode(p.b, code));
  const auto d =
      step(p, x.data(), y.data(), static_cast<int>(x.size()), c_code);
  const unpacked c = decode(p.acc.stored, c_code);

  const auto specials =
      detail::find_specials(x.data(), y.data(), static_cast<int>(x.size()), c);
  int largest = no_floor;
  std::vector<term_row> rows;
  const bool explained = p.lowering == lowering::direct &&
                         p.acc.fraction_bits != uncut && !specials.any();
  if (explained) rows = explain(p, x, y, c, largest);
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
    json result{{"path", named.name},
                {"d", to_hex(d, bits)},
                {"value", to_decimal(decode(p.acc.stored, d))}};
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
    print(to_text(t));
    print(fmt::format("largest place {}: terms are cut to multiples of 2^{}\n",
                      largest, largest - p.acc.fraction_bits));
  } else if (specials.any()) {
    print("a term is NaN or infinite: nothing is aligned\n");
  } else if (!explained) {
    print("this path does not align in one step: only the result is shown\n");
  }
  print(fmt::format("D = {}\n", describe(p.acc.stored, d)));
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

void add_step(CLI::App& app, outcome&) {
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
  sub->add_flag("--json", q->as_json);
  sub->callback([q] { run_step(*q); });
}

}  // namespace zeroulp::program
