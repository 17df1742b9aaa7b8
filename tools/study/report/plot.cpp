// Plots: a gnuplot script on its standard input, an SVG from its output.

#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "tools/study/report/report.hpp"

namespace zeroulp {
namespace {

// Of middle lightness, so that each is told apart on white and on black, and by
// readers who do not see red and green; the markers differ as well.
constexpr std::array<std::string_view, 7> colours = {
    "#2f7ed8", "#e0641a", "#1a9e77", "#c3559c",
    "#b98a00", "#4fa9c9", "#808080"};
constexpr std::array<int, 6> markers = {7, 5, 9, 13, 11, 15};

void replace(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos;
       at += to.size()) {
    text.replace(at, from.size(), to);
  }
}

// A gnuplot string in which nothing can be expanded, executed or closed early:
// ASCII other than letters and digits is written in octal, and so is a digit
// after that, which gnuplot would take for a part of it.
std::string quoted(std::string_view text) {
  std::string result = "\"";
  bool octal = false;
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    const bool digit = c >= '0' && c <= '9';
    octal = digit ? octal : code < 0x80 && std::isalpha(code) == 0;
    if (!octal) {
      result += c;
    } else {
      result += fmt::format("\\{:03o}", code < 0x20 ? 0x20U : unsigned{code});
    }
  }
  return result + "\"";
}

bool shown(double value, bool log) {
  return std::isfinite(value) && (!log || value > 0);
}

bool has_categories(const plot& p) { return p.kind != plot_kind::lines; }

struct point {
  double x, y;
  std::optional<std::pair<double, double>> bar;
};

// The points that can be drawn: x is the category's number for bars and dots.
std::vector<point> visible(const plot& p, const series& s) {
  std::vector<point> result;
  for (std::size_t i = 0; i < s.points.size(); ++i) {
    auto [x, y] = s.points[i];
    if (has_categories(p)) {
      if (i >= p.categories.size()) break;
      x = static_cast<double>(i);
    }
    const bool log_x = p.log_x && !has_categories(p);
    if (!shown(x, log_x) || !shown(y, p.log_y)) continue;
    result.push_back({x, y, {}});
    if (i >= s.bars.size()) continue;
    const auto [low, high] = s.bars[i];
    if (std::isfinite(low) && std::isfinite(high)) {
      result.back().bar = s.bars[i];
    }
  }
  return result;
}

// The least and the largest that is drawn. On a log axis a bar may end at 0 or
// below: the axis begins where the least other end is.
struct range {
  double low = HUGE_VAL, high = -HUGE_VAL;
};
range range_of(const plot& p) {
  range r;
  const auto see = [&](double y) {
    if (!shown(y, p.log_y)) return;
    r.low = std::min(r.low, y);
    r.high = std::max(r.high, y);
  };
  for (const auto& s : p.curves) {
    for (const auto& at : visible(p, s)) {
      see(at.y);
      if (at.bar) see(at.bar->first), see(at.bar->second);
    }
  }
  for (const double y : p.bounds) see(y);
  return r;
}

// An axis that shows all of it.
std::string with_margin(const range& r) {
  const double margin = std::max(0.08 * (r.high - r.low), 1e-12);
  return fmt::format("set yrange [{}:{}]\n", r.low - margin, r.high + margin);
}

// Data of error bars and how to draw them, behind the points themselves.
struct drawn_bars {
  std::string data, draw;
};
drawn_bars error_bars(std::size_t k, const std::vector<point>& points,
                      double least, std::string_view how) {
  drawn_bars made;
  for (const auto& at : points) {
    if (!at.bar) continue;
    made.data += fmt::format("{} {} {} {}\n", at.x, at.y,
                             std::max(at.bar->first, least), at.bar->second);
  }
  if (made.data.empty()) return {};
  made.data = fmt::format("$e{} << EOD\n{}EOD\n", k, made.data);
  made.draw = fmt::format(
      ", $e{} using 1:2:3:4 with yerrorbars {} linewidth 1.2 linecolor rgb "
      "'{}' notitle",
      k, how, colours[k % colours.size()]);
  return made;
}

