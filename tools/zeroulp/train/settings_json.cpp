#include "tools/zeroulp/train/settings_json.hpp"

namespace zeroulp::program {
namespace {

/// Names stand in the one line of a run's settings.
bool is_one_word(const std::string& name) {
  constexpr std::string_view others = "._+:-";
  const auto fits = [&](char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
           (c >= 'a' && c <= 'z') || others.find(c) != std::string_view::npos;
  };
  return !name.empty() && std::all_of(name.begin(), name.end(), fits);
}

/// The value that `text` says. One of a file is checked, and has a name that no
/// other value has.
template <class T, class Table, class Check, class Call>
T find_value(const json_kind<T>& kind, const Table& table,
             const std::string& text, Check check, Call called) {
  const own_or_named<T> found = kind.find(text);
  if (!found.is_own) return found.value;
  try {
    check(found.value);
    if (!is_one_word(found.name)) {
      throw input_error(fmt::format(
          "name is '{}': use letters, digits and . _ + : -", found.name));
    }
    const T value = called(found.name, found.value);
    for (const auto& row : table) {
      if (found.name == row.name && fields_json(row) != fields_json(value)) {
        throw input_error(fmt::format(
            "name is '{}', whose fields are others: use another name",
            found.name));
      }
    }
    return value;
  } catch (const input_error& e) {
    throw input_error(fmt::format("{}: {}", text, e.what()));
  }
}

template <class Table>
std::string help_of(const Table& table, const char* command) {
  return fmt::format(
      "{}; with other fields, NAME+FIELD:VALUE; or a JSON file, "
      "as zeroulp {} NAME --json prints it",
      fmt::join(names_in(table), ", "), command);
}

}  // namespace

const json_kind<arm>& arm_json() {
  static const json_kind<arm> kind{"arm", "zeroulp arms full --json",
                                   parse_arm("full"),
                                   [](const std::string& text) {
                                     const arm a = parse_arm(text);
                                     return own_or_named<arm>{a.name, a};
                                   },
                                   as_json(arm_fields())};
  return kind;
}

const json_kind<train::model_shape>& size_json() {
  using train::model_shape;
  static const json_kind<model_shape> kind{
      "size", "zeroulp sizes T --json", train::parse_shape("T"),
      [](const std::string& text) {
        const model_shape s = train::parse_shape(text);
        return own_or_named<model_shape>{s.name, s};
      },
      as_json(train::shape_fields())};
  return kind;
}

arm find_arm(const std::string& text) {
  return find_value(arm_json(), named_arms, text, check_arm, arm_called);
}

train::model_shape find_size(const std::string& text) {
  return find_value(size_json(), train::named_shapes, text, train::check_shape,
                    train::shape_called);
}

described_run read_described_run(const std::string& file) {
  const json all = read_json(file, "name the folder of a run");
  const auto read_arm = [&file](const json& described) {
    return arm_called(described.at("name").get<std::string>(),
                      arm_json().read(described, file).value);
  };
  try {
    // A field that is absent, or is something else, is an error of json's.
    described_run run{
        {size_json().read(all.at("size"), file).value, read_arm(all.at("arm"))},
        all.at("data").get<std::string>(),
        all.at("plan").get<std::string>()};
    train::run_settings& s = run.settings;
    s.shape = train::shape_called(all.at("size").at("name").get<std::string>(),
                                  s.shape);
    if (all.contains("first")) {
      const json& first = all.at("first");
      s.first = {read_arm(first.at("arm")),
                 first.at("steps").get<std::int64_t>()};
    }
    all.at("seed").get_to(s.seed);
    all.at("shards").get_to(s.shards);
    all.at("rate").get_to(s.rate.rate);
    all.at("warmup").get_to(s.rate.warmup);
    all.at("hold").get_to(s.rate.hold);
    all.at("steps").get_to(s.rate.steps);
    all.at("last").get_to(s.rate.last);
    all.at("clip").get_to(s.clip);
    all.at("beta1").get_to(s.beta1);
    all.at("beta2").get_to(s.beta2);
    all.at("eps").get_to(s.eps);
    all.at("weight_decay").get_to(s.weight_decay);
    all.at("bias_speed").get_to(s.bias_speed);
    if (!all.at("stress").empty()) {
      throw input_error(file + ": a run with stress is the loss study's");
    }
    train::check(s);
    return run;
  } catch (const json::exception& e) {
    throw input_error(
        fmt::format("{}: no settings of a run: {}", file, e.what()));
  }
}

std::string arm_help() { return help_of(named_arms, "arms"); }
std::string size_help() { return help_of(train::named_shapes, "sizes"); }

}  // namespace zeroulp::program
