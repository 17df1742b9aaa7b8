// Reads a plug-in's claims, by the case engine's table of options.

#include <fmt/format.h>

#include <algorithm>

#include "conformance/plugin/plugin.hpp"
#include "fuzz/cases/options.hpp"
#include "zeroulp/io.hpp"
#include "zeroulp/names.hpp"

namespace zeroulp::conformance::plugin {
namespace {

/// A plug-in's name for a setting, and the case engine's.
struct alias {
  const char* name;
  const char* option;
};

/// An operation as the case engine knows it.
struct kind_info {
  fuzz::target what;
  std::vector<alias> settings;  ///< empty: the target's, by its own names
  std::vector<const char*> outputs;
};

/// Indexed by kind.
const kind_info& info_of(kind k) {
  using enum fuzz::target;
  static const std::vector<alias> router = {{"score", "score"},
                                            {"groups", "groups"},
                                            {"kept", "kept"},
                                            {"group_score", "group_score"},
                                            {"normalized", "normalized"},
                                            {"scale", "route_scale"}};
  static const std::vector<kind_info> all = {
      {quantize, {}, {"scales", "codes"}},
      {quantize, {}, {"values"}},
      {retile, {}, {"scales", "codes"}},
      {gemm, {}, {"d"}},
      {swiglu, {{"from", "from"}, {"to", "value"}}, {"h"}},
      {adamw,
       {{"gradient", "from"}, {"moment", "to"}, {"rounding", "round"}},
       {"m", "v", "w", "copy"}},
      {combine, {{"rule", "sum"}}, {"sums"}},
      {rms_norm_backward, {}, {"dx", "dw"}},
      {route, router, {"scores", "experts", "weights"}},
      {route, router, {"dlogits"}},
      {attention, {}, {"largest", "inverse", "o"}},
      {attention, {}, {"dq", "dk", "dv"}}};
  return all[static_cast<std::size_t>(k)];
}

const char* name_of(kind k) {
  return operations()[static_cast<std::size_t>(k)].name;
}

/// The engine's name of a setting. Throws input_error.
std::string option_called(kind k, const std::string& name) {
  const auto& mine = info_of(k).settings;
  if (mine.empty()) return name;  // fuzz::set knows
  std::string known;
  for (const auto& [theirs, option] : mine) {
    if (theirs == name) return option;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", theirs);
  }
  throw input_error(fmt::format("{} has no setting '{}': use one of {}, place",
                                name_of(k), name, known));
}

/// The inverse: the plug-in's name for an option.
std::string called_by_plugin(kind k, const std::string& option) {
  for (const auto& [theirs, ours] : info_of(k).settings) {
    if (ours == option) return theirs;
  }
  return option;
}

/// "a=1,b=2" as a list.
setting_list parse_settings(const std::string& text) {
  setting_list list;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find(',', at), text.size());
    const auto field = text.substr(at, end - at);
    const auto equals = field.find('=');
    if (equals == std::string::npos) {
      throw input_error(
          fmt::format("'{}': use settings such as from=bf16,to=e4m3", field));
    }
    list.emplace_back(field.substr(0, equals), field.substr(equals + 1));
    at = end + 1;
  }
  return list;
}

placement parse_place(const std::string& text) {
  if (text == "dense") return placement::dense;
  if (text == "padded") return placement::padded;
  throw input_error(fmt::format("place={}: use dense or padded", text));
}

/// Applies a convention, recipe or rule; `names` gets the settings it fixes.
void apply_name(fuzz::settings& s, kind k, const std::string& as,
                std::vector<std::string>& names) {
  if (k == kind::quantize) {
    s.how = parse_convention(as);
    names = {"convention"};
  } else if (k == kind::gemm) {
    s.gemm = parse_recipe(as).value;
    s.unit = {e4m3, e4m3, s.gemm.acc};
    names = {"path",    "interval", "update", "a_group",
             "b_group", "splits",   "end",    "output"};
  } else if (k == kind::combine) {
    fuzz::set(s, fuzz::target::combine, "sum", as);
    names = {"sum"};
  } else {
    throw input_error(
        fmt::format("claimed as '{}': conventions are of quantize, recipes of "
                    "gemm, rules of combine: give none",
                    as));
  }
}

