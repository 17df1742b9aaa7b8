// A chain of operators, read from JSON.

#include "tools/parity/chain.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "fuzz/explain/settings_text.hpp"
#include "tools/parity/strict_json.hpp"
#include "zeroulp/io.hpp"

namespace zeroulp::parity {
namespace {

using json = nlohmann::ordered_json;

constexpr int deepest = 8;  // nothing of a chain nests as deep

json parse(const std::string& text) {
  json all = parse_strict(text, deepest);
  if (!all.is_object() || !all.contains("operators") ||
      !all["operators"].is_array() || all["operators"].empty()) {
    throw input_error("use {\"operators\": [...]} with one or more");
  }
  for (const auto& item : all.items()) {
    if (item.key() == "operators") continue;
    throw input_error(fmt::format("'{}': use operators alone", item.key()));
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

void check_outputs(const chain_operator& o) {
  const auto& known = outputs_of(*o.is);
  for (const auto& [output, tensor] : o.makes) {
    if (std::find(known.begin(), known.end(), output) != known.end()) continue;
    throw input_error(fmt::format("{} makes no '{}': use some of {}",
                                  o.is->name, output, fmt::join(known, ", ")));
  }
}

void check_operands(const chain_operator& o) {
  problem p;
  p.is = o.is;
  const auto specs = operands_of(p);  // names do not depend on settings
  for (const auto& [operand, tensor] : o.reads) {
    std::string known;
    bool found = false;
    for (const auto& spec : specs) {
      known += (known.empty() ? "" : ", ") + std::string(spec.name);
      found = found || operand == spec.name;
    }
    if (found) continue;
    throw input_error(fmt::format("{} reads no '{}': use some of {}",
                                  o.is->name, operand, known));
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
  if (o.name.empty()) throw input_error("'name' is empty");
  o.is = &kind_named(text_of(object, "is"));
  if (object.contains("with")) o.with = text_of(object, "with");
  o.reads = bindings_of(object, "reads");
  o.makes = bindings_of(object, "makes");
  check_operands(o);
  check_outputs(o);
  problem p;
  p.is = o.is;
  read_settings(p, o.with);  // throws where one cannot be
  return o;
}

/// "layers.{i}" and "layers.{i+1}" of layer i.
std::string of_layer(const std::string& text, std::int64_t i) {
  std::string done;
  for (std::size_t at = 0; at < text.size();) {
    const auto rest = std::string_view(text).substr(at);
    const std::pair<std::string_view, std::int64_t> places[] = {
        {"{i}", i}, {"{i+1}", i + 1}, {"{i-1}", i - 1}};
    const auto* const place =
        std::find_if(std::begin(places), std::end(places),
                     [&](const auto& x) { return rest.starts_with(x.first); });
    if (place == std::end(places)) {
      done += text[at++];
    } else {
      done += std::to_string(place->second);
      at += place->first.size();
    }
  }
  return done;
}

/// All texts of the values of an operator.
json of_layer(json object, std::int64_t i) {
  for (auto& item : object) {
    if (item.is_string()) {
      item = of_layer(item.get_ref<const std::string&>(), i);
    } else if (item.is_object()) {
      item = of_layer(std::move(item), i);
    }
  }
  return object;
}

constexpr std::int64_t most_layers = 4096;

std::int64_t count_of(const json& object, const char* field,
                      std::int64_t least) {
  const json& x = object.at(field);
  if (!x.is_number_integer() || x < least || x > most_layers) {
    throw input_error(fmt::format("'{}' is {}: use a number from {} to {}",
                                  field, x.dump(), least, most_layers));
  }
  return x.get<std::int64_t>();
}

/// The operators of a repeated part, layer by layer.
std::vector<json> layers_of(const json& part) {
  for (const auto& item : part.items()) {
    if (item.key() == "repeat" || item.key() == "from" ||
        item.key() == "operators") {
      continue;
    }
    throw input_error(
        fmt::format("'{}': use repeat, from and operators", item.key()));
  }
  const std::int64_t count = count_of(part, "repeat", 1);
  const std::int64_t from =
      part.contains("from") ? count_of(part, "from", 0) : 0;
  if (!part.contains("operators") || !part["operators"].is_array() ||
      part["operators"].empty()) {
    throw input_error("repeat: 'operators' is a list that is needed");
  }
  std::vector<json> all;
  for (std::int64_t i = from; i < from + count; ++i) {
    for (const json& object : part["operators"]) {
      all.push_back(of_layer(object, i));
    }
  }
  return all;
}

const std::string* find(const std::vector<binding>& all,
                        std::string_view name) {
  for (const auto& [mine, tensor] : all) {
    if (mine == name) return &tensor;
  }
  return nullptr;
}

void add_makers(std::vector<chain_operator>& all) {
  std::map<std::string, std::shared_ptr<const chain_operator>> made;
  for (auto& o : all) {
    for (const auto& [operand, tensor] : o.reads) {
      const auto at = made.find(tensor);
      if (at != made.end()) o.makers.insert(*at);
    }
    // The makers of its operands go with it, theirs do not: a chain is long.
    chain_operator alone = o;
    for (auto& [tensor, maker] : alone.makers) {
      chain_operator last = *maker;
      last.makers.clear();
      maker = std::make_shared<const chain_operator>(std::move(last));
    }
    const auto kept = std::make_shared<const chain_operator>(std::move(alone));
    for (const auto& [output, tensor] : o.makes) made[tensor] = kept;
  }
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

constexpr const char* how_to_map = "use {\"name in the chain\": \"name in B\"}";

std::map<std::string, std::string> names_of(
    const json& all, const std::vector<chain_operator>& chain) {
  if (!all.is_object()) throw input_error(how_to_map);
  std::set<std::string> tensors;
  for (const chain_operator& o : chain) {
    for (const auto* list : {&o.reads, &o.makes}) {
      for (const auto& [operand, tensor] : *list) tensors.insert(tensor);
    }
  }
  std::map<std::string, std::string> names;
  for (const auto& item : all.items()) {
    if (!item.value().is_string()) {
      throw input_error(fmt::format("'{}' is {}: use a tensor's name",
                                    item.key(), item.value().dump()));
    }
    if (!tensors.contains(item.key())) {
      throw input_error(
          fmt::format("the chain has no tensor '{}'", item.key()));
    }
    names[item.key()] = item.value().get<std::string>();
  }
  return names;
}

}  // namespace

std::map<std::string, std::string> read_names(
    const std::filesystem::path& file,
    const std::vector<chain_operator>& chain) {
  const auto bytes = read_file(file);
  try {
    return names_of(parse_strict(as_text(bytes), deepest), chain);
  } catch (const input_error& e) {
    throw input_error(fmt::format("{}: {}", file.string(), e.what()));
  }
}

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
    for (const json& part : all["operators"]) {
      where = fmt::format("operator {}: ", chain.size() + 1);
      if (!part.is_object() || !part.contains("repeat")) {
        chain.push_back(operator_of(part));
        continue;
      }
      for (const json& object : layers_of(part)) {
        where = fmt::format("operator {}: ", chain.size() + 1);
        chain.push_back(operator_of(object));
      }
    }
    where.clear();
    check_order(chain);
    add_makers(chain);
    return chain;
  } catch (const input_error& e) {
    throw input_error(fmt::format("{}: {}{}", file.string(), where, e.what()));
  }
}

}  // namespace zeroulp::parity
