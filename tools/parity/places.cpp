// Rules of places, and where an output is not as claimed.

#include "tools/parity/places.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "fuzz/explain/window.hpp"
#include "tools/parity/numbers.hpp"
#include "zeroulp/io.hpp"

namespace zeroulp::parity {
namespace {

const matrix* output_named(const outputs& all, std::string_view name) {
  for (const matrix& x : all) {
    if (x.name == name) return &x;
  }
  return nullptr;
}

bool is_one_value(const matrix& x) {
  return x.words.size() > 1 &&
         std::all_of(x.words.begin(), x.words.end(),
                     [&](auto word) { return word == x.words[0]; });
}

std::string number_text(format f, std::uint64_t word) {
  if (f == fuzz::integer || f == fuzz::row_word) return std::to_string(word);
  return fmt::format("{}", to_double(decode(f, word)));
}

std::uint64_t one_of_type(format f) { return recode(fp32, fp32_one, f); }

/// A place of an output or operand; rows are those of the whole pass.
struct place {
  std::uint64_t row;
  std::ptrdiff_t col;
};

/// The rows of a matrix before those of the problem: m's groups.
std::uint64_t rows_before(const problem& p, const matrix& x) {
  const auto m = length_of(p, 'm');
  if (x.rows == 0 || m == 0) return 0;
  const auto group = static_cast<std::uint64_t>((m + x.rows - 1) / x.rows);
  return p.first_row / group;
}

void set_places(const problem& p, const std::vector<place>& places, matrix& x) {
  const std::uint64_t before = rows_before(p, x);
  for (const place& at : places) {
    const auto row = static_cast<std::ptrdiff_t>(at.row - before);
    if (at.row < before || row >= x.rows || at.col >= x.cols) continue;
    x(row, at.col) = one_of_type(x.type);
  }
}

std::string places_text(const std::vector<place>& places) {
  const std::string first =
      fmt::format("({}, {})", places[0].row, places[0].col);
  if (places.size() == 1) return fmt::format("scale {} is 1", first);
  return fmt::format("{} scales are 1, the first {}", places.size(), first);
}

void add_lost_in_quantizer(const question& q, std::vector<rule>& all) {
  const matrix* const made = output_named(q.made, "scales");
  const matrix* const claimed = output_named(q.claimed, "scales");
  if (made == nullptr || claimed == nullptr ||
      made->words.size() != claimed->words.size()) {
    return;
  }
  std::vector<place> lost;
  const std::uint64_t one = one_of_type(made->type);
  for (std::size_t i = 0; i < made->words.size(); ++i) {
    if (made->words[i] == claimed->words[i]) continue;
    if (made->words[i] != one) return;
    const auto cols = static_cast<std::size_t>(made->cols);
    lost.push_back({rows_before(q.p, *made) + i / cols,
                    static_cast<std::ptrdiff_t>(i % cols)});
  }
  if (lost.empty()) return;
  const auto name = places_text(lost);
  const auto answer = [lost](const problem& p, bool codes_too) {
    outputs out = claimed_outputs(p);
    const matrix* scales = nullptr;
    for (matrix& x : out) {
      if (x.name != std::string_view("scales")) continue;
      set_places(p, lost, x);
      scales = &x;
    }
    for (matrix& x : out) {
      if (!codes_too || x.name != std::string_view("codes")) continue;
      x = fuzz::codes_by_scales(p, *scales);
    }
    return out;
  };
  all.push_back(variant(name, "the codes have the claimed scales: " + name,
                        [answer](const auto& p) { return answer(p, false); }));
  all.push_back(variant(name + ", codes too",
                        "scales were lost before codes were made: " + name,
                        [answer](const auto& p) { return answer(p, true); }));
}

/// [first, end) of rows and columns that hold all that is not as claimed.
struct box {
  std::ptrdiff_t row = 0, row_end = 0, col = 0, col_end = 0;
};

std::optional<box> box_of(const matrix& claimed, const matrix& made) {
  std::optional<box> b;
  for (std::ptrdiff_t i = 0; i < made.rows; ++i) {
    for (std::ptrdiff_t j = 0; j < made.cols; ++j) {
      if (made(i, j) == claimed(i, j)) continue;
      if (!b) b = box{i, i + 1, j, j + 1};
      b->row_end = i + 1;
      b->col = std::min(b->col, j);
      b->col_end = std::max(b->col_end, j + 1);
    }
  }
  return b;
}

/// The problem and outputs of a few elements of D.
question cut(const question& q, const fuzz::window& w) {
  question part{q.p, fuzz::part_of(q.p, q.claimed, w), {}};
  static_cast<fuzz::problem&>(part.p) = fuzz::part_of(q.p, w);
  outputs in_order;
  for (const matrix& x : q.claimed) {
    const matrix* const made = output_named(q.made, x.name);
    in_order.push_back(made != nullptr ? *made : matrix(x.name, x.type, 0, 0));
  }
  for (matrix& x : fuzz::part_of(q.p, in_order, w)) {
    if (!x.words.empty()) part.made.push_back(std::move(x));
  }
  return part;
}

/// An operand of scales of a GEMM whose groups along m or n have one scale.
void add_lost_in_gemm(const question& q, const char* operand,
                      std::vector<rule>& all) {
  const matrix* const made = output_named(q.made, "d");
  const matrix* const claimed = output_named(q.claimed, "d");
  const auto at = std::find_if(
      q.p.in.begin(), q.p.in.end(),
      [&](const matrix& x) { return x.name == std::string_view(operand); });
  if (made == nullptr || claimed == nullptr || at == q.p.in.end() ||
      at->words.empty()) {
    return;
  }
  const auto b = box_of(*claimed, *made);
  if (!b) return;
  const auto index = static_cast<std::size_t>(at - q.p.in.begin());
  const bool of_rows = operand[0] == 'a';
  const auto first = of_rows ? b->row : b->col;
  const auto last = (of_rows ? b->row_end : b->col_end) - 1;
  const auto length = of_rows ? made->rows : made->cols;
  const auto group = (length + at->rows - 1) / at->rows;
  if (first / group != last / group) return;
  const auto group_at = first / group;
  const auto group_length = std::min(group, length - group_at * group);
  constexpr std::ptrdiff_t few = 16;
  const fuzz::window w =
      of_rows ? fuzz::window{{group_at * group, group_length},
                             {b->col, std::min(few, made->cols - b->col)}}
              : fuzz::window{{b->row, std::min(few, made->rows - b->row)},
                             {group_at * group, group_length}};
  const question part = cut(q, w);
  for (std::ptrdiff_t tile = 0; tile < at->cols; ++tile) {
    problem p = part.p;
    matrix& scales = p.in[index];
    if (scales(0, tile) == one_of_type(scales.type)) continue;
    scales(0, tile) = one_of_type(scales.type);
    if (!gives(claimed_outputs(p), part.made)) continue;
    const std::uint64_t before = of_rows ? rows_before(q.p, *at) : 0;
    const place lost{before + static_cast<std::uint64_t>(group_at), tile};
    all.push_back(
        variant(fmt::format("{}({}, {}) is 1", operand, lost.row, lost.col),
                fmt::format("D is made without {}({}, {}), which the dump has",
                            operand, lost.row, lost.col),
                [index, lost, of_rows](problem r) {
                  matrix& x = r.in[index];
                  if (of_rows) {
                    set_places(r, {lost}, x);
                  } else {
                    x(static_cast<std::ptrdiff_t>(lost.row), lost.col) =
                        one_of_type(x.type);
                  }
                  return claimed_outputs(r);
                }));
  }
}

std::string first_text(const matrix& made, const matrix& claimed,
                       std::uint64_t before, const char* who) {
  for (std::ptrdiff_t i = 0; i < made.rows; ++i) {
    for (std::ptrdiff_t j = 0; j < made.cols; ++j) {
      if (made(i, j) == claimed(i, j)) continue;
      return fmt::format("{}({}, {}) is {}, {} {}", made.name,
                         before + static_cast<std::uint64_t>(i), j,
                         number_text(made.type, made(i, j)), who,
                         number_text(claimed.type, claimed(i, j)));
    }
  }
  return "";
}

/// What all elements that are not as claimed have in common.
std::vector<std::string> patterns_of(const matrix& made, const matrix& claimed,
                                     std::uint64_t before) {
  constexpr std::uint64_t most = std::uint64_t{1} << 28;
  const auto cols = static_cast<std::uint64_t>(made.cols);
  const bool fits =
      (before + static_cast<std::uint64_t>(made.rows)) * cols < most;
  const std::uint64_t rows = fits ? before : 0;
  std::vector<bool> hit(rows * cols);
  bool all_zero = true;
  for (std::size_t i = 0; i < made.words.size(); ++i) {
    const bool differs = made.words[i] != claimed.words[i];
    hit.push_back(differs);
    all_zero = all_zero && (!differs || made.words[i] == 0);
  }
  auto found = fuzz::patterns_of(
      hit, static_cast<std::ptrdiff_t>(rows) + made.rows, made.cols);
  // Rows that were not looked at may follow.
  for (std::string& pattern : found) {
    const auto last = pattern.find(", the last");
    if (pattern.starts_with("only rows") && last != std::string::npos) {
      pattern.resize(last);
    }
  }
  if (all_zero) found.emplace_back("each is 0");
  return found;
}

}  // namespace

std::vector<rule> rules_of_one_value(const question& q) {
  std::vector<std::pair<std::string, std::uint64_t>> fixed;
  std::string name;
  for (const matrix& x : q.made) {
    const matrix* const claimed = output_named(q.claimed, x.name);
    if (claimed == nullptr || !is_one_value(x) || is_one_value(*claimed)) {
      continue;
    }
    fixed.emplace_back(x.name, x.words[0]);
    name += fmt::format("{}{} all {}", name.empty() ? "" : ", ", x.name,
                        number_text(x.type, x.words[0]));
  }
  if (fixed.empty()) return {};
  return {variant(name, "every element is the same: nothing else wrote them",
                  [fixed](const problem& p) {
                    outputs all = claimed_outputs(p);
                    for (matrix& x : all) {
                      for (const auto& [output, word] : fixed) {
                        if (output != x.name) continue;
                        std::fill(x.words.begin(), x.words.end(), word);
                      }
                    }
                    return all;
                  })};
}

std::vector<rule> rules_of_lost_scales(const question& q) {
  std::vector<rule> all;
  if (q.p.is->of == fuzz::target::quantize) add_lost_in_quantizer(q, all);
  if (q.p.is->of == fuzz::target::gemm) {
    add_lost_in_gemm(q, "a_scales", all);
    add_lost_in_gemm(q, "b_scales", all);
  }
  return all;
}

std::vector<rule> rules_of_unrounded(const question& q) {
  const std::pair<const char*, const char*> kernels[] = {
      {"", "the operator before makes it: one kernel does both"},
      {", nor what it is made of",
       "the two operators before make it: one kernel does all three"}};
  std::vector<rule> all;
  int back = 0;
  for (const auto& [also, who] : kernels) {
    ++back;
    for (const followed_setting& f : q.p.is->follows) {
      problem p = q.p;
      if (!read_unrounded(p, f.setting, back)) continue;
      all.push_back(
          variant(fmt::format("{} not rounded{}", f.tensor_of, also),
                  fmt::format("{} is read in FP32, as {}", f.tensor_of, who),
                  [back, setting = f.setting](problem r) {
                    if (!read_unrounded(r, setting, back)) {
                      throw input_error("nothing makes this operand");
                    }
                    return claimed_outputs(r);
                  }));
    }
  }
  return all;
}

std::vector<std::string> places_of(const outputs& all_made,
                                   const outputs& all_said, const problem& p,
                                   const char* who) {
  for (const matrix& made : all_made) {
    const matrix* const said = output_named(all_said, made.name);
    if (said == nullptr || said->words == made.words ||
        said->rows != made.rows || said->cols != made.cols) {
      continue;
    }
    const std::uint64_t before = rows_before(p, made);
    std::vector<std::string> all{first_text(made, *said, before, who)};
    for (std::string& pattern : patterns_of(made, *said, before)) {
      all.push_back(std::move(pattern));
    }
    return all;
  }
  return {};
}

}  // namespace zeroulp::parity
