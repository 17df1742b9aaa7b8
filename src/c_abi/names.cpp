// The C ABI: names.

#include "zeroulp/names.hpp"

#include <algorithm>
#include <iterator>

#include "src/base/near_names.hpp"
#include "src/c_abi/c_abi.hpp"
#include "zeroulp/block_scaled.hpp"
#include "zeroulp/engine.hpp"
#include "zeroulp/model_arm.hpp"
#include "zeroulp/simd.hpp"

namespace zeroulp::c_abi {
namespace {

using engine::named_simds;

/// Calls `use` with the rows of a table; each has a name.
template <class Use>
auto with_table(std::int32_t table, Use use) {
  switch (table) {
    case ZEROULP_ROUNDINGS:
      return use(named_roundings);
    case ZEROULP_SCALE_KINDS:
      return use(named_scale_kinds);
    case ZEROULP_SCALE_LAYOUTS:
      return use(named_scale_layouts);
    case ZEROULP_RETILE_RULES:
      return use(named_retile_rules);
    case ZEROULP_SIMD_SETS:
      return use(named_simds);
    case ZEROULP_FORMATS:
      return use(named_formats);
    case ZEROULP_POLICIES:
      return use(named_policies);
    case ZEROULP_CONVENTIONS:
      return use(named_conventions);
    case ZEROULP_RECIPES:
      return use(all_recipes());
    case ZEROULP_PATHS:
      return use(all_paths());
    case ZEROULP_ARMS:
      return use(named_arms);
    case ZEROULP_BLOCK_SCALED_PATHS:
      return use(all_block_scaled_paths());
    case ZEROULP_BLOCK_CONVENTIONS:
      return use(named_block_conventions);
    case ZEROULP_BLOCK_RECIPES:
      return use(all_block_recipes());
    default:
      refuse("table is {}: use {} to {}", table, ZEROULP_ROUNDINGS,
             ZEROULP_BLOCK_RECIPES);
  }
}

/// What makes a row's number its value.
template <class Row, std::size_t Size>
constexpr bool counts(const Row (&table)[Size]) {
  for (std::size_t i = 0; i < Size; ++i) {
    if (static_cast<std::size_t>(table[i].value) != i) return false;
  }
  return true;
}
static_assert(counts(named_roundings) && counts(named_scale_kinds) &&
              counts(named_scale_layouts) && counts(named_retile_rules) &&
              counts(named_simds));

policy find_policy(const char* name) { return parse_policy(name); }

/// *out = `parse` of the name, as a struct of C.
template <class Out, class Parse>
zeroulp_status from_name(const char* function, const char* name, Out* out,
                         const char* what, Parse parse) noexcept {
  return guarded(function, [&] {
    needed(name, "name");
    needed(out, what) = to_c(parse(name));
  });
}

std::int32_t find_value(std::int32_t table, const char* name) {
  if (table < ZEROULP_ROUNDINGS || table > ZEROULP_SIMD_SETS) {
    refuse("table is {}: use {} to {}", table, ZEROULP_ROUNDINGS,
           ZEROULP_SIMD_SETS);
  }
  return with_table(table, [&](const auto& rows) -> std::int32_t {
    std::int32_t value = 0;
    for (const auto& row : rows) {
      if (std::string_view(row.name) == name) return value;
      ++value;
    }
    refuse("unknown name '{}': {}", name, use_one_of(name, rows));
  });
}

}  // namespace
}  // namespace zeroulp::c_abi

using namespace zeroulp::c_abi;

const char* zeroulp_name(std::int32_t table, std::int64_t index) {
  const char* name = nullptr;
  (void)guarded(__func__, [&] {
    name = with_table(table, [&](const auto& rows) -> const char* {
      if (index < 0 || index >= std::ssize(rows)) return nullptr;
      return std::data(
          std::string_view(rows[static_cast<std::size_t>(index)].name));
    });
  });
  return name;
}