bool fixes(const claim& c, std::string_view name) {
  return std::any_of(c.fixed.begin(), c.fixed.end(),
                     [name](const auto& f) { return f.first == name; });
}

}  // namespace

std::string claim::text() const {
  std::string all = name_of(what);
  if (!as.empty()) all += " as " + as;
  const char* separator = ": ";
  for (const auto& [name, value] : fixed) {
    all +=
        fmt::format("{}{}={}", separator, called_by_plugin(what, name), value);
    separator = ",";
  }
  return all;
}

fuzz::target target_of(kind k) { return info_of(k).what; }

std::span<const char* const> outputs_of(kind k) { return info_of(k).outputs; }

claim parse_claim(kind k, const std::string& as, const std::string& settings,
                  const std::array<std::ptrdiff_t, 3>& multiple) {
  claim c;
  c.what = k;
  c.as = as;
  for (std::size_t i = 0; i < multiple.size(); ++i) {
    if (multiple[i] < 0 || multiple[i] > 4096) {
      throw input_error(
          fmt::format("multiples of {}: use 0 to 4096", multiple[i]));
    }
    c.multiple[i] = std::max<std::ptrdiff_t>(multiple[i], 1);
  }
  fuzz::settings s;
  std::vector<std::string> names;
  if (!as.empty()) apply_name(s, k, as, names);
  for (const auto& [name, text] : parse_settings(settings)) {
    if (name == "place") {
      c.place = parse_place(text);
      continue;
    }
    const auto option = option_called(k, name);
    fuzz::set(s, target_of(k), option, text);
    if (std::find(names.begin(), names.end(), option) == names.end()) {
      names.push_back(option);
    }
  }
  for (const auto& name : names) {
    c.fixed.emplace_back(name, fuzz::option_of(name).write(s));
  }
  return c;
}

fuzz::settings settings_of(const claim& c) {
  fuzz::settings s;
  s.gemm = unpromoted_recipe;
  for (const auto& [name, text] : c.fixed) fuzz::option_of(name).read(s, text);
  return s;
}

bool lacks_name(const claim& c) {
  const char* const decides = c.what == kind::quantize ? "convention"
                              : c.what == kind::gemm   ? "interval"
                                                       : nullptr;
  return decides != nullptr && !fixes(c, decides);
}

bool holds(const claim& c, const fuzz::settings& s) {
  return std::all_of(c.fixed.begin(), c.fixed.end(), [&s](const auto& f) {
    return fuzz::option_of(f.first).write(s) == f.second;
  });
}

void plugin_code::adopt(std::size_t i, const std::string& as) {
  fuzz::settings s;
  std::vector<std::string> names;
  claim& c = claims_[i];
  apply_name(s, c.what, as, names);
  for (const auto& name : names) {
    if (fixes(c, name)) continue;
    c.fixed.emplace_back(name, fuzz::option_of(name).write(s));
  }
}

void plugin_code::keep_to_claims(fuzz::target t, fuzz::settings& s) const {
  std::vector<const claim*> mine;
  for (const claim& c : claims_) {
    if (target_of(c.what) != t) continue;
    if (holds(c, s)) return;
    mine.push_back(&c);
  }
  if (mine.empty()) return;
  // The choice is a hash of the drawn settings: the same case, the same claim.
  std::uint64_t hash = 0;
  for (const char c : to_text(s, t)) {
    hash = mix64(hash + static_cast<unsigned char>(c) + golden);
  }
  for (const auto& [name, text] : mine[hash % mine.size()]->fixed) {
    fuzz::option_of(name).read(s, text);
  }
}

}  // namespace zeroulp::conformance::plugin
