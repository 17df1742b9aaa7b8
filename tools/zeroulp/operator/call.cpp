// The arguments of an operator by name: parsed, read, made, written.

#include "tools/zeroulp/operator/call.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <sstream>

#include "src/base/near_names.hpp"
#include "tools/zeroulp/program.hpp"

namespace zeroulp::program {
namespace {

/// The type without ".column" or ".list".
std::string element_of(const std::string& type) {
  return type.substr(0, type.find('.'));
}
bool ends_in(const std::string& type, const char* suffix) {
  const auto dot = type.find('.');
  return dot != std::string::npos && type.substr(dot + 1) == suffix;
}

struct element_row {
  const char* name;
  dtype type;
  const char* stored;
};
constexpr element_row elements[] = {
    {"bf16", dtype::u16, "uint16, the codes of BF16"},
    {"fp32", dtype::f32, "float32"},
    {"e4m3", dtype::u8, "uint8, the codes of E4M3"},
    {"index", dtype::u32, "uint32"},
};
const element_row* element_named(const std::string& name) {
  for (const auto& e : elements) {
    if (name == e.name) return &e;
  }
  return nullptr;
}

std::vector<std::string> parts_of(const std::string& text, char at) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, at);) parts.push_back(part);
  return parts;
}

}  // namespace

std::vector<operator_argument> arguments_of(const std::string& signature) {
  std::vector<operator_argument> all;
  bool output = false;
  for (auto& word : parts_of(signature, ' ')) {
    if (word == ">") {
      output = true;
      continue;
    }
    const bool optional = word.back() == '?';
    if (optional) word.pop_back();
    const auto colon = word.find(':');
    all.push_back({word.substr(0, colon), word.substr(colon + 1),
                   optional || output, output});
  }
  return all;
}

operator_call::operator_call(const operator_row& row,
                             const std::vector<std::string>& words)
    : arguments_(arguments_of(row.signature)) {
  const auto see = [&] { return "see zeroulp operator " + row.name; };
  for (const auto& word : words) {
    const auto equals = word.find('=');
    if (equals == std::string::npos) {
      throw input_error(
          fmt::format("{}: use NAME=FILE.npy or NAME=VALUE: {}", word, see()));
    }
    const std::string name = word.substr(0, equals);
    std::vector<std::string_view> known;
    for (const auto& a : arguments_) known.push_back(a.name);
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      throw input_error(fmt::format("{} has no argument '{}': {}", row.name,
                                    name, use_one_of(name, known)));
    }
    if (equals + 1 == word.size()) {
      throw input_error(fmt::format("{}= has no value", name));
    }
    if (!texts_.emplace(name, word.substr(equals + 1)).second) {
      throw input_error(fmt::format("{}= is given twice", name));
    }
  }
  for (const auto& a : arguments_) {
    const bool choice = a.type.find('|') != std::string::npos;
    if (!a.optional && !choice && !has(a.name)) {
      throw input_error(
          fmt::format("{} needs {}=: {}", row.name, a.name, see()));
    }
  }
}

bool operator_call::has(const std::string& name) const {
  return texts_.count(name) > 0;
}

const operator_argument& operator_call::argument(
    const std::string& name) const {
  const auto at = std::find_if(arguments_.begin(), arguments_.end(),
                               [&](const auto& a) { return a.name == name; });
  return *at;
}

const std::string& operator_call::text_of(const std::string& name) const {
  return texts_.at(name);
}

operator_call::matrix operator_call::read(const operator_argument& a,
                                          const std::string& path) const {
  array x = read_npy(path);
  const auto& element = *element_named(element_of(a.type));
  if (x.type != element.type) {
    throw input_error(fmt::format("{}={}: elements are {}: use {}", a.name,
                                  path, descr_of(x.type), element.stored));
  }
  const bool column = ends_in(a.type, "column");
  if (x.shape.size() == 1) {
    x.shape.insert(column ? x.shape.end() : x.shape.begin(), 1);
  }
  if (x.shape.size() != 2) {
    throw input_error(fmt::format("{}={}: {} dimensions: use a matrix", a.name,
                                  path, x.shape.size()));
  }
  return {std::move(x.data), x.type, static_cast<std::ptrdiff_t>(x.shape[0]),
          static_cast<std::ptrdiff_t>(x.shape[1])};
}

template <class T>
matrix_view<const T> operator_call::given(const std::string& name) {
  if (!has(name)) return {};
  auto& m = inputs_[name];
  m = read(argument(name), text_of(name));
  return {reinterpret_cast<const T*>(m.data.data()), m.rows, m.cols};
}

