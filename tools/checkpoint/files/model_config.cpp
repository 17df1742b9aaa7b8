#include "tools/checkpoint/files/model_config.hpp"

#include <fmt/format.h>

#include "tools/checkpoint/files/fault.hpp"
#include "tools/checkpoint/files/json.hpp"
#include "zeroulp/io.hpp"
#include "zeroulp/names.hpp"

namespace zeroulp::checkpoint {
namespace {

namespace fs = std::filesystem;

/// A value of an object, or null.
const json& value_of(const json& object, const char* name) {
  static const json null;
  if (!object.is_object()) return null;
  const auto at = object.find(name);
  return at == object.end() ? null : *at;
}

std::string text_at(const json& object, const char* name) {
  const json& v = value_of(object, name);
  return v.is_string() ? v.get<std::string>() : "";
}

/// Two sizes of a block, [128, 128] or "128x128".
std::optional<group_shape> block_of(const json& v, const std::string& name,
                                    const std::string& file) {
  if (v.is_null()) return {};
  const auto wrong = [&]() {
    refuse({"config", file, "", "two block sizes from 1 to 1048576 as " + name,
            v.dump()});
  };
  if (v.is_string()) {
    try {
      return parse_group(v.get<std::string>());
    } catch (const input_error&) {
      wrong();
    }
  }
  if (!v.is_array() || v.size() != 2) wrong();
  std::int32_t sizes[2] = {};
  for (std::size_t i = 0; i < 2; ++i) {
    if (!v[i].is_number_integer() || v[i].get<std::int64_t>() < 1 ||
        v[i].get<std::int64_t>() > 1 << 20) {
      wrong();
    }
    sizes[i] = v[i].get<std::int32_t>();
  }
  return group_shape{sizes[0], sizes[1]};
}

/// What a group of compressed-tensors says of weights.
std::optional<group_shape> group_of(const json& weights,
                                    const std::string& file) {
  const std::string strategy = text_at(weights, "strategy");
  if (strategy == "tensor") return group_shape{0, 0};
  if (strategy == "channel") return group_shape{1, 0};
  if (strategy == "block") {
    return block_of(value_of(weights, "block_structure"), "block_structure",
                    file);
  }
  const json& size = value_of(weights, "group_size");
  if (strategy == "group" && size.is_number_integer()) {
    return block_of(json::array({1, size}), "group_size", file);
  }
  return {};
}

bool is_part(const std::string& weight, const std::string& module) {
  if (weight.size() < module.size()) return false;
  for (auto at = weight.find(module); at != weight.npos;
       at = weight.find(module, at + 1)) {
    const auto end = at + module.size();
    const bool begins = at == 0 || weight[at - 1] == '.';
    if (begins && (end == weight.size() || weight[end] == '.')) return true;
  }
  return false;
}

/// `*` of ModelOpt's patterns as an expression.
std::regex regex_of(const std::string& rule) {
  if (rule.starts_with("re:")) return std::regex(rule.substr(3));
  std::string text;
  for (const char c : rule) {
    if (c == '*') {
      text += ".*";
    } else if (std::string_view("\\^$.|?+()[]{}").find(c) !=
               std::string_view::npos) {
      text += std::string("\\") + c;
    } else {
      text += c;
    }
  }
  return std::regex(text + "(\\..*)?");
}

kept_rule rule_of(const std::string& text, const std::string& file) {
  const bool is_pattern =
      text.starts_with("re:") || text.find('*') != text.npos;
  if (!is_pattern) return {text, {}};
  try {
    return {text, regex_of(text)};
  } catch (const std::regex_error&) {
    refuse({"config", file, "", "an expression", "'" + text + "'"});
  }
}

void add_kept(const json& list, model_config& c) {
  if (!list.is_array()) return;
  for (const auto& module : list) {
    if (!module.is_string()) continue;
    c.kept.push_back(rule_of(module.get<std::string>(), c.file));
  }
}

void read_groups(const json& groups, model_config& c) {
  if (!groups.is_object()) return;
  std::optional<group_shape> found;
  int different = 0;
  for (const auto& [name, value] : groups.items()) {
    const auto g = group_of(value_of(value, "weights"), c.file);
    if (g && (!found || !(*g == *found))) ++different;
    if (g) found = g;
  }
  // Where groups differ, the shapes of scales have to say.
  if (different == 1) c.group = found;
}

void read_declaration(const json& q, model_config& c) {
  for (const char* const name : {"quant_method", "quant_algo"}) {
    const json& method = value_of(q, name);
    if (method.is_null() || method.is_string()) continue;
    refuse({"config", c.file, "", std::string("a text as ") + name,
            method.dump()});
  }
  c.method = text_at(q, "quant_method");
  if (c.method.empty()) c.method = text_at(q, "quant_algo");
  c.group =
      block_of(value_of(q, "weight_block_size"), "weight_block_size", c.file);
  c.powers_of_two = text_at(q, "scale_fmt") == "ue8m0";
  for (const char* name : {"modules_to_not_convert", "ignored_layers", "ignore",
                           "exclude_modules"}) {
    add_kept(value_of(q, name), c);
  }
  read_groups(value_of(q, "config_groups"), c);
}

}  // namespace

std::optional<std::string> model_config::kept_by(
    const std::string& weight) const {
  const std::string module = weight.substr(0, weight.rfind('.'));
  for (const auto& rule : kept) {
    const bool fits = rule.pattern ? std::regex_match(module, *rule.pattern)
                                   : is_part(weight, rule.text);
    if (fits) return rule.text;
  }
  return {};
}

model_config read_model_config(const fs::path& folder) {
  model_config c;
  std::error_code ignored;
  for (const char* name : {"config.json", "hf_quant_config.json"}) {
    const fs::path file = folder / name;
    if (!c.method.empty() || !fs::exists(file, ignored)) continue;
    const json all = read_strict_json(file);
    c.file = file.string();
    if (!all.is_object()) {
      refuse({"config", c.file, "", "an object", all.type_name()});
    }
    for (const json* place :
         {&value_of(all, "quantization_config"),
          &value_of(value_of(all, "text_config"), "quantization_config"),
          &value_of(all, "quantization")}) {
      if (place->is_object()) {
        read_declaration(*place, c);
        break;
      }
    }
  }
  return c;
}

}  // namespace zeroulp::checkpoint
