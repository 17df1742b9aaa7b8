// Defines how a value with fields is JSON: one table of fields, which writing
// and reading share.
//
//   {"name": "mine", "like": "vllm", "fields": {"scale_floor": 1e-7}}
//
// Fields that are absent are those of the named value in `like`, or of a
// default.

#ifndef ZEROULP_TOOLS_ZEROULP_TENSOR_JSON_FIELDS_HPP_
#define ZEROULP_TOOLS_ZEROULP_TENSOR_JSON_FIELDS_HPP_

#include <fmt/format.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "src/base/near_names.hpp"
#include "tools/zeroulp/json_input.hpp"
#include "tools/zeroulp/program.hpp"

namespace zeroulp::program {

/// A field: how it is written, and how a value sets it. `set` throws
/// input_error that says what is taken.
template <class T>
struct json_field {
  const char* name;
  std::function<json(const T&)> get;
  std::function<void(T&, const json&)> set;
};

/// Throws input_error: what was found, and what is taken.
[[noreturn]] inline void refuse_value(const json& value,
                                      const std::string& taken) {
  throw input_error(fmt::format("is {}: use {}", value.dump(), taken));
}

/// A field whose value is one of `names`, in the order of the enum.
template <class T, class Enum>
json_field<T> choice_field(const char* name, Enum T::*member,
                           std::span<const char* const> names) {
  return {name,
          [=](const T& x) {
            return json(names[static_cast<std::size_t>(x.*member)]);
          },
          [=](T& x, const json& value) {
            for (std::size_t i = 0; i < names.size(); ++i) {
              if (value == names[i]) {
                x.*member = static_cast<Enum>(i);
                return;
              }
            }
            refuse_value(value, fmt::format("{}", fmt::join(names, ", ")));
          }};
}

/// A field that is a whole number from `least`.
template <class T>
json_field<T> count_field(const char* name, std::int32_t T::*member,
                          std::int32_t least) {
  return {name, [=](const T& x) { return json(x.*member); },
          [=](T& x, const json& value) {
            constexpr auto most = std::numeric_limits<std::int32_t>::max();
            if (!value.is_number_integer() || value < least || value > most) {
              refuse_value(value, fmt::format("a whole number from {} to {}",
                                              least, most));
            }
            x.*member = value.get<std::int32_t>();
          }};
}

/// A field that is a text; `parse` throws input_error that says what is taken.
template <class T, class Member>
json_field<T> text_field(const char* name, Member T::*member,
                         std::function<std::string(const Member&)> text,
                         std::function<Member(const std::string&)> parse) {
  return {
      name, [=](const T& x) { return json(text(x.*member)); },
      [=](T& x, const json& value) {
        if (!value.is_string()) refuse_value(value, "a text");
        try {
          x.*member = parse(value.get<std::string>());
        } catch (const input_error& e) {
          throw input_error(fmt::format("is {}: {}", value.dump(), e.what()));
        }
      }};
}

/// A field that is text, as JSON.
template <class T>
json_field<T> as_json(const value_field<T>& f) {
  return {
      f.name.c_str(),
      [f](const T& x) {
        const std::string text = f.text(x);
        switch (f.of) {
          case field_kind::number:
            return json(std::stod(text));
          case field_kind::count:
            return json(std::stoll(text));
          case field_kind::flag:
            return json(text == "true");
          case field_kind::word:
            break;
        }
        return json(text);
      },
      [f](T& x, const json& value) {
        const bool is_flag = f.of == field_kind::flag;
        const bool is_word = f.of == field_kind::word;
        const bool fits = is_flag   ? value.is_boolean()
                          : is_word ? value.is_string()
                                    : value.is_number();
        if (!fits) {
          refuse_value(value, is_flag   ? "true or false"
                              : is_word ? "a text"
                                        : "a number");
        }
        try {
          f.set(x, is_flag   ? value.dump()
                   : is_word ? value.get<std::string>()
                             : fmt::format("{}", value.get<double>()));
        } catch (const input_error& e) {
          throw input_error(fmt::format("is {}: {}", value.dump(), e.what()));
        }
      }};
}
/// Those of a table that lives as long as the process.
template <class T>
std::vector<json_field<T>> as_json(const std::vector<value_field<T>>& fields) {
  std::vector<json_field<T>> all;
  for (const auto& f : fields) all.push_back(as_json(f));
  return all;
}

/// A value of somebody's own, or a named one.
template <class T>
struct own_or_named {
  std::string name;
  T value;
  bool is_own = false;
};

/// Values of one kind as JSON.
template <class T>
struct json_kind {
  const char* what;     ///< "convention"
  const char* example;  ///< "zeroulp conventions vllm --json"
  T base;               ///< of which absent fields are, without `like`
  /// Throws input_error.
  std::function<own_or_named<T>(const std::string&)> named;
  std::vector<json_field<T>> fields;

  /// All fields of a value, each as `read` takes it.
  json fields_of(const T& value) const {
    json all = json::object();
    for (const auto& f : fields) all[f.name] = f.get(value);
    return all;
  }

  /// The value of an object as above. Throws input_error that names `where`,
  /// the field, what was found and what is taken.
  own_or_named<T> read(const json& object, const std::string& where) const {
    if (!object.is_object() || !object.contains("fields") ||
        !object["fields"].is_object()) {
      throw input_error(fmt::format(
          "{}: no {}: use {{\"name\": ..., \"like\": another {}, \"fields\": "
          "{{...}}}}, as {} prints it",
          where, what, what, example));
    }
    own_or_named<T> result{"own", base, true};
    for (const auto& item : object.items()) {
      const json& value = item.value();
      if (item.key() == "fields" || item.key() == "source") continue;
      if ((item.key() != "name" && item.key() != "like") ||
          !value.is_string()) {
        throw input_error(
            fmt::format("{}: '{}' is {}: use name, like (texts) and fields",
                        where, item.key(), value.dump()));
      }
      if (item.key() == "name") {
        result.name = value.get<std::string>();
      } else {
        result.value = named(value.get<std::string>()).value;
      }
    }
    for (const auto& item : object["fields"].items()) {
      set(result.value, item.key(), item.value(), where);
    }
    return result;
  }

  /// A named value, or a file: text that ends in .json or has a slash.
  own_or_named<T> find(const std::string& text) const {
    if (text.ends_with(".json") || text.find('/') != std::string::npos) {
      return read(read_json(text, fmt::format("use what {} prints", example)),
                  text);
    }
    return named(text);
  }

 private:
  void set(T& to, const std::string& name, const json& value,
           const std::string& where) const {
    for (const auto& f : fields) {
      if (f.name != name) continue;
      try {
        f.set(to, value);
      } catch (const input_error& e) {
        throw input_error(fmt::format("{}: {} {}", where, name, e.what()));
      }
      return;
    }
    throw input_error(fmt::format("{}: unknown field '{}': {}", where, name,
                                  use_one_of(name, fields)));
  }
};

}  // namespace zeroulp::program

#endif  // ZEROULP_TOOLS_ZEROULP_TENSOR_JSON_FIELDS_HPP_
