// Tensors of a dump as matrices, and two dumps' tensors compared in pieces.

#include "tools/parity/dump.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstring>

#include "src/base/sha256.hpp"
#include "tools/parity/numbers.hpp"
#include "zeroulp/core/convert.hpp"
#include "zeroulp/io.hpp"
#include "zeroulp/names.hpp"

namespace zeroulp::parity {
namespace {

using checkpoint::element;
using checkpoint::tensor;

constexpr std::uint64_t piece = 1 << 20;  // elements

/// Formats that a container of bits may hold.
bool fits_container(element type, format f) {
  switch (type) {
    case element::u8:
    case element::i8:
      return f == fuzz::integer || f.bits() <= 8;
    case element::u16:
    case element::i16:
      return f == fuzz::integer || (f.bits() <= 16 && f.bits() > 8);
    case element::u32:
    case element::i32:
    case element::i64:
    case element::u64:
      return f == fuzz::integer || f == fuzz::row_word || f == fp32;
    default:
      return false;
  }
}

std::uint64_t load(const std::byte* at, int bytes) {
  std::uint64_t word = 0;
  std::memcpy(&word, at, static_cast<std::size_t>(bytes));
  return word;
}

int width_of(const tensor& t, const std::string& path) {
  const int bits = checkpoint::bits_of(t.type);
  if (bits < 8) {
    throw input_error(
        fmt::format("{}: tensor '{}' is {}: packed elements are "
                    "of checkpoints, not of a pass",
                    path, t.name, checkpoint::name_of(t.type)));
  }
  return bits / 8;
}

/// Files have rows from 0 on, and -1 for none; the fuzzer's words count from 1.
std::uint64_t row_word_of(std::uint64_t word, int bytes) {
  return word == low_bits(8 * bytes) ? 0 : word + 1;
}

bool is_signed(element type) {
  return type == element::i8 || type == element::i16 || type == element::i32 ||
         type == element::i64;
}

/// An element as a number; signed integers of any width are the same numbers.
double number(const tensor& t, std::uint64_t code) {
  if (const auto f = checkpoint::row_of(t.type).holds) {
    return to_double(decode(*f, code));
  }
  if (!is_signed(t.type)) return static_cast<double>(code);
  const int unused = 64 - checkpoint::bits_of(t.type);
  return static_cast<double>(static_cast<std::int64_t>(code << unused) >>
                             unused);
}

}  // namespace

dump::dump(const std::filesystem::path& path,
           std::map<std::string, std::string> names)
    : files_(checkpoint::open_checkpoint(path)), names_(std::move(names)) {}

bool dump::has(const std::string& name) const {
  const auto other = names_.find(name);
  return files_.find(other == names_.end() ? name : other->second) != nullptr;
}

const tensor& dump::find(const std::string& name) const {
  const auto other = names_.find(name);
  const std::string& mine = other == names_.end() ? name : other->second;
  const tensor* const t = files_.find(mine);
  if (t == nullptr) {
    throw input_error(fmt::format(
        "{}: there is no tensor '{}', which the chain names", path(), mine));
  }
  return *t;
}

extent dump::extent_of(const std::string& name, bool is_column) const {
  const auto& shape = find(name).shape;
  if (is_column) return {find(name).count(), 1};
  extent e;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    (i + 1 == shape.size() ? e.cols : e.rows) *= shape[i];
  }
  return e;
}

std::optional<format> dump::format_of(const std::string& name) const {
  return checkpoint::row_of(find(name).type).holds;
}

