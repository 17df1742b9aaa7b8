// Settings from a user's text.

#include "fuzz/explain/settings_text.hpp"

#include "fuzz/cases/options.hpp"
#include "zeroulp/engine.hpp"
#include "zeroulp/names.hpp"

namespace zeroulp::fuzz {

settings settings_of(target t, std::string_view text) {
  settings s;
  s.from = bf16;
  // A recipe, for the path's operands, stands for settings that others change.
  std::string_view claimed;
  for_each_setting(text, [&](auto name, auto value) {
    if (name == "path") set(s, t, name, value);
    if (name == "recipe" && t == target::gemm) claimed = value;
  });
  if (!claimed.empty()) {
    s.gemm =
        engine::for_operands(parse_recipe(claimed).value, s.unit.a, s.unit.b);
    s.unit.acc = s.gemm.acc;
  }
  for_each_setting(text, [&](auto name, auto value) {
    if (name == "path" || (name == "recipe" && t == target::gemm)) return;
    set(s, t, name, value);
  });
  return s;
}

}  // namespace zeroulp::fuzz
