// The kinds of operators, and what each has by its row or by the fuzzer's.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <list>
#include <map>

#include "fuzz/cases/options.hpp"
#include "fuzz/explain/explain.hpp"
#include "fuzz/explain/settings_text.hpp"
#include "src/base/near_names.hpp"
#include "tools/parity/problem.hpp"
#include "zeroulp/io.hpp"
#include "zeroulp/names.hpp"

namespace zeroulp::parity {
namespace {

using fuzz::target;

std::vector<operator_kind> kinds_of_targets() {
  std::vector<operator_kind> all;
  const auto add = [&](target t, std::vector<followed_setting> follows,
                       bool whole_pass = false) {
    operator_kind k;
    k.name = fuzz::info_of(t).name;
    k.of = t;
    k.follows = std::move(follows);
    k.whole_pass = whole_pass;
    all.push_back(std::move(k));
  };
  add(target::quantize, {{"from", "x"}, {"to", "codes"}});
  add(target::rms_norm,
      {{"from", "x"}, {"weight", "w"}, {"value", "y"}, {"to", "codes"}});
  add(target::swiglu, {{"from", "g"}, {"value", "h"}, {"to", "h_codes"}});
  add(target::gemm, {{"output", "d"}});
  add(target::dispatch, {{"from", "x"}, {"to", "codes"}});
  add(target::attention, {}, true);
  add(target::rms_norm_backward, {}, true);
  for (int i = 0; i < fuzz::target_count; ++i) {
    const auto t = static_cast<target>(i);
    const bool has_row = std::any_of(all.begin(), all.end(),
                                     [t](const auto& k) { return k.of == t; });
    if (!has_row && t != target::route && t != target::combine) add(t, {});
  }
  return all;
}

const std::vector<operator_kind>& all_kinds() {
  static const std::vector<operator_kind> all = [] {
    auto kinds = kinds_of_targets();
    for (auto* const row :
         {rope_kind, residual_kind, route_kind, combine_kind}) {
      kinds.push_back(row());
    }
    return kinds;
  }();
  return all;
}

/// The lengths of the dimensions, by operands with groups of 1.
std::map<char, std::ptrdiff_t> lengths_of(
    const problem& p, const std::vector<fuzz::operand_spec>& specs) {
  std::map<char, std::ptrdiff_t> all;
  for (std::size_t i = 0; i < std::min(specs.size(), p.in.size()); ++i) {
    if (specs[i].optional) continue;
    const auto see = [&all](const fuzz::axis& a, std::ptrdiff_t length) {
      if (a.name != 0 && a.group == 1) all.try_emplace(a.name, length);
    };
    see(specs[i].rows, p.in[i].rows);
    see(specs[i].cols, p.in[i].cols);
  }
  return all;
}

std::string known_settings(const operator_kind& k) {
  std::string known;
  for (const own_setting& s : k.settings) {
    known += fmt::format("{}{}", known.empty() ? "" : ", ", s.name);
  }
  return known;
}

}  // namespace

std::string problem::name() const { return is->name; }

const operator_kind& kind_named(std::string_view name) {
  for (const operator_kind& k : all_kinds()) {
    if (name == k.name) return k;
  }
  throw input_error(fmt::format("unknown operator '{}': {}", name,
                                use_one_of(name, all_kinds())));
}

void read_settings(problem& p, std::string_view text) {
  const operator_kind& k = *p.is;
  std::string of_target;
  std::list<std::pair<const own_setting*, std::string>> own;
  fuzz::for_each_setting(text, [&](auto name, auto value) {
    const auto mine = std::find_if(k.settings.begin(), k.settings.end(),
                                   [&](auto& s) { return name == s.name; });
    if (mine != k.settings.end()) {
      own.emplace_back(&*mine, value);
    } else if (k.of) {
      of_target +=
          fmt::format("{}{}={}", of_target.empty() ? "" : ",", name, value);
    } else {
      throw input_error(fmt::format("{} has no setting '{}': use one of {}",
                                    k.name, name, known_settings(k)));
    }
  });
  if (k.of) {
    p.what = *k.of;
    p.with = fuzz::settings_of(*k.of, of_target);
  } else {
    p.with.from = bf16;
  }
  for (const auto& [setting, value] : own) {
    try {
      if (setting->read != nullptr) {
        setting->read(p, value);
      } else {
        fuzz::option_of(setting->name).read(p.with, value);
      }
    } catch (const input_error& e) {
      throw input_error(fmt::format("{}: {}", setting->name, e.what()));
    }
  }
}

std::vector<fuzz::operand_spec> operands_of(const problem& p) {
  if (p.is->operands != nullptr) return p.is->operands(p);
  return fuzz::info_of(*p.is->of).operands(p.with);
}

const std::vector<std::string>& outputs_of(const operator_kind& k) {
  static std::map<std::string, std::vector<std::string>> known;
  auto [at, is_new] = known.try_emplace(k.name, k.makes);
  if (!is_new || !k.makes.empty()) return at->second;
  const outputs made =
      fuzz::claimed_outputs(fuzz::generate(*k.of, -1, 1, 0, {}));
  for (const matrix& x : made) {
    if (x.name != std::string_view("guards")) at->second.emplace_back(x.name);
  }
  return at->second;
}

std::string text_of_kinds() {
  std::string text;
  for (const operator_kind& k : all_kinds()) {
    problem p;
    p.is = &k;
    read_settings(p, "");
    text += fmt::format("{}\n  reads ", k.name);
    std::vector<std::string> operands;
    for (const auto& spec : operands_of(p)) {
      const std::string name = spec.name;
      operands.push_back(spec.optional ? "[" + name + "]" : name);
    }
    text += fmt::format("{}", fmt::join(operands, ", "));
    std::string settings = known_settings(k);
    if (k.of) {
      for (const char* const option : fuzz::info_of(*k.of).options) {
        settings += fmt::format("{}{}", settings.empty() ? "" : ", ", option);
      }
    }
    text += fmt::format("\n  makes {}\n  with  {}\n",
                        fmt::join(outputs_of(k), ", "), settings);
  }
  return text;
}

std::ptrdiff_t length_of(const problem& p, char dimension) {
  const auto all = lengths_of(p, operands_of(p));
  const auto at = all.find(dimension);
  return at == all.end() ? 0 : at->second;
}

std::string refuse_operands(const problem& p) {
  const auto specs = operands_of(p);
  const auto lengths = lengths_of(p, specs);
  // Optional operands alone may have a dimension: its length is their own.
  const auto wanted = [&](const fuzz::axis& a, std::ptrdiff_t own) {
    if (a.name == 0 || a.group == 0) return std::ptrdiff_t{1};
    const auto at = lengths.find(a.name);
    return at == lengths.end() ? own : (at->second + a.group - 1) / a.group;
  };
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const matrix& x = p.in[i];
    if (specs[i].optional && x.rows == 0 && x.cols == 0) continue;
    if (specs[i].rows.name == 'm' && x.rows > 0 && x.cols == 0) {
      return fmt::format("{} is {}x0: it has no columns", x.name, x.rows);
    }
    const auto rows = wanted(specs[i].rows, x.rows);
    const auto cols = wanted(specs[i].cols, x.cols);
    if (x.rows != rows || x.cols != cols) {
      return fmt::format("{} is {}x{}, not {}x{}", x.name, x.rows, x.cols, rows,
                         cols);
    }
  }
  return p.is->of ? fuzz::info_of(*p.is->of).refuse(p.with) : "";
}

void set_format(problem& p, const char* setting, const format& f) {
  const auto mine = std::find_if(p.is->settings.begin(), p.is->settings.end(),
                                 [&](const own_setting& s) {
                                   return s.name == std::string_view(setting);
                                 });
  if (mine != p.is->settings.end() && mine->read != nullptr) {
    mine->read(p, name_of(f));
  } else {
    fuzz::option_of(setting).read(p.with, name_of(f));
  }
}

outputs claimed_outputs(const problem& p) {
  if (p.is->run != nullptr) return p.is->run(p);
  return fuzz::claimed_outputs(p);
}

}  // namespace zeroulp::parity
