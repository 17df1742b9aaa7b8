// Quantizer conventions as JSON: one table of fields, which writing and reading
// share.

#include "tools/zeroulp/tensor/convention_json.hpp"

#include <fmt/format.h>

#include <functional>
#include <span>
#include <vector>

#include "tools/zeroulp/json_input.hpp"
#include "zeroulp/core/quantize.hpp"

namespace zeroulp::program {
namespace {

/// A field: how it is written, and how a value sets it. `set` throws
/// input_error that says what is taken.
struct field {
  const char* name;
  std::function<json(const convention&)> get;
  std::function<void(convention&, const json&)> set;
};

/// What a field says: its value in double quotes or as a number.
[[noreturn]] void refuse_value(const json& value, const std::string& taken) {
  throw input_error(fmt::format("is {}: use {}", value.dump(), taken));
}

/// A field of FP32 bits: a number, or text for parse_number.
field number_field(const char* name, std::uint32_t convention::*member) {
  return {
      name,
      [=](const convention& c) {
        // The shortest decimal that is this FP32 number.
        return json(std::stod(fmt::format("{}", bit_cast<float>(c.*member))));
      },
      [=](convention& c, const json& value) {
        if (!value.is_number() && !value.is_string()) {
          refuse_value(value, "a number");
        }
        const auto x =
            value.is_string()
                ? parse_number(value.get<std::string>())
                : parse_number(fmt::format("{}", value.get<double>()));
        const auto bits =
            static_cast<std::uint32_t>(encode(fp32, x, {}, ocp_nonsaturate));
        if (bits >= 0x7f800000) {
          refuse_value(value, "a number that is finite and not negative");
        }
        c.*member = bits;
      }};
}

/// A field that is yes or no; `at` gives a reference to it.
template <class At>
field flag_field(const char* name, At at) {
  return {name, [=](const convention& c) { return json(bool{at(c)}); },
          [=](convention& c, const json& value) {
            if (!value.is_boolean()) refuse_value(value, "true or false");
            at(c) = value.get<bool>();
          }};
}

/// A field whose value is one of `names`, in the order of the enum.
template <class Enum>
field choice_field(const char* name, Enum convention::*member,
                   std::span<const char* const> names) {
  return {name,
          [=](const convention& c) {
            return json(names[static_cast<std::size_t>(c.*member)]);
          },
          [=](convention& c, const json& value) {
            for (std::size_t i = 0; i < names.size(); ++i) {
              if (value == names[i]) {
                c.*member = static_cast<Enum>(i);
                return;
              }
            }
            refuse_value(value, fmt::format("{}", fmt::join(names, ", ")));
          }};
}

field conversion_field() {
  return {"conversion",
          [](const convention& c) {
            for (const auto& p : named_policies) {
              if (p.value == c.conversion) return json(p.name);
            }
            return json(nullptr);
          },
          [](convention& c, const json& value) {
            if (!value.is_string()) refuse_value(value, "a policy's name");
            c.conversion = parse_policy(value.get<std::string>());
          }};
}

const std::vector<field>& fields() {
  static constexpr const char* scales[] = {"quotient", "times_reciprocal",
                                           "reciprocal_inverse",
                                           "reciprocal_product"};
  static constexpr const char* elements[] = {"exact_quotient", "quotient",
                                             "scale_reciprocal", "inverse",
                                             "approximate_quotient"};
  static constexpr const char* amaxes[] = {"finite_only", "skip_nan",
                                           "keep_nan"};
  static constexpr const char* exponents[] = {"exact", "of_scale", "of_log2"};
  static constexpr const char* throughs[] = {"none", "bf16", "fp16"};
  static const std::vector<field> all = {
      number_field("amax_floor", &convention::amax_floor),
      number_field("scale_floor", &convention::scale_floor),
      choice_field("scale", &convention::scale, scales),
      choice_field("element", &convention::element, elements),
      choice_field("amax", &convention::amax, amaxes),
      choice_field("exponent", &convention::exponent, exponents),
      choice_field("pre_rounding", &convention::through, throughs),
      number_field("largest", &convention::largest),
      flag_field(
          "unit_scale_of_zero",
          [](auto& c) -> auto& { return c.edges.unit_of_zero; }),
      flag_field(
          "unit_scale_of_infinity",
          [](auto& c) -> auto& { return c.edges.unit_of_infinity; }),
      flag_field(
          "unit_scale_of_nan",
          [](auto& c) -> auto& { return c.edges.unit_of_nan; }),
      flag_field(
          "finite_inverse",
          [](auto& c) -> auto& { return c.edges.finite_inverse; }),
      flag_field(
          "positive_scale", [](auto& c) -> auto& { return c.edges.positive; }),
      flag_field(
          "bf16_amax", [](auto& c) -> auto& { return c.bf16_amax; }),
      flag_field(
          "bf16_scale", [](auto& c) -> auto& { return c.bf16_scale; }),
      flag_field(
          "unrounded_inverse",
          [](auto& c) -> auto& { return c.unrounded_inverse; }),
      flag_field(
          "power_of_two", [](auto& c) -> auto& { return c.power_of_two; }),
      conversion_field()};
  return all;
}

void set_field(convention& c, const std::string& name, const json& value,
               const std::string& where) {
  for (const auto& f : fields()) {
    if (f.name != name) continue;
    try {
      f.set(c, value);
    } catch (const input_error& e) {
      throw input_error(fmt::format("{}: {} {}", where, name, e.what()));
    }
    return;
  }
  std::vector<std::string> known;
  for (const auto& f : fields()) known.emplace_back(f.name);
  throw input_error(fmt::format("{}: unknown field '{}': use {}", where, name,
                                fmt::join(known, ", ")));
}

}  // namespace

json fields_of(const convention& c) {
  json all = json::object();
  for (const auto& f : fields()) all[f.name] = f.get(c);
  return all;
}

any_convention any_convention_of(const json& object, const std::string& where) {
  if (!object.is_object() || !object.contains("fields") ||
      !object["fields"].is_object()) {
    throw input_error(fmt::format(
        "{}: no convention: use {{\"name\": ..., \"like\": a convention, "
        "\"fields\": {{...}}}}, as zeroulp conventions vllm --json prints it",
        where));
  }
  any_convention result{"own", zeroulp_convention, true};
  for (const auto& item : object.items()) {
    const json& value = item.value();
    if (item.key() == "fields" || item.key() == "source") continue;
    if ((item.key() != "name" && item.key() != "like") || !value.is_string()) {
      throw input_error(
          fmt::format("{}: '{}' is {}: use name, like (texts) and fields",
                      where, item.key(), value.dump()));
    }
    if (item.key() == "name") {
      result.name = value.get<std::string>();
    } else {
      result.value = parse_convention(value.get<std::string>()).value;
    }
  }
  for (const auto& item : object["fields"].items()) {
    set_field(result.value, item.key(), item.value(), where);
  }
  return result;
}

any_convention read_convention(const std::string& text) {
  if (text.ends_with(".json") || text.find('/') != std::string::npos) {
    return any_convention_of(
        read_json(text, "use what zeroulp conventions NAME --json prints"),
        text);
  }
  const auto named = parse_convention(text);
  return {named.name, named.value, false};
}

}  // namespace zeroulp::program