zeroulp_status zeroulp_value_from_name(std::int32_t table, const char* name,
                                       std::int32_t* value) {
  return guarded(__func__, [&] {
    needed(name, "name");
    needed(value, "value") = find_value(table, name);
  });
}

zeroulp_status zeroulp_format_from_name(const char* name,
                                        zeroulp_format* format) {
  return from_name(__func__, name, format, "format",
                   [](const char* n) { return zeroulp::parse_format(n); });
}

zeroulp_status zeroulp_format_name(const zeroulp_format* format, char* name,
                                   size_t size) {
  return guarded(__func__, [&] {
    const auto f = format_of(format, "format");
    needed(name, "name");
    const std::string text = zeroulp::name_of(f);
    const auto parsed = [&] {
      try {
        return zeroulp::parse_format(text) == f;
      } catch (const zeroulp::input_error&) {
        return false;
      }
    };
    if (!parsed()) {
      refuse("format: it has no name: '{}' is another format, or none", text);
    }
    if (text.size() >= size) {
      refuse("name: '{}' needs {} bytes, there are {}", text, text.size() + 1,
             size);
    }
    std::memcpy(name, text.c_str(), text.size() + 1);
  });
}

zeroulp_status zeroulp_policy_from_name(const char* name,
                                        zeroulp_policy* policy) {
  return from_name(__func__, name, policy, "policy", find_policy);
}

zeroulp_status zeroulp_group_from_name(const char* name, zeroulp_group* group) {
  return from_name(__func__, name, group, "group",
                   [](const char* n) { return zeroulp::parse_group(n); });
}

zeroulp_status zeroulp_convention_from_name(const char* name,
                                            zeroulp_convention* convention) {
  return from_name(__func__, name, convention, "convention", [](const char* n) {
    return zeroulp::parse_convention(n).value;
  });
}

zeroulp_status zeroulp_path_from_name(const char* name, zeroulp_path* path) {
  return from_name(__func__, name, path, "path",
                   [](const char* n) { return zeroulp::parse_path(n).value; });
}

zeroulp_status zeroulp_block_scaled_path_from_name(
    const char* name, zeroulp_block_scaled_path* path) {
  return from_name(__func__, name, path, "path", [](const char* n) {
    return zeroulp::parse_block_scaled_path(n).value;
  });
}

zeroulp_status zeroulp_recipe_from_name(const char* name,
                                        zeroulp_recipe* recipe) {
  return from_name(__func__, name, recipe, "recipe", [](const char* n) {
    return zeroulp::parse_recipe(n).value;
  });
}

zeroulp_status zeroulp_quantizer_from_names(const char* from, const char* to,
                                            const char* convention,
                                            const char* scale,
                                            const char* group,
                                            zeroulp_quantizer* quantizer) {
  return guarded(__func__, [&] {
    const auto how =
        zeroulp::parse_convention(&needed(convention, "convention")).value;
    const auto kind = scale != nullptr   ? zeroulp::parse_scale_kind(scale)
                      : how.power_of_two ? zeroulp::scale_kind::pow2
                                         : zeroulp::scale_kind::float32;
    const zeroulp_quantizer q{
        to_c(zeroulp::parse_format(&needed(from, "from"))),
        to_c(zeroulp::parse_format(&needed(to, "to"))),
        to_c(how),
        static_cast<std::int32_t>(kind),
        to_c(zeroulp::parse_group(&needed(group, "group"))),
        {}};
    quantizer_of(&q);
    needed(quantizer, "quantizer") = q;
  });
}

zeroulp_status zeroulp_recipe_for_operands(const zeroulp_recipe* recipe,
                                           const zeroulp_format* a,
                                           const zeroulp_format* b,
                                           zeroulp_recipe* out) {
  return guarded(__func__, [&] {
    const auto r = recipe_of(recipe);
    const auto x = format_of(a, "a");
    const auto y = format_of(b, "b");
    needed(out, "out") = to_c(zeroulp::engine::for_operands(r, x, y));
  });
}