// Broken lines from side to side.
std::string bounds_script(const plot& p) {
  std::string s;
  for (const double y : p.bounds) {
    if (!shown(y, p.log_y)) continue;
    s += fmt::format(
        "set arrow from graph 0, first {0} to graph 1, first {0} nohead "
        "dashtype 3 linewidth 1 linecolor rgb '#8a8a8a'\n",
        y);
  }
  return s;
}

// True where the categories would run into each other on one line.
bool crowded(const std::vector<std::string>& categories) {
  std::size_t longest = 0;
  for (const auto& c : categories) longest = std::max(longest, c.size());
  return (longest + 2) * categories.size() > 80;
}

std::string preamble(const plot& p) {
  std::string s = fmt::format(
      "set encoding utf8\n"
      "set terminal svg size 760,{} dynamic noenhanced"
      " font 'sans-serif,14' linewidth 1.4\n",
      crowded(p.categories) ? 560 : 460);
  s += "set border 3 linecolor rgb 'black' linewidth 0.7\n"
       "set tics nomirror out scale 0.6\n"
       "set grid back linetype 1 linewidth 0.3 linecolor rgb '#8a8a8a'\n"
       "set key outside below center horizontal Left reverse samplen 2"
       " width 2 height 1\n";
  s += fmt::format("set title {} font 'sans-serif,16'\n", quoted(p.title));
  s += fmt::format("set xlabel {}\nset ylabel {}\n", quoted(p.x_label),
                   quoted(p.y_label));
  if (p.log_y) s += "set logscale y\nset format y '%g'\n";
  if (p.curves.size() < 2) s += "unset key\n";
  return s + "set errorbars 0.8\n" + bounds_script(p);
}

// Whether a reader sees one line for two: most points of `s` lie on `other`.
bool lies_on(const plot& p, const series& s, const series& other) {
  const auto points = visible(p, s);
  std::size_t same = 0;
  const auto others = visible(p, other);
  for (const auto& at : points) {
    for (const auto& is : others) {
      same += at.x == is.x && std::fabs(at.y - is.y) <= 0.02 * std::fabs(at.y);
    }
  }
  return !points.empty() && 2 * same > points.size();
}

// Lines and markers; one point alone is no line. A series on top of others is
// broken and its markers are large and hollow, so that those are seen.
std::string drawn_as(const plot& p, std::size_t k) {
  const int filled = markers[k % markers.size()];
  if (visible(p, p.curves[k]).size() < 2) {
    return fmt::format("points pointtype {} pointsize 1", filled);
  }
  const bool is_on_top = std::any_of(
      p.curves.begin(), p.curves.begin() + static_cast<std::ptrdiff_t>(k),
      [&](const series& other) { return lies_on(p, p.curves[k], other); });
  return is_on_top
             ? fmt::format(
                   "linespoints linetype 1 dashtype 2 linewidth 1.5 pointtype "
                   "{} pointsize 1.4",
                   filled - 1)
             : fmt::format(
                   "linespoints linetype 1 linewidth 1.5 pointtype {} "
                   "pointsize 0.7",
                   filled);
}

std::string lines_script(const plot& p) {
  std::string s, draw;
  if (p.log_x) s += "set logscale x\nset format x '%g'\n";
  if (!p.x_ticks.empty()) {
    s += fmt::format("set xtics ({})\n", fmt::join(p.x_ticks, ", "));
  }
  double low = HUGE_VAL, high = -HUGE_VAL;
  const range y = range_of(p);
  bool has_bars = false;
  for (std::size_t k = 0; k < p.curves.size(); ++k) {
    const auto points = visible(p, p.curves[k]);
    if (points.empty()) continue;
    s += fmt::format("$d{} << EOD\n", k);
    for (const auto& at : points) {
      s += fmt::format("{} {}\n", at.x, at.y);
      low = std::min(low, at.x);
      high = std::max(high, at.x);
    }
    s += "EOD\n";
    draw += fmt::format("{}$d{} using 1:2 with {} linecolor rgb '{}' title {}",
                        draw.empty() ? "plot " : ", ", k, drawn_as(p, k),
                        colours[k % colours.size()], quoted(p.curves[k].name));
    const auto bars = error_bars(
        k, points, p.log_y ? y.low / 1.6 : -HUGE_VAL,
        fmt::format("pointtype {} pointsize 0.7", markers[k % markers.size()]));
    s += bars.data;
    draw += bars.draw;
    has_bars = has_bars || !bars.draw.empty();
  }
  if (draw.empty()) return draw;
  if (p.log_y && has_bars) {
    s += fmt::format("set yrange [{}:{}]\n", y.low / 1.6, y.high * 1.6);
  } else if (!p.log_y && !p.bounds.empty()) {
    s += with_margin(y);
  }
  // gnuplot would extend the axis to the next tick and leave half of it empty.
  const double margin = p.log_x ? std::pow(high / low, 0.04) : high - low;
  if (high > low) {
    s += p.log_x
             ? fmt::format("set xrange [{}:{}]\n", low / margin, high * margin)
             : fmt::format("set xrange [{}:{}]\n", low - 0.04 * margin,
                           high + 0.04 * margin);
  }
  return s + draw + "\n";
}

