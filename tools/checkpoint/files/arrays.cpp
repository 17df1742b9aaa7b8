#include "tools/checkpoint/files/arrays.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "src/io/npy_fields.hpp"
#include "tools/checkpoint/files/fault.hpp"
#include "tools/checkpoint/files/window.hpp"

namespace zeroulp::checkpoint {
namespace {

/// Little-endian numbers of a text; what runs beyond it is refused.
class bytes_in {
 public:
  bytes_in(std::string_view text, const std::string& file)
      : text_(text), file_(file) {}
  std::uint64_t number(std::uint64_t at, std::uint64_t bytes) const {
    const auto part = slice(at, bytes);
    std::uint64_t n = 0;
    for (std::size_t i = part.size(); i-- > 0;) {
      n = n << 8 | static_cast<unsigned char>(part[i]);
    }
    return n;
  }
  std::string_view slice(std::uint64_t at, std::uint64_t bytes) const {
    if (at > text_.size() || bytes > text_.size() - at) {
      refuse({"zip", file_, "", fmt::format("{} bytes at byte {}", bytes, at),
              fmt::format("a file of {}", text_.size())});
    }
    return text_.substr(at, bytes);
  }

 private:
  std::string_view text_;
  const std::string& file_;
};

/// NumPy's types as those of safetensors; ml_dtypes saves its own as V1 and V2.
constexpr struct {
  const char* descr;
  element type;
} npy_elements[] = {
    {"|b1", element::boolean}, {"|u1", element::u8},  {"|i1", element::i8},
    {"<u2", element::u16},     {"<i2", element::i16}, {"<f2", element::f16},
    {"<u4", element::u32},     {"<i4", element::i32}, {"<f4", element::f32},
    {"<u8", element::u64},     {"<i8", element::i64}, {"<f8", element::f64},
    {"|V1", element::u8},      {"<V1", element::u8},  {"<V2", element::bf16},
    {"|V2", element::bf16},
};

constexpr std::uint64_t most_npy_header = 65536;

}  // namespace

entry entry_of_npy(std::string_view text, std::uint64_t size,
                   const std::string& file) {
  const bytes_in in(text, file);
  if (!text.starts_with("\x93NUMPY") || text.size() < 10) {
    refuse({"npy", file, "", "a .npy file", "other bytes"});
  }
  const auto major = in.number(6, 1);
  if (major < 1 || major > 3) {
    refuse({"npy", file, "", "version 1, 2 or 3", fmt::to_string(major)});
  }
  const std::uint64_t start = major == 1 ? 10 : 12;
  const std::uint64_t length = in.number(8, start - 8);
  if (length > most_npy_header) {
    refuse({"npy", file, "",
            fmt::format("a header of at most {} bytes", most_npy_header),
            fmt::to_string(length)});
  }
  const npy_fields f = parse_npy_fields(in.slice(start, length), start, file);
  if (f.fortran_order && f.shape.size() > 1) {
    refuse({"npy", file, "", "C order", "Fortran order"});
  }
  entry e;
  e.shape.assign(f.shape.begin(), f.shape.end());
  const auto* row =
      std::find_if(std::begin(npy_elements), std::end(npy_elements),
                   [&](const auto& r) { return r.descr == f.descr; });
  if (row == std::end(npy_elements)) {
    refuse({"npy", file, "", "elements of NumPy's plain types, little endian",
            "'" + f.descr + "'"});
  }
  e.type = row->type;
  const auto bytes = bytes_of(e.type, e.shape);
  e.offset = start + length;
  if (!bytes || *bytes != size - e.offset) {
    refuse({"npy", file, "",
            fmt::format("{} bytes for {}", bytes.value_or(0), text_of(e.shape)),
            fmt::to_string(size - e.offset)});
  }
  e.bytes = *bytes;
  return e;
}

std::vector<npz_member> members_of_npz(std::string_view text,
                                       const std::string& file) {
  const bytes_in in(text, file);
  const auto wrong = [&](const std::string& name, const std::string& expected,
                         const std::string& found) {
    refuse({"zip", file, name, expected, found});
  };
  // The last record is 22 bytes and a comment of at most 65535.
  const auto end = text.rfind("PK\x05\x06");
  if (end == text.npos || text.size() - end > 22 + 65535) {
    wrong("", "the last record of a ZIP file", "none");
  }
  const auto count = in.number(end + 10, 2);
  auto at = in.number(end + 16, 4);
  if (count == 0xffff || at == 0xffffffff) {
    wrong("", "a ZIP file below 4 GiB", "ZIP64");
  }
  std::vector<npz_member> found;
  for (std::uint64_t i = 0; i < count; ++i) {
    if (in.slice(at, 4) != "PK\x01\x02") {
      wrong("", fmt::format("a member's record at byte {}", at), "other bytes");
    }
    const auto name_bytes = in.number(at + 28, 2);
    const std::string name(in.slice(at + 46, name_bytes));
    if (in.number(at + 10, 2) != 0) {
      wrong(name, "a stored member: save with numpy.savez", "a compressed one");
    }
    const auto bytes = in.number(at + 20, 4);
    const auto local = in.number(at + 42, 4);
    if (bytes == 0xffffffff || local == 0xffffffff) {
      wrong(name, "a ZIP file below 4 GiB", "ZIP64");
    }
    if (in.slice(local, 4) != "PK\x03\x04") {
      wrong(name, fmt::format("its header at byte {}", local), "other bytes");
    }
    const auto data =
        local + 30 + in.number(local + 26, 2) + in.number(local + 28, 2);
    (void)in.slice(data, bytes);
    found.push_back({name, data, bytes});
    at += 46 + name_bytes + in.number(at + 30, 2) + in.number(at + 32, 2);
  }
  return found;
}

std::vector<entry> entries_of_arrays(const std::filesystem::path& path,
                                     std::uint64_t size) {
  const std::string file = path.string();
  const auto first = [&](std::uint64_t from, std::uint64_t bytes) {
    return window(path, size, from,
                  std::min<std::uint64_t>(bytes, most_npy_header + 12), false);
  };
  if (file.ends_with(".npy")) {
    const window head = first(0, size);
    entry e = entry_of_npy(head.text(), size, file);
    e.name = path.stem().string();
    return {std::move(e)};
  }
  const window all(path, size, 0, size, false);
  std::vector<entry> found;
  for (const auto& m : members_of_npz(all.text(), file)) {
    const window head = first(m.offset, m.bytes);
    entry e = entry_of_npy(head.text(), m.bytes, file + ": " + m.name);
    e.name =
        m.name.ends_with(".npy") ? m.name.substr(0, m.name.size() - 4) : m.name;
    e.offset += m.offset;
    found.push_back(std::move(e));
  }
  return found;
}

}  // namespace zeroulp::checkpoint
