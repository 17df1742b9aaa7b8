// The .npy format: magic "\x93NUMPY", version, header length, a Python dict
// literal {'descr', 'fortran_order', 'shape'}, then the elements.

#include <fmt/format.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "src/io/npy_fields.hpp"
#include "zeroulp/io.hpp"

namespace zeroulp {
namespace {

static_assert(std::endian::native == std::endian::little,
              "elements are stored as little endian");

constexpr std::string_view magic = "\x93NUMPY";

dtype type_of(const npy_fields& h, std::string_view name) {
  std::string_view kind = h.descr;
  const char order = kind.empty() ? '\0' : kind.front();
  if (order == '<' || order == '|' || order == '=' || order == '>') {
    kind.remove_prefix(1);
  }
  for (const dtype t : {dtype::f16, dtype::f32, dtype::f64, dtype::u8,
                        dtype::u16, dtype::u32}) {
    if (descr_of(t).substr(1) != kind) continue;
    if (order != '>') return t;
    refuse_npy(name, h.descr_at, fmt::format("'{}' is big endian", h.descr),
               fmt::format("save x.astype('{}')", descr_of(t)));
  }
  if (kind == "O") {
    refuse_npy(name, h.descr_at, "the elements are Python objects",
               fmt::format("save numbers: {}", npy_types));
  }
  if (kind == "V1" || kind == "V2") {
    refuse_npy(
        name, h.descr_at,
        fmt::format("'{}' does not say what the bits mean", h.descr),
        fmt::format("save x.view('{}')", kind == "V1" ? "uint8" : "uint16"));
  }
  refuse_npy(name, h.descr_at,
             fmt::format("unknown element type '{}'", h.descr),
             fmt::format("save as {}", npy_types));
}

// Returns the number of elements; their bytes fit std::size_t, and so does any
// partial product of the shape, even where another dimension is zero.
std::size_t count_of(const npy_fields& h, std::size_t element,
                     std::string_view name) {
  std::size_t product = 1;
  bool empty = false;
  constexpr std::size_t top = std::numeric_limits<std::size_t>::max();
  for (const std::size_t dim : h.shape) {
    if (dim == 0) {
      empty = true;
    } else if (product > top / element / dim) {
      refuse_npy(name, h.shape_at, "the product of shape overflows 64 bits");
    } else {
      product *= dim;
    }
  }
  return empty ? 0 : product;
}

std::vector<std::byte> to_c_order(const std::vector<std::byte>& source,
                                  const std::vector<std::size_t>& shape,
                                  std::size_t element) {
  std::vector<std::byte> result(source.size());
  const std::size_t rank = shape.size();
  std::vector<std::size_t> stride(rank, element), index(rank, 0);
  for (std::size_t d = 1; d < rank; ++d) {
    stride[d] = stride[d - 1] * shape[d - 1];
  }
  std::size_t from = 0;
  for (std::size_t to = 0; to < result.size(); to += element) {
    std::memcpy(&result[to], &source[from], element);
    for (std::size_t d = rank; d-- > 0;) {
      from += stride[d];
      if (++index[d] < shape[d]) break;
      from -= stride[d] * shape[d];
      index[d] = 0;
    }
  }
  return result;
}

}  // namespace

std::string_view descr_of(dtype type) {
  constexpr std::string_view names[] = {"<f2", "<f4", "<f8",
                                        "|u1", "<u2", "<u4"};
  return names[static_cast<std::size_t>(type)];
}

array parse_npy(std::vector<std::byte> bytes, std::string_view name) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()),
                              bytes.size());
  const auto byte = [&](std::size_t i) {
    return static_cast<std::size_t>(std::to_integer<unsigned>(bytes[i]));
  };
  if (text.substr(0, magic.size()) != magic.substr(0, text.size()) ||
      text.empty()) {
    refuse_npy(name, 0, "this is not a .npy file", "save it with numpy.save");
  }
  if (bytes.size() < 10)
    refuse_npy(name, bytes.size(), "the file ends in its header");
  const std::size_t major = byte(6), minor = byte(7);
  if (major < 1 || major > 3 || minor != 0) {
    refuse_npy(name, 6, fmt::format("unknown version {}.{}", major, minor),
               "save it as version 1.0, 2.0 or 3.0");
  }
  const std::size_t start = major == 1 ? 10 : 12;
  if (bytes.size() < start) {
    refuse_npy(name, bytes.size(), "the file ends in its header");
  }
  std::size_t length = 0;
  for (std::size_t i = start; i-- > 8;) length = length << 8 | byte(i);
  if (length > bytes.size() - start) {
    refuse_npy(
        name, 8,
        fmt::format("the header length {} runs past the end of the file, {} "
                    "bytes",
                    length, bytes.size()));
  }
  npy_fields h = parse_npy_fields(text.substr(start, length), start, name);
  const dtype type = type_of(h, name);
  const std::size_t wanted = count_of(h, size_of(type), name) * size_of(type);
  const std::size_t present = bytes.size() - start - length;
  if (wanted != present) {
    refuse_npy(
        name, start + length,
        fmt::format("shape ({}) of '{}' needs {} bytes of data, the file "
                    "has {}",
                    fmt::join(h.shape, ", "), h.descr, wanted, present));
  }
  bytes.erase(bytes.begin(),
              bytes.begin() + static_cast<std::ptrdiff_t>(start + length));
  if (h.fortran_order && h.shape.size() > 1) {
    bytes = to_c_order(bytes, h.shape, size_of(type));
  }
  return {type, std::move(h.shape), std::move(bytes)};
}

std::string npy_header(const array& a) {
  std::size_t wanted = size_of(a.type);
  std::string shape;
  for (const std::size_t dim : a.shape) {
    if (__builtin_mul_overflow(wanted, dim, &wanted))
      wanted = a.data.size() + 1;
    shape += fmt::format("{}{},", shape.empty() ? "" : " ", dim);
  }
  if (wanted != a.data.size() || a.shape.size() > npy_max_rank) {
    throw std::invalid_argument("zeroulp::npy_header: data and shape disagree");
  }
  if (a.shape.size() > 1) shape.pop_back();
  std::string dict =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}",
                  descr_of(a.type), shape);
  constexpr std::size_t start = 10, unit = 64;
  dict.append(unit - (start + dict.size() + 1) % unit, ' ');
  dict += '\n';
  std::string result(magic);
  result += {'\x01', '\x00', static_cast<char>(dict.size() & 0xFF),
             static_cast<char>(dict.size() >> 8)};
  return result + dict;
}

array read_npy(const std::filesystem::path& path) {
  return parse_npy(read_file(path), path.string());
}

void write_npy(const std::filesystem::path& path, const array& a) {
  output_set files;
  files.add(path, a);
  files.commit();
}

}  // namespace zeroulp
