#include "tools/zeroulp/study/loss_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "tools/study/error/questions.hpp"

namespace zeroulp::program {
namespace {

constexpr std::pair<const char*, const char*> lists[] = {
    {"same_state", "The same state"},
    {"forks", "Paired forks"},
    {"outliers", "Injected outliers"}};

json list_of(const json& loss, const char* name) {
  return loss.value(name, json::array());
}

/// In percent; NaN where there is no number.
double number_of(const json& one, const char* name) {
  const auto found = one.find(name);
  return found != one.end() && found->is_number() ? 100 * found->get<double>()
                                                  : NAN;
}

std::string percent_of(const json& one, const char* name) {
  const double value = number_of(one, name);
  return std::isnan(value) ? "-" : study::percent(value / 100);
}

/// "Made by" the command, and its options: width 128, layers 2, ...
std::string options_text(const json& loss) {
  const auto command = loss.value("command", std::string());
  auto text = command.empty() ? std::string("Made by an unknown command")
                              : "Made by: " + command;
  const char* between = ", with ";
  const auto options = loss.value("options", json::object());
  for (const auto& [name, value] : options.items()) {
    auto words = name;
    std::replace(words.begin(), words.end(), '_', ' ');
    text += fmt::format("{}{} {}", between, words, value.dump());
    between = ", ";
  }
  return text + ".";
}

std::string outlier_of(const json& one) {
  return one.contains("outlier") ? one.value("outlier", std::string()) + " 2^" +
                                       one["exponent"].dump()
                                 : "";
}

/// An arm that is changed in many fields has a long name.
std::string short_arm(const json& one) {
  constexpr std::size_t longest = 30;
  auto arm = one.value("arm", std::string());
  if (arm.size() > longest) arm = arm.substr(0, longest - 3) + "...";
  return arm;
}

/// A series' number in `names`, in the order of first appearance.
std::size_t place_in(std::vector<std::string>& names, const std::string& name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return names.push_back(name), names.size() - 1;
  return static_cast<std::size_t>(found - names.begin());
}

/// Of outliers a category is an outlier, and a series an arm.
plot plot_of(const json& list, const char* title, double bound) {
  plot p;
  p.title = fmt::format("{}: the loss beside BF16", title);
  p.y_label = "change of the loss, percent";
  p.kind = plot_kind::dots;
  p.bounds = {0, -100 * bound, 100 * bound};
  const bool has_outliers =
      std::any_of(list.begin(), list.end(),
                  [](const json& one) { return one.contains("outlier"); });
  p.x_label = has_outliers ? "outlier" : "arm";
  std::vector<std::string> arms;
  for (const auto& one : list) {
    if (has_outliers && one.value("arm", std::string()) == "bf16") continue;
    const auto at =
        place_in(p.categories, has_outliers ? outlier_of(one) : short_arm(one));
    const auto k = place_in(arms, has_outliers ? short_arm(one) : "mean");
    if (k == p.curves.size()) p.curves.push_back({arms[k], {}, {}});
    auto& s = p.curves[k];
    // A series without a number at a category stands nowhere there.
    s.points.resize(std::max(s.points.size(), at + 1), {0, NAN});
    s.bars.resize(s.points.size(), {NAN, NAN});
    s.points[at] = {static_cast<double>(at), number_of(one, "mean")};
    s.bars[at] = {number_of(one, "low90"), number_of(one, "high90")};
  }
  return p;
}

table table_of(const json& list) {
  table t{{"arm", "outlier", "mean", "low90", "high90"}, {}};
  for (const auto& one : list) {
    auto arm = one.value("arm", std::string());
    if (one.contains("same_bits_as")) {
      arm += ", the same bits as " + one.value("same_bits_as", std::string());
    }
    const auto outlier = outlier_of(one);
    t.rows.push_back({std::move(arm), outlier.empty() ? "-" : outlier,
                      percent_of(one, "mean"), percent_of(one, "low90"),
                      percent_of(one, "high90")});
  }
  return t;
}

}  // namespace

std::vector<plot> loss_plots(const json& loss) {
  std::vector<plot> all;
  for (const auto& [name, title] : lists) {
    const auto list = list_of(loss, name);
    if (list.empty()) continue;
    all.push_back(plot_of(list, title, loss.value("bound", 0.0025)));
  }
  return all;
}

void add_loss(const json& loss, html_page& page) {
  page.add_heading(loss_heading, "loss");
  if (loss.is_null()) {
    page.add_paragraph(
        "Absent: zeroulp study --loss --out DIR writes loss.json, and is "
        "shown here where it is the same directory.");
    return;
  }
  std::vector<shown_verdict> verdicts;
  for (const auto& v : list_of(loss, "verdicts")) {
    verdicts.push_back({badge_of(v.value("held", false)),
                        v.value("name", std::string()), "",
                        v.value("text", std::string())});
  }
  if (!verdicts.empty()) page.add_verdicts(verdicts);
  page.add_paragraph(options_text(loss));
  for (const auto& p : loss_plots(loss)) {
    page.add_figure(p,
                    "Dots are means over seeds, bars their 90 % intervals. "
                    "Broken lines: no change, and the bound.",
                    render_svg(p));
  }
  for (const auto& [name, caption] : lists) {
    const auto list = list_of(loss, name);
    if (list.empty()) continue;
    page.add_table(table_of(list),
                   fmt::format("{}: relative change of the loss beside BF16,"
                               " percent, with its 90 % interval.",
                               caption));
  }
}

}  // namespace zeroulp::program
