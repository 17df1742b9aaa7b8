#include "tools/study/loss/comparison.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "zeroulp/io.hpp"

namespace zeroulp::loss {

comparison parse_comparison(std::string_view text) {
  const auto slash = std::min(text.find('/'), text.size());
  comparison c{std::string(text), std::string(text.substr(0, slash)),
               bf16_name};
  if (slash < text.size()) c.base = text.substr(slash + 1);
  parse_arm(c.arm);
  parse_arm(c.base);
  if (c.arm == c.base) {
    throw input_error(fmt::format("'{}' compares an arm with itself", c.name));
  }
  return c;
}

std::map<std::string, arm> arms_of(const std::vector<comparison>& all) {
  std::map<std::string, arm> arms{{bf16_name, parse_arm(bf16_name)}};
  for (const auto& c : all) {
    for (const auto& name : {c.arm, c.base}) {
      if (!arms.contains(name)) arms.emplace(name, parse_arm(name));
    }
  }
  return arms;
}

}  // namespace zeroulp::loss
