// What is common to all questions.

#include "tools/study/error/questions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "tools/study/error/choices.hpp"
#include "tools/study/error/matrix.hpp"
#include "tools/study/error/shapes.hpp"
#include "zeroulp/io.hpp"

namespace zeroulp::study {
namespace {

std::optional<double> number_in(const std::string& text) {
  double value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return value;
}

void add_once(std::vector<std::string>& all, const std::string& text) {
  if (std::find(all.begin(), all.end(), text) == all.end()) all.push_back(text);
}

/// frobenius of total.frobenius where all metrics are of one part.
std::string short_name(const question& q, const std::string& metric) {
  const auto part = [](const std::string& m) {
    return m.substr(0, m.find('.'));
  };
  for (const auto& m : q.metrics) {
    if (part(m) != part(metric) || m.find('.') == std::string::npos) {
      return metric;
    }
  }
  return metric.substr(metric.find('.') + 1);
}

struct word {
  std::string_view name;
  const char* words;
};

/// What axes of figures are called; a name without words is as it is.
constexpr word axis_words[] = {
    {"k", "K, terms of each sum"},
    {"interval", "promotion interval, elements of K"},
    {"frobenius", "norm over norm"},
    {"max_over_mean", "largest over mean"},
    {"max_over_rms", "largest over root mean square"},
    {"max_over_max", "largest over largest"},
    {"mean_relative", "mean relative"},
    {"one_minus_cosine", "1 - cosine"},
    {"saturated", "elements beyond the largest code"},
    {"zeroed", "elements lost to zero"},
    {"changed", "elements changed"},
};

std::string in_words(std::string_view name) {
  for (const auto& w : axis_words) {
    if (w.name == name) return w.words;
  }
  return std::string(name);
}

/// "error of accumulation: norm over norm and bias, %", of what is drawn.
std::string label_of(const question& q) {
  std::string part, measures;
  for (std::size_t i = 0; i < q.drawn; ++i) {
    const std::string_view metric = q.metrics[i];
    const auto dot = metric.find('.');
    const bool has_part = dot != metric.npos;
    if (has_part) part = metric.substr(0, dot);
    measures += i == 0 ? "" : " and ";
    measures += in_words(has_part ? metric.substr(dot + 1) : metric);
  }
  return (part.empty() ? "" : "error of " + part + ": ") + measures + ", %";
}

}  // namespace

axis over(const std::string& field, std::string_view values) {
  axis all{field, {}};
  for (const auto& value : split(values, ',')) {
    all.arms.push_back({value, field + "=" + value});
  }
  return all;
}

double answer::at(std::string_view row, std::string_view series,
                  std::string_view metric) const {
  for (const auto& c : cells) {
    if (c.row == row && c.series == series && c.given) {
      return find_metric(metric).of(*c.given);
    }
  }
  return std::numeric_limits<double>::quiet_NaN();
}

std::vector<std::string> answer::rows() const {
  std::vector<std::string> all;
  for (const auto& c : cells) add_once(all, c.row);
  return all;
}

std::vector<std::string> answer::series() const {
  std::vector<std::string> all;
  for (const auto& c : cells) add_once(all, c.series);
  return all;
}

const question& find_question(std::string_view name) {
  return find_named(questions(), "question", name);
}

const preset& find_preset(std::string_view name) {
  return find_named(presets, "preset", name);
}

namespace {

/// What settings such as "k=64 m=8" set; a matrix decides the sizes.
std::vector<std::string> fields_in(const std::string& settings) {
  std::vector<std::string> names;
  for (const auto& one : split(settings, ' ')) {
    const auto equals = one.find('=');
    names.push_back(one.substr(0, equals));
    if (equals == std::string::npos) continue;
    if (!names_matrix(std::string_view(one).substr(equals + 1))) continue;
    names.insert(names.end(), {"shape", "m", "n", "k"});
  }
  return names;
}

/// True iff both are one field, or one is that of both operands.
bool overlap(std::string_view a, std::string_view b) {
  const auto both = [](std::string_view x) {
    return x.size() > 2 && x[1] == '.' ? x.substr(2) : x;
  };
  return a == b || both(a) == b || a == both(b);
}

/// Throws input_error if settings change what tells the cells of a question
/// apart.
void keep_axes(const question& q, std::string_view settings) {
  const auto wanted = fields_in(std::string(settings));
  for (const axis* x : {&q.rows, &q.series}) {
    for (const auto& a : x->arms) {
      for (const auto& name : fields_in(a.settings)) {
        if (std::none_of(wanted.begin(), wanted.end(),
                         [&](const auto& w) { return overlap(w, name); })) {
          continue;
        }
        throw input_error(fmt::format(
            "--with {}: question {} decides it cell by cell; name it in "
            "--cells",
            name, q.name));
      }
    }
  }
}

/// All outputs of the cell's shape, but for the sizes that were named.
void take_outputs(cell& c, const std::vector<std::string>& named) {
  const auto m = c.m, n = c.n;
  take_all_outputs(c);
  for (const auto& name : named) {
    if (name == "m") c.m = m;
    if (name == "n") c.n = n;
  }
}

}  // namespace

std::vector<answer_cell> cells_of(const question& q, const preset& p,
                                  std::string_view settings) {
  if (!settings.empty()) keep_axes(q, settings);
  std::vector<answer_cell> all;
  const std::vector<arm> one{{"", ""}};
  for (const auto& row : q.rows.arms) {
    for (const auto& s : q.series.arms.empty() ? one : q.series.arms) {
      answer_cell x{row.label, s.label, {}, {}, {}};
      for (const std::string_view text :
           {std::string_view(p.settings), std::string_view(q.base),
            std::string_view(row.settings), std::string_view(s.settings)}) {
        set(x.value, text);
      }
      if (p.on_gpu) {
        take_outputs(x.value, fields_in(row.settings + " " + s.settings));
      }
      set(x.value, settings);
      if (x.value.k > p.most_k) continue;
      x.impossible = impossible(x.value);
      all.push_back(std::move(x));
    }
  }
  if (all.empty()) {
    throw input_error(fmt::format("question {}: preset {} has k up to {}",
                                  q.name, p.name, p.most_k));
  }
  return all;
}

std::optional<verdict> same_bits(const std::vector<const answer*>& all) {
  std::size_t cells = 0, parts = 0, differing = 0;
  double outputs = 0;
  std::string first;
  for (const auto* a : all) {
    for (const auto& c : a->cells) {
      if (!c.given || c.given->both.compared == 0) continue;
      const agreement& x = c.given->both;
      ++cells;
      outputs += static_cast<double>(x.compared);
      if (x.compared < c.value.m * c.value.n) ++parts;
      if (x.differing == 0) continue;
      if (differing++ > 0) continue;
      first = fmt::format("{} of {} outputs of the first, {}, {}: {}",
                          x.differing, x.compared, c.row, c.series, x.first);
    }
  }
  if (cells == 0) return {};
  if (differing > 0) {
    return verdict{
        false, fmt::format("Of {} cells computed by the GPU and by the CPU {} "
                           "differ; {}.",
                           cells, differing, first)};
  }
  return verdict{
      true,
      fmt::format("{} cells were computed by the GPU and by the CPU, and the "
                  "bits are the same: {:.4g} outputs, all of {} cells and the "
                  "first of {}.",
                  cells, outputs, cells - parts, parts)};
}

verdict judge(const question& q, const answer& a) {
  const bool whole =
      !a.cells.empty() &&
      std::all_of(a.cells.begin(), a.cells.end(), [](const answer_cell& c) {
        return c.given.has_value() != c.impossible.has_value();
      });
  if (!whole) return {false, "Not every cell was run."};
  return q.judge(a);
}

std::string percent(double fraction) {
  if (std::isnan(fraction)) return "-";
  return fmt::format("{:.4g}", 100 * fraction);
}

table to_table(const question& q, const answer& a, const std::string& metric) {
  table t{{q.rows.name}, {}};
  for (const auto& s : a.series()) t.columns.push_back(s.empty() ? metric : s);
  for (const auto& row : a.rows()) {
    std::vector<std::string> line{row};
    for (const auto& s : a.series()) {
      std::string text = "-";
      for (const auto& c : a.cells) {
        if (c.row != row || c.series != s) continue;
        if (c.impossible) text = "impossible";
        if (c.given) text = percent(find_metric(metric).of(*c.given));
      }
      line.push_back(text);
    }
    t.rows.push_back(line);
  }
  return t;
}

plot to_plot(const question& q, const answer& a) {
  plot p;
  p.title = q.asks;
  p.x_label = in_words(q.rows.name);
  p.y_label = label_of(q);
  p.log_x = true;
  const auto rows = a.rows();
  for (const auto& row : rows) {
    const auto x = number_in(row);
    if (!x || *x <= 0) p.kind = plot_kind::bars;
    if (x) p.x_ticks.push_back(*x);
  }
  if (p.kind == plot_kind::bars) p.categories = rows;
  if (!p.x_ticks.empty() && p.x_ticks.back() < 64 * p.x_ticks.front() / 8) {
    p.log_x = false;
    p.x_ticks.clear();
  }
  for (const auto& s : a.series()) {
    for (std::size_t i = 0; i < q.drawn; ++i) {
      const auto name = in_words(short_name(q, q.metrics[i]));
      series curve{q.drawn == 1 ? s.empty() ? name : s
                   : s.empty()  ? name
                                : s + ": " + name,
                   {}};
      for (std::size_t r = 0; r < rows.size(); ++r) {
        curve.points.emplace_back(
            number_in(rows[r]).value_or(static_cast<double>(r)),
            100 * std::fabs(a.at(rows[r], s, q.metrics[i])));
      }
      p.curves.push_back(std::move(curve));
    }
  }
  double least = HUGE_VAL, most = 0;
  for (const auto& curve : p.curves) {
    for (const auto& [x, y] : curve.points) {
      if (y > 0) least = std::min(least, y);
      if (y > 0) most = std::max(most, y);
    }
  }
  p.log_y = most > 20 * least;
  return p;
}

}  // namespace zeroulp::study