fuzz::matrix dump::read(const std::string& name, const char* as, format type,
                        fuzz::range r, bool is_column) const {
  const tensor& t = find(name);
  const auto held = checkpoint::row_of(t.type).holds;
  const bool is_widened = type == fp32 && held && *held != fp32;
  if (!(held && *held == type) && !is_widened &&
      !fits_container(t.type, type)) {
    throw input_error(
        fmt::format("{}: tensor '{}' is {}: '{}' is {}", path(), t.name,
                    checkpoint::name_of(t.type), as,
                    type == fuzz::integer ? "integers" : name_of(type)));
  }
  const int width = width_of(t, path());
  const extent e = extent_of(name, is_column);
  fuzz::matrix m(as, type, r.length, static_cast<std::ptrdiff_t>(e.cols));
  const std::uint64_t from = static_cast<std::uint64_t>(r.first) * e.cols *
                             static_cast<std::uint64_t>(width);
  const auto bytes = m.words.size() * static_cast<std::size_t>(width);
  const auto part = files_.map(t, from, bytes);
  for (std::size_t i = 0; i < m.words.size(); ++i) {
    const std::uint64_t word =
        load(part.data() + i * static_cast<std::size_t>(width), width);
    m.words[i] = is_widened               ? widened(*held, word, fp32)
                 : type == fuzz::row_word ? row_word_of(word, width)
                                          : word;
  }
  return m;
}

bool tensor_difference::differs_in(std::uint64_t first,
                                   std::uint64_t count) const {
  for (std::uint64_t g = first / whole_groups;
       g < groups.size() && g * whole_groups < first + count; ++g) {
    if (groups[g]) return true;
  }
  return false;
}

tensor_difference compare(const dump& a, const dump& b, const std::string& name,
                          bool is_column) {
  const tensor& x = a.find(name);
  const tensor& y = b.find(name);
  tensor_difference d;
  d.elements = x.count();
  d.type_a = checkpoint::name_of(x.type);
  d.type_b = checkpoint::name_of(y.type);
  if (x.shape != y.shape) {
    d.other_shape = true;
    return d;
  }
  const int wx = width_of(x, a.path()), wy = width_of(y, b.path());
  const auto fx = checkpoint::row_of(x.type).holds;
  const auto fy = checkpoint::row_of(y.type).holds;
  // Codes in a container of bits, and as what they are, are the same.
  const bool same_type =
      x.type == y.type || (wx == wy && fx.has_value() != fy.has_value());
  const extent shape = a.extent_of(name, is_column);
  const std::uint64_t cols = std::max<std::uint64_t>(shape.cols, 1);
  d.rows = shape.rows;
  d.groups.resize((shape.rows + whole_groups - 1) / whole_groups);
  double error = 0, size = 0;
  sha256 bytes;
  for (std::uint64_t at = 0; at < d.elements; at += piece) {
    const std::uint64_t n = std::min(piece, d.elements - at);
    const auto px = a.files().map(x, at * static_cast<std::uint64_t>(wx),
                                  n * static_cast<std::uint64_t>(wx));
    const auto py = b.files().map(y, at * static_cast<std::uint64_t>(wy),
                                  n * static_cast<std::uint64_t>(wy));
    if (same_type && px.text() == py.text()) {
      if (d.different == 0) bytes.add(px.text());
      continue;
    }
    for (std::uint64_t i = 0; i < n; ++i) {
      const std::uint64_t u =
          load(px.data() + i * static_cast<std::uint64_t>(wx), wx);
      const std::uint64_t v =
          load(py.data() + i * static_cast<std::uint64_t>(wy), wy);
      const double p = number(x, u), q = number(y, v);
      const bool same = same_type ? u == v : p == q;
      if (std::isfinite(p) && std::isfinite(q)) {
        error += (p - q) * (p - q);
        size += p * p;
      }
      if (same) continue;
      d.groups[(at + i) / cols / whole_groups] = true;
      if (d.different++ == 0) {
        d.first_row = (at + i) / cols;
        d.first_col = (at + i) % cols;
      }
    }
  }
  if (d.different > 0) {
    d.relative = size > 0 ? std::sqrt(error / size) : std::sqrt(error);
  } else if (same_type) {
    d.digest = bytes.hex();
  }
  return d;
}

}  // namespace zeroulp::parity
