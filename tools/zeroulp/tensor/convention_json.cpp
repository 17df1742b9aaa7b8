#include "tools/zeroulp/tensor/convention_json.hpp"

namespace zeroulp::program {
namespace {

json to_json(const convention_field& f, const std::string& text) {
  switch (f.of) {
    case convention_field::kind::number:
      return std::stod(text);
    case convention_field::kind::flag:
      return text == "true";
    case convention_field::kind::word:
      break;
  }
  return text;
}

json_field<convention> as_json(const convention_field& f) {
  return {
      f.name, [f](const convention& c) { return to_json(f, f.text(c)); },
      [f](convention& c, const json& value) {
        const bool is_flag = f.of == convention_field::kind::flag;
        const bool is_number = f.of == convention_field::kind::number;
        const bool fits = is_flag     ? value.is_boolean()
                          : is_number ? value.is_number()
                                      : value.is_string();
        if (!fits) {
          refuse_value(value, is_flag     ? "true or false"
                              : is_number ? "a number"
                                          : "a text");
        }
        try {
          f.set(c, is_number ? fmt::format("{}", value.get<double>())
                   : is_flag ? value.dump()
                             : value.get<std::string>());
        } catch (const input_error& e) {
          throw input_error(fmt::format("is {}: {}", value.dump(), e.what()));
        }
      }};
}

std::vector<json_field<convention>> fields() {
  std::vector<json_field<convention>> all;
  for (const auto& f : convention_fields()) all.push_back(as_json(f));
  return all;
}

}  // namespace

const json_kind<convention>& convention_json() {
  static const json_kind<convention> kind{
      "convention", "zeroulp conventions vllm --json", zeroulp_convention,
      [](const std::string& text) {
        const auto c = parse_convention(text);
        return own_or_named<convention>{c.name, c.value};
      },
      fields()};
  return kind;
}

}  // namespace zeroulp::program
