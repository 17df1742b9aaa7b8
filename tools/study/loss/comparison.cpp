#include "tools/study/loss/comparison.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "src/base/near_names.hpp"
#include "src/base/whole_number.hpp"
#include "zeroulp/core/path.hpp"
#include "zeroulp/io.hpp"

namespace zeroulp::loss {
namespace {

/// Throws input_error unless least <= value <= most.
int number_of(std::string_view field, std::string_view value, int least,
              int most) {
  const auto n = whole_number<int>(value);
  if (!n || *n < least || *n > most) {
    throw input_error(
        fmt::format("{} '{}': use {} to {}", field, value, least, most));
  }
  return *n;
}

struct arm_field {
  std::string_view name;
  void (*set)(linear_rule&, std::string_view name, std::string_view value);
};
constexpr arm_field arm_fields[] = {
    {"fraction_bits",
     [](linear_rule& r, std::string_view name, std::string_view value) {
       r.acc = what_if_fraction(number_of(name, value, 8, 34));
     }},
    {"interval",
     [](linear_rule& r, std::string_view name, std::string_view value) {
       r.interval = number_of(name, value, 0, 65536);
     }},
    {"splits",
     [](linear_rule& r, std::string_view name, std::string_view value) {
       r.splits = number_of(name, value, 1, 64);
     }},
};

std::vector<std::string_view> known_arms() {
  std::vector<std::string_view> names{bf16_arm.name, fp32_arm.name};
  for (const arm& a : compared_arms) names.emplace_back(a.name);
  return names;
}

void change(arm& a, std::string_view text) {
  const auto colon = std::min(text.find(':'), text.size());
  const auto name = text.substr(0, colon);
  const auto value = text.substr(std::min(colon + 1, text.size()));
  for (const auto& f : arm_fields) {
    if (f.name == name) return f.set(a.linear, name, value);
  }
  throw input_error(fmt::format("unknown field '{}': {}", name,
                                use_one_of(name, names_in(arm_fields))));
}

}  // namespace

arm parse_arm(std::string_view text) {
  const auto plus = std::min(text.find('+'), text.size());
  const auto base = text.substr(0, plus);
  const auto names = known_arms();
  if (std::find(names.begin(), names.end(), base) == names.end()) {
    throw input_error(
        fmt::format("unknown arm '{}': {}", base, use_one_of(base, names)));
  }
  arm a = arm_named(base);
  for (auto rest = text.substr(plus); !rest.empty();) {
    rest.remove_prefix(1);
    const auto end = std::min(rest.find('+'), rest.size());
    try {
      change(a, rest.substr(0, end));
    } catch (const input_error& e) {
      throw input_error(fmt::format("arm '{}': {}", text, e.what()));
    }
    rest.remove_prefix(end);
  }
  const auto& r = a.linear;
  const bool along_k = r.x.group.cols > 0 || r.w.group.cols > 0;
  if (along_k && r.interval != 128) {
    throw input_error(fmt::format(
        "arm '{}': interval {}: scales change every 128 elements of K: use 128",
        text, r.interval));
  }
  return a;
}

comparison parse_comparison(std::string_view text) {
  const auto slash = std::min(text.find('/'), text.size());
  comparison c{std::string(text), std::string(text.substr(0, slash)),
               bf16_arm.name};
  if (slash < text.size()) c.base = text.substr(slash + 1);
  parse_arm(c.arm);
  parse_arm(c.base);
  if (c.arm == c.base) {
    throw input_error(fmt::format("'{}' compares an arm with itself", c.name));
  }
  return c;
}

std::map<std::string, arm> arms_of(const std::vector<comparison>& all) {
  std::map<std::string, arm> arms{{bf16_arm.name, bf16_arm}};
  for (const auto& c : all) {
    for (const auto& name : {c.arm, c.base}) {
      if (!arms.contains(name)) arms.emplace(name, parse_arm(name));
    }
  }
  return arms;
}

}  // namespace zeroulp::loss
