#include "tools/study/error/matrix.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "src/base/sha256.hpp"
#include "zeroulp/core/convert.hpp"

namespace zeroulp::study {
namespace {

constexpr std::string_view bf16_mark = ":bf16";

struct matrix_name {
  std::string_view file;
  bool is_bf16;
  std::string_view digest;  ///< may be empty
};

/// A name of another file is empty.
matrix_name parse_name(std::string_view text) {
  matrix_name x{text, false, {}};
  const auto strip = [](std::string_view all) {
    const bool marked = all.ends_with(bf16_mark);
    return marked ? all.substr(0, all.size() - bf16_mark.size()) : all;
  };
  const auto at = text.rfind('@');
  if (at != std::string_view::npos &&
      strip(text.substr(0, at)).ends_with(".npy")) {
    x.file = text.substr(0, at);
    x.digest = text.substr(at + 1);
  }
  const auto bare = strip(x.file);
  x.is_bf16 = bare.size() != x.file.size();
  x.file = bare.ends_with(".npy") ? bare : std::string_view{};
  return x;
}

void check_type(const user_matrix& x) {
  const dtype type = x.values.type;
  if (x.is_bf16) {
    if (type == dtype::u16) return;
    throw input_error(fmt::format("{}: elements are {}: :bf16 needs uint16",
                                  x.file, descr_of(type)));
  }
  if (type == dtype::f16 || type == dtype::f32 || type == dtype::f64) return;
  throw input_error(
      fmt::format("{}: elements are {}: use float16, float32, float64, or "
                  "uint16 as {}:bf16",
                  x.file, descr_of(type), x.file));
}

std::shared_ptr<const user_matrix> read(const matrix_name& name) {
  auto x = std::make_shared<user_matrix>();
  x->file = name.file;
  x->is_bf16 = name.is_bf16;
  auto bytes = read_file(x->file);
  const auto digest =
      sha256_hex({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  if (!name.digest.empty() && name.digest != digest) {
    throw input_error(fmt::format(
        "{}: its SHA-256 is {}, not {}: another file than was asked for",
        x->file, digest, name.digest));
  }
  x->name =
      fmt::format("{}{}@{}", x->file, x->is_bf16 ? bf16_mark : "", digest);
  x->values = parse_npy(std::move(bytes), x->file);
  check_type(*x);
  const auto& shape = x->values.shape;
  if (shape.size() != 2 || x->values.size() == 0) {
    throw input_error(fmt::format(
        "{}: {}: use a matrix, rows of K elements", x->file,
        shape.size() == 2 ? "no elements"
                          : fmt::format("{} dimensions", shape.size())));
  }
  x->rows = static_cast<std::ptrdiff_t>(shape[0]);
  x->cols = static_cast<std::ptrdiff_t>(shape[1]);
  for (std::ptrdiff_t i = 0; i < x->rows; ++i) {
    for (std::ptrdiff_t k = 0; k < x->cols; ++k) {
      const double v = x->at(i, k);
      if (!std::isfinite(v)) {
        throw input_error(
            fmt::format("{}: element ({}, {}) is {}: a cell needs finite "
                        "numbers",
                        x->file, i, k, v));
      }
      x->largest = std::max(x->largest, std::fabs(v));
    }
  }
  return x;
}

}  // namespace

double user_matrix::at(std::ptrdiff_t i, std::ptrdiff_t k) const {
  const auto index = static_cast<std::size_t>(i * cols + k);
  switch (values.type) {
    case dtype::f64:
      return values.as<double>()[index];
    case dtype::f32:
      return static_cast<double>(values.as<float>()[index]);
    default:
      break;
  }
  return to_double(
      decode(is_bf16 ? bf16 : fp16, values.as<std::uint16_t>()[index]));
}

bool names_matrix(std::string_view text) {
  return !parse_name(text).file.empty();
}

std::shared_ptr<const user_matrix> read_matrix(std::string_view text) {
  static std::map<std::string, std::weak_ptr<const user_matrix>> known;
  auto& entry = known[std::string(text)];
  auto x = entry.lock();
  if (x == nullptr) entry = x = read(parse_name(text));
  return x;
}

}  // namespace zeroulp::study