std::string bars_script(const plot& p) {
  std::string s =
      "set style fill solid 0.9 noborder\nunset grid\n"
      "set grid ytics back linetype 1 linewidth 0.3"
      " linecolor rgb '#8a8a8a'\nset xtics scale 0 ";
  if (crowded(p.categories)) {
    s += "rotate by 30 right font 'sans-serif,11' ";
  }
  s += "(";
  for (std::size_t i = 0; i < p.categories.size(); ++i) {
    std::string label = p.categories[i];
    replace(label, "%", "%%");  // gnuplot takes it for a format
    s += fmt::format("{}{} {}", i == 0 ? "" : ", ", quoted(label), i);
  }
  s += fmt::format(")\nset rmargin 3\nset xrange [-0.6:{}]\n",
                   static_cast<double>(p.categories.size()) - 0.4);
  const double width = 0.8 / static_cast<double>(p.curves.size());
  const range all = range_of(p);
  const bool has_dots = p.log_y || p.kind == plot_kind::dots;
  std::string draw;
  for (std::size_t k = 0; k < p.curves.size(); ++k) {
    auto points = visible(p, p.curves[k]);
    if (points.empty()) continue;
    s += fmt::format("$d{} << EOD\n", k);
    for (auto& at : points) {
      at.x += width * (static_cast<double>(k) + 0.5) - 0.4;
      s += fmt::format("{} {} {}\n", at.x, at.y, width * 0.9);
    }
    s += "EOD\n";
    const auto marker =
        fmt::format("pointtype {} pointsize 0.9", markers[k % markers.size()]);
    draw += draw.empty() ? "plot " : ", ";
    draw += has_dots ? fmt::format("$d{} using 1:2 with points {}", k, marker)
                     : fmt::format("$d{} using 1:2:3 with boxes", k);
    draw += fmt::format(" linecolor rgb '{}' title {}",
                        colours[k % colours.size()], quoted(p.curves[k].name));
    const auto bars = error_bars(k, points, p.log_y ? all.low / 1.6 : -HUGE_VAL,
                                 has_dots ? marker : "pointtype 0");
    s += bars.data;
    draw += bars.draw;
  }
  if (draw.empty()) return draw;
  // Bars stand on zero. A log axis has none: the length of a bar would say
  // nothing there.
  if (p.log_y) {
    s += fmt::format("set yrange [{}:{}]\n", all.low / 1.6, all.high * 1.6);
  } else if (has_dots) {
    s += with_margin(all);
  } else if (all.low >= 0) {
    s += "set yrange [0:*]\n";
  }
  return s + draw + "\n";
}

using file = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

