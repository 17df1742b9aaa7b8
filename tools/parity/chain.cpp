// A chain of operators, read from JSON.

#include "tools/parity/chain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "fuzz/explain/settings_text.hpp"
#include "src/base/json_levels.hpp"
#include "zeroulp/io.hpp"

namespace zeroulp::parity {
namespace {

using json = nlohmann::ordered_json;

constexpr int deepest = 8;  // nothing of a chain nests as deep

json parse(const std::string& text) {
  json all = parse_json_to<json>(text, deepest,
                                 [] { throw input_error("nested too deep"); });
  if (!all.is_object() || !all.contains("operators") ||
      !all["operators"].is_array() || all["operators"].empty()) {
    throw input_error("use {\"operators\": [...]} with one or more");
  }
  return all;
}

std::string text_of(const json& object, const char* field) {
  const auto at = object.find(field);
  if (at == object.end() || !at->is_string()) {
    throw input_error(fmt::format("'{}' is a text that is needed", field));
  }
  return at->get<std::string>();
}

std::vector<binding> bindings_of(const json& object, const char* field) {
  const auto at = object.find(field);
  if (at == object.end() || !at->is_object() || at->empty()) {
    throw input_error(
        fmt::format("'{}' is an object of names that is needed", field));
  }
  std::vector<binding> all;
  for (const auto& item : at->items()) {
    if (!item.value().is_string()) {
      throw input_error(fmt::format("{}: '{}' is {}: use a tensor's name",
                                    field, item.key(), item.value().dump()));
    }
    all.emplace_back(item.key(), item.value().get<std::string>());
  }
  return all;
}

void check_operands(const chain_operator& o) {
  // Their names do not depend on settings.
  const auto specs = fuzz::info_of(o.is).operands({});
  for (const auto& [operand, tensor] : o.reads) {
    std::string known;
    bool found = false;
    for (const auto& spec : specs) {
      known += (known.empty() ? "" : ", ") + std::string(spec.name);
      found = found || operand == spec.name;
    }
    if (found) continue;
    throw input_error(fmt::format("{} reads no '{}': use some of {}",
                                  fuzz::info_of(o.is).name, operand, known));
  }
}

chain_operator operator_of(const json& object) {
  if (!object.is_object()) throw input_error("use an object");
  for (const auto& item : object.items()) {
    static const std::set<std::string> known{"name", "is", "with", "reads",
                                             "makes"};
    if (known.contains(item.key())) continue;
    throw input_error(
        fmt::format("'{}': use name, is, with, reads and makes", item.key()));
  }
  chain_operator o;
  o.name = text_of(object, "name");
  o.is = fuzz::parse_target(text_of(object, "is"));
  if (object.contains("with")) o.with = text_of(object, "with");
  o.reads = bindings_of(object, "reads");
  o.makes = bindings_of(object, "makes");
  check_operands(o);
  (void)fuzz::settings_of(o.is, o.with);  // throws where one cannot be
  return o;
}

const std::string* find(const std::vector<binding>& all,
                        std::string_view name) {
  for (const auto& [mine, tensor] : all) {
    if (mine == name) return &tensor;
  }
  return nullptr;
}

/// A tensor is made once, before it is read.
void check_order(const std::vector<chain_operator>& all) {
  std::set<std::string> made, read, names;
  for (const auto& o : all) {
    if (!names.insert(o.name).second) {
      throw input_error(fmt::format("operator '{}': there are two", o.name));
    }
    for (const auto& [operand, tensor] : o.reads) read.insert(tensor);
    for (const auto& [output, tensor] : o.makes) {
      if (!made.insert(tensor).second || read.contains(tensor)) {
        throw input_error(
            fmt::format("operator '{}': tensor '{}' was made or read before",
                        o.name, tensor));
      }
    }
  }
}

}  // namespace

const std::string* chain_operator::reads_as(std::string_view operand) const {
  return find(reads, operand);
}
const std::string* chain_operator::makes_as(std::string_view output) const {
  return find(makes, output);
}

std::vector<chain_operator> read_chain(const std::filesystem::path& file) {
  const auto bytes = read_file(file);
  std::string where;
  try {
    const json all = parse(std::string(as_text(bytes)));
    std::vector<chain_operator> chain;
    for (const json& object : all["operators"]) {
      where = fmt::format("operator {}: ", chain.size() + 1);
      chain.push_back(operator_of(object));
    }
    where.clear();
    check_order(chain);
    return chain;
  } catch (const input_error& e) {
    throw input_error(fmt::format("{}: {}{}", file.string(), where, e.what()));
  }
}

}  // namespace zeroulp::parity