matrix_view<const std::uint16_t> operator_call::bf16(const std::string& name) {
  return given<std::uint16_t>(name);
}
matrix_view<const std::uint32_t> operator_call::fp32(const std::string& name) {
  return given<std::uint32_t>(name);
}
matrix_view<const std::uint8_t> operator_call::e4m3(const std::string& name) {
  return given<std::uint8_t>(name);
}
matrix_view<const std::int32_t> operator_call::index(const std::string& name) {
  return given<std::int32_t>(name);
}

std::vector<matrix_view<const std::uint32_t>> operator_call::fp32_list(
    const std::string& name) {
  std::vector<matrix_view<const std::uint32_t>> all;
  for (const auto& path : parts_of(text_of(name), ',')) {
    auto& m = inputs_[fmt::format("{},{}", name, all.size())];
    m = read(argument(name), path);
    all.emplace_back(reinterpret_cast<const std::uint32_t*>(m.data.data()),
                     m.rows, m.cols);
  }
  return all;
}

std::ptrdiff_t operator_call::count(const std::string& name,
                                    std::ptrdiff_t usual) {
  if (!has(name)) return usual;
  const auto& text = text_of(name);
  std::int32_t value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) {
    throw input_error(fmt::format(
        "{}={}: use a whole number from 0 to 2^31 - 1", name, text));
  }
  return value;
}

std::uint32_t operator_call::number(const std::string& name,
                                    std::uint32_t usual) {
  if (!has(name)) return usual;
  try {
    return static_cast<std::uint32_t>(zeroulp::encode(
        zeroulp::fp32, parse_number(text_of(name)), {}, ocp_nonsaturate));
  } catch (const input_error& e) {
    throw input_error(fmt::format("{}: {}", name, e.what()));
  }
}

int operator_call::choice(const std::string& name) {
  if (!has(name)) return 0;
  const auto words = parts_of(argument(name).type, '|');
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (text_of(name) == words[i]) return static_cast<int>(i);
  }
  throw input_error(
      fmt::format("{}={}: {}", name, text_of(name),
                  use_one_of(text_of(name), {words.begin(), words.end()})));
}

template <class T>
matrix_view<T> operator_call::made(const std::string& name, dtype type,
                                   std::ptrdiff_t m, std::ptrdiff_t n) {
  require_memory(static_cast<double>(m) * static_cast<double>(n) * sizeof(T));
  auto& x = outputs_[name];
  x = {std::vector<std::byte>(static_cast<std::size_t>(m * n) * sizeof(T)),
       type, m, n};
  return {reinterpret_cast<T*>(x.data.data()), m, n};
}

matrix_view<std::uint16_t> operator_call::to_bf16(const std::string& name,
                                                  std::ptrdiff_t m,
                                                  std::ptrdiff_t n) {
  return made<std::uint16_t>(name, dtype::u16, m, n);
}
matrix_view<std::uint32_t> operator_call::to_fp32(const std::string& name,
                                                  std::ptrdiff_t m,
                                                  std::ptrdiff_t n) {
  return made<std::uint32_t>(name, dtype::f32, m, n);
}
matrix_view<std::int32_t> operator_call::to_index(const std::string& name,
                                                  std::ptrdiff_t m,
                                                  std::ptrdiff_t n) {
  return made<std::int32_t>(name, dtype::u32, m, n);
}
matrix_view<std::uint32_t> operator_call::to_fp32_from(
    const std::string& name, matrix_view<const std::uint32_t> x) {
  const auto out = to_fp32(name, x.rows, x.cols);
  for (std::ptrdiff_t i = 0; i < x.rows; ++i) {
    for (std::ptrdiff_t j = 0; j < x.cols; ++j) out(i, j) = x(i, j);
  }
  return out;
}

void operator_call::write() {
  output_set files;
  std::string said;
  for (const auto& a : arguments_) {
    if (!a.output || !has(a.name)) continue;
    auto& m = outputs_.at(a.name);
    files.add(text_of(a.name), array{m.type,
                                     {static_cast<std::size_t>(m.rows),
                                      static_cast<std::size_t>(m.cols)},
                                     std::move(m.data)});
    said += fmt::format("{}: {} {} x {}\n", text_of(a.name), element_of(a.type),
                        m.rows, m.cols);
  }
  files.commit();
  print(said);
}

}  // namespace zeroulp::program