// Runs `program`, no shell, with `input` as its standard input; returns its
// standard output if it exits with 0. Both are files, so that neither side can
// wait for the other.
std::optional<std::string> run(const std::string& program,
                               std::string_view input) {
  const file in(std::tmpfile(), &std::fclose);
  const file out(std::tmpfile(), &std::fclose);
  if (!in || !out) return std::nullopt;
  if (std::fwrite(input.data(), 1, input.size(), in.get()) != input.size() ||
      std::fflush(in.get()) != 0) {
    return std::nullopt;
  }
  std::rewind(in.get());

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, fileno(in.get()), 0);
  posix_spawn_file_actions_adddup2(&actions, fileno(out.get()), 1);
  posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", 1, 0);
  std::string name = program, option = "-d";  // -d: no ~/.gnuplot
  char* const arguments[] = {name.data(), option.data(), nullptr};
  pid_t child = 0;
  const int error = ::posix_spawnp(&child, program.c_str(), &actions, nullptr,
                                   arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return std::nullopt;
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return std::nullopt;
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return std::nullopt;

  std::string result;
  std::array<char, 65536> buffer;
  std::rewind(out.get());
  for (std::size_t n = 0;
       (n = std::fread(buffer.data(), 1, buffer.size(), out.get())) != 0;) {
    result.append(buffer.data(), n);
  }
  return result;
}

void remove_element(std::string& svg, std::string_view open,
                    std::string_view close) {
  const std::size_t from = svg.find(open);
  const std::size_t to = svg.find(close, from);
  if (from != std::string::npos && to != std::string::npos) {
    svg.erase(from, to + close.size() - from);
  }
}

// Lets the page choose what gnuplot calls black. Only inside tags.
std::string adapt(std::string_view svg) {
  std::string result;
  while (!svg.empty()) {
    const std::size_t end = std::min(svg.find('>'), svg.size() - 1) + 1;
    const std::size_t open = std::min(svg.find('<'), end);
    result += svg.substr(0, open);
    std::string tag(svg.substr(open, end - open));
    replace(tag, "rgb(  0,   0,   0)", "currentColor");
    replace(tag, "rgb(0,0,0)", "currentColor");
    replace(tag, " color=\"black\"", "");
    replace(tag, "fill=\"black\"", "fill=\"currentColor\"");
    replace(tag, "fill='black'", "fill='currentColor'");
    replace(tag, "stroke='black'", "stroke='currentColor'");
    replace(tag, "stroke=\"black\"", "stroke=\"currentColor\"");
    result += tag;
    svg.remove_prefix(end);
  }
  return result;
}

}  // namespace

table to_table(const plot& p) {
  table t;
  t.columns.push_back(p.x_label);
  const bool bars = has_categories(p);
  std::map<double, std::size_t> row_of;
  for (std::size_t i = 0; bars && i < p.categories.size(); ++i) {
    t.rows.push_back({p.categories[i]});
  }
  for (std::size_t k = 0; !bars && k < p.curves.size(); ++k) {
    for (const auto& [x, y] : p.curves[k].points) {
      if (!std::isnan(x)) row_of[x] = 0;
    }
  }
  for (auto& [x, row] : row_of) {
    row = t.rows.size();
    t.rows.push_back({fmt::format("{:.6g}", x)});
  }
  for (auto& row : t.rows) row.resize(p.curves.size() + 1);
  for (std::size_t k = 0; k < p.curves.size(); ++k) {
    t.columns.push_back(p.curves[k].name);
    for (std::size_t i = 0; i < p.curves[k].points.size(); ++i) {
      const auto& [x, y] = p.curves[k].points[i];
      if (bars ? i >= t.rows.size() : std::isnan(x)) continue;
      auto& cell = t.rows[bars ? i : row_of[x]][k + 1];
      cell = fmt::format("{:.6g}", y);
      if (i >= p.curves[k].bars.size()) continue;
      const auto& [low, high] = p.curves[k].bars[i];
      if (!std::isnan(low))
        cell += fmt::format(" ({:.6g} to {:.6g})", low, high);
    }
  }
  return t;
}

std::optional<std::string> render_svg(const plot& p,
                                      const std::string& program) {
  const std::string body =
      p.kind == plot_kind::lines ? lines_script(p) : bars_script(p);
  if (body.empty()) return std::nullopt;  // nothing to draw
  std::optional<std::string> output = run(program, preamble(p) + body);
  if (!output) return std::nullopt;
  const std::size_t start = output->find("<svg");
  const std::size_t end = output->rfind("</svg>");
  if (start == std::string::npos || end == std::string::npos || end < start) {
    return std::nullopt;
  }
  std::string svg = output->substr(start, end + 6 - start);
  remove_element(svg, "<title>", "</title>");
  remove_element(svg, "<desc>", "</desc>");
  return adapt(svg);
}

}  // namespace zeroulp
