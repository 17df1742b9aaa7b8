// Compares, looks for patterns, and holds suspects against the given result.

#include "fuzz/explain/explain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "fuzz/cases/run_buffer.hpp"
#include "fuzz/engine/opponent.hpp"
#include "fuzz/explain/likely.hpp"
#include "zeroulp/core/convert.hpp"
#include "zeroulp/io.hpp"
#include "zeroulp/names.hpp"

namespace zeroulp::fuzz {
namespace {

/// The given outputs in the order of the claimed ones; without words where none
/// was given.
outputs in_order(const problem& p, const outputs& claimed,
                 const outputs& given) {
  outputs all;
  for (const matrix& x : claimed) all.emplace_back(x.name, x.type, 0, 0);
  for (const matrix& x : given) {
    const auto at = std::find_if(
        claimed.begin(), claimed.end(),
        [&x](const matrix& y) { return std::string_view(x.name) == y.name; });
    if (at == claimed.end()) {
      throw input_error(
          fmt::format("{} has no output '{}'", info_of(p.what).name, x.name));
    }
    if (x.rows != at->rows || x.cols != at->cols) {
      throw input_error(fmt::format("{}: {} x {} were given, {} makes {} x {}",
                                    x.name, x.rows, x.cols,
                                    info_of(p.what).name, at->rows, at->cols));
    }
    matrix& mine = all[static_cast<std::size_t>(at - claimed.begin())];
    mine.rows = x.rows;
    mine.cols = x.cols;
    mine.words = x.words;
  }
  if (given.empty()) throw input_error("no output was given");
  return all;
}

double number(format f, std::uint64_t code) {
  return f == integer ? static_cast<double>(code) : to_double(decode(f, code));
}

output_difference compare(const matrix& claimed, const matrix& given,
                          const kind_set& ignored) {
  output_difference d;
  d.name = claimed.name;
  d.type = claimed.type;
  d.rows = claimed.rows;
  d.cols = claimed.cols;
  const code_order order = order_for(claimed.type);
  std::vector<bool> hit(claimed.words.size());
  std::vector<bool> row(static_cast<std::size_t>(d.rows));
  std::vector<bool> col(static_cast<std::size_t>(d.cols));
  std::vector<double> x, y, e;
  x.reserve(hit.size());
  y.reserve(hit.size());
  e.reserve(hit.size());
  for (std::size_t i = 0; i < hit.size(); ++i) {
    const auto a = claimed.words[i];
    const auto b = given.words[i];
    const auto kind = kind_of(claimed.type, a, b);
    if (kind) ++at(d.kinds, *kind);
    const bool counts = kind && !contains(ignored, *kind);
    d.ulps.add(a, counts ? b : a, order);
    x.push_back(number(claimed.type, a));
    y.push_back(number(claimed.type, b));
    e.push_back(y.back() - x.back());
    if (!counts) continue;
    hit[i] = true;
    const auto flat = static_cast<std::ptrdiff_t>(i);
    row[static_cast<std::size_t>(flat / d.cols)] = true;
    col[static_cast<std::size_t>(flat % d.cols)] = true;
    if (!d.first) {
      d.first = difference{d.name, flat / d.cols, flat % d.cols, d.type, a, b};
    }
  }
  d.rows_hit = std::count(row.begin(), row.end(), true);
  d.cols_hit = std::count(col.begin(), col.end(), true);
  d.patterns = patterns_of(hit, d.rows, d.cols);
  error_accumulator errors;
  errors.add(y, x, e);
  d.error = errors.result();
  return d;
}

/// What given words have in common where they differ: a factor, or one word.
void add_values(const matrix& claimed, const matrix& given,
                output_difference& d) {
  if (d.different() < 4 || claimed.type == integer) return;
  std::optional<std::uint64_t> word;
  std::optional<double> factor;
  bool one_word = true, one_factor = true;
  for (std::size_t i = 0; i < claimed.words.size(); ++i) {
    if (claimed.words[i] == given.words[i]) continue;
    if (!word) word = given.words[i];
    one_word = one_word && *word == given.words[i];
    const double x = number(claimed.type, claimed.words[i]);
    const double y = number(claimed.type, given.words[i]);
    if (!factor) factor = y / x;
    one_factor = one_factor && y / x == *factor;
  }
  if (one_word) {
    d.patterns.push_back(
        fmt::format("all of these are {}", value_text(claimed.type, *word)));
  } else if (one_factor && std::isfinite(*factor)) {
    d.patterns.push_back(
        fmt::format("all of these are the claimed ones times {}", *factor));
  }
}

/// "x = 0.125 (0 01111100 0000000), scale = ..., x / scale = ..., 0.01 ulp from
/// the tie": of the first code that differs.
std::string element_text(const problem& p, const outputs& claimed,
                         const difference& first) {
  const settings& s = p.with;
  const matrix& x = p.in[0];
  const auto code = x(first.row, first.col);
  const auto scale = claimed[0](first.row / s.group.height(x.rows),
                                first.col / s.group.width(x.cols));
  const double value = number(s.from, code);
  const double by = number(fp32, scale);
  std::string text = fmt::format("x = {}, scale = {}", value_text(s.from, code),
                                 value_text(fp32, scale));
  const double quotient = value / by;
  if (!std::isfinite(quotient)) return text;
  text += fmt::format(", x / scale = {:.9g}", quotient);
  // The code toward zero and the next one up.
  const auto toward =
      encode(s.to, decode(quotient), {rounding::toward_zero}, ocp_saturate) &
      s.to.magnitude_mask();
  const double low = number(s.to, toward);
  const double high = number(s.to, toward + 1);
  if (toward >= s.to.max_code() || !std::isfinite(high)) {
    return text + ", beyond the largest number";
  }
  const double tie = (low + high) / 2;
  return text + fmt::format(", {:.3g} ulp from the tie {}",
                            std::abs(std::abs(quotient) - tie) / (high - low),
                            tie);
}

}  // namespace

bool explanation::same() const {
  return std::all_of(
      outputs.begin(), outputs.end(),
      [](const output_difference& d) { return d.different() == 0; });
}

bool likely_cause::has(std::string_view cause) const {
  return name == cause ||
         std::any_of(same.begin(), same.end(),
                     [cause](const tied_cause& c) { return c.name == cause; });
}

std::string value_text(format f, std::uint64_t code) {
  if (f == integer) return fmt::format("{:#x}", code);
  const unpacked x = decode(f, code);
  // The shortest text that only this code has: FP32's is that of any narrower.
  std::string text = f.bits() > 32 ? fmt::format("{}", to_double(x))
                                   : fmt::format("{}", to_float(x));
  const auto field = [code](int low, int bits) {
    return bits == 0
               ? std::string()
               : fmt::format("{:0{}b}", code >> low & low_bits(bits), bits);
  };
  std::string bits = field(f.man_bits, f.exp_bits);
  if (f.man_bits > 0) bits += "|" + field(0, f.man_bits);
  if (f.sign_mask() != 0) {
    bits = field(f.exp_bits + f.man_bits, 1) + "|" + bits;
  }
  return fmt::format("{} ({})", text, bits);
}

matrix codes_by_scales(const problem& p, const matrix& scales) {
  const settings& s = p.with;
  const quantizer q{s.from, s.to, s.how.value, s.scale, s.group};
  const matrix& x = p.in[0];
  const buffer in(placement::dense, x);
  const buffer by(placement::dense, scales);
  buffer codes(placement::dense, x.rows, x.cols);
  conformance::engine_implementation().quantize_by_scale(
      q, in.input(), by.input(), codes.view());
  return codes.read("codes", s.to);
}

matrix transposed(const matrix& x) {
  matrix y(x.name, x.type, x.cols, x.rows);
  for (std::ptrdiff_t i = 0; i < x.rows; ++i) {
    for (std::ptrdiff_t j = 0; j < x.cols; ++j) y(j, i) = x(i, j);
  }
  return y;
}

outputs claimed_outputs(const problem& p) {
  return run(opponent_of(conformance::engine_implementation()), p);
}

explanation explain(const problem& p, const outputs& given,
                    const explain_options& how) {
  const auto fault = refuse_operands(p);
  if (!fault.empty()) throw input_error(fault);
  const auto why = info_of(p.what).refuse(p.with);
  if (!why.empty()) throw input_error(why);
  question q{p, claimed_outputs(p), {}};
  q.given = in_order(p, q.claimed, given);

  explanation found;
  for (std::size_t n = 0; n < q.given.size(); ++n) {
    if (q.given[n].words.empty()) continue;
    auto d = compare(q.claimed[n], q.given[n], how.ignored);
    add_values(q.claimed[n], q.given[n], d);
    found.outputs.push_back(std::move(d));
  }
  if (found.same()) return found;
  if (p.what == target::quantize) {
    const matrix& scales = q.given[0];
    const matrix& codes = q.given[1];
    if (!codes.words.empty() && !scales.words.empty() &&
        !(scales == q.claimed[0])) {
      const matrix by = codes_by_scales(p, scales);
      found.wrong_by_given_scales = 0;
      for (std::size_t i = 0; i < by.words.size(); ++i) {
        if (differs(by.type, by.words[i], codes.words[i], how.ignored)) {
          ++*found.wrong_by_given_scales;
        }
      }
    }
    for (const auto& d : found.outputs) {
      if (d.name == "codes" && d.first) {
        found.element = element_text(p, q.claimed, *d.first);
      }
    }
  }
  if (how.causes) find_likely(q, how, found);
  return found;
}

}  // namespace zeroulp::fuzz
