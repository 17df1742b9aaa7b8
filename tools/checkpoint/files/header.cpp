#include "tools/checkpoint/files/header.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tools/checkpoint/files/fault.hpp"
#include "tools/checkpoint/files/json.hpp"

namespace zeroulp::checkpoint {
namespace {

/// The tensor that `raw` describes, its offset counted from the data's
/// beginning.
entry entry_of(raw_entry&& raw, std::uint64_t data, const std::string& file) {
  const auto wrong = [&](const std::string& expected,
                         const std::string& found) {
    refuse({"header", file, raw.name, expected, found});
  };
  if (raw.name.size() > most_name_bytes) {
    raw.name.resize(64);
    wrong(fmt::format("a name of at most {} bytes", most_name_bytes), "more");
  }
  const auto type = find_element(raw.dtype);
  if (!type) wrong("dtype one of " + element_names(), "'" + raw.dtype + "'");
  const auto bytes = bytes_of(*type, raw.shape);
  if (!bytes) {
    wrong("a shape of whole bytes, below 2^63",
          fmt::format("{} of {}", text_of(raw.shape), raw.dtype));
  }
  if (raw.offsets.size() != 2) {
    wrong("two data_offsets", fmt::to_string(raw.offsets.size()));
  }
  const auto begin = raw.offsets[0];
  const auto end = raw.offsets[1];
  if (begin > end || end > data) {
    wrong(fmt::format("data_offsets within {} bytes of data", data),
          text_of(raw.offsets));
  }
  if (end - begin != *bytes) {
    wrong(fmt::format("{} bytes for {} of {}", *bytes, text_of(raw.shape),
                      raw.dtype),
          fmt::format("{} between its data_offsets", end - begin));
  }
  return {std::move(raw.name), *type, std::move(raw.shape), begin, *bytes};
}

/// Throws unless the entries, sorted, have every byte of the data once.
void check_cover(const std::vector<entry>& entries, std::uint64_t data,
                 const std::string& file) {
  std::uint64_t end = 0;
  const entry* before = nullptr;
  for (const auto& e : entries) {
    if (e.offset != end) {
      refuse({"header", file, e.name,
              fmt::format("data from byte {} on{}", end,
                          before ? ", where " + before->name + " ends" : ""),
              fmt::format("{} at byte {}",
                          e.offset < end ? "an overlap" : "a hole", e.offset)});
    }
    end = e.offset + e.bytes;
    before = &e;
  }
  if (end != data) {
    refuse({"header", file, before ? before->name : "",
            fmt::format("the data to end at byte {}, with the file", data),
            fmt::format("its end at byte {}", end)});
  }
}

}  // namespace

std::string text_of(const shape_t& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

std::optional<std::uint64_t> bytes_of(element type, const shape_t& shape) {
  // Any partial product fits, even where another dimension is 0.
  constexpr std::uint64_t most = std::uint64_t{1} << 63;
  const auto bits = static_cast<std::uint64_t>(bits_of(type));
  std::uint64_t product = bits;
  bool empty = false;
  for (const auto dim : shape) {
    if (dim == 0) {
      empty = true;
    } else if (product > most / dim) {
      return {};
    } else {
      product *= dim;
    }
  }
  if (empty) return 0;
  if (product % 8 != 0) return {};
  return product / 8;
}

std::uint64_t header_length(std::string_view first, std::uint64_t size,
                            const std::string& file) {
  if (first.size() < 8) {
    refuse({"header", file, "", "8 bytes and a header",
            fmt::format("{} bytes", size)});
  }
  std::uint64_t length = 0;
  for (int i = 7; i >= 0; --i) {
    length = length << 8 |
             static_cast<unsigned char>(first[static_cast<std::size_t>(i)]);
  }
  if (length > most_header_bytes) {
    refuse({"header", file, "",
            fmt::format("a header of at most {} bytes", most_header_bytes),
            fmt::to_string(length)});
  }
  if (length > size - 8) {
    refuse({"header", file, "", fmt::format("a header of {} bytes", length),
            fmt::format("a file of {}", size)});
  }
  return length;
}

file_header parse_header(std::string_view text, std::uint64_t size,
                         const std::string& file) {
  raw_header raw = parse_raw_header(text, file);
  const std::uint64_t start = 8 + text.size();
  const std::uint64_t data = size - start;
  file_header h;
  h.metadata = std::move(raw.metadata);
  h.entries.reserve(raw.entries.size());
  for (auto& e : raw.entries) {
    h.entries.push_back(entry_of(std::move(e), data, file));
  }
  std::sort(h.entries.begin(), h.entries.end(),
            [](const entry& a, const entry& b) {
              if (a.offset != b.offset) return a.offset < b.offset;
              return a.bytes != b.bytes ? a.bytes < b.bytes : a.name < b.name;
            });
  check_cover(h.entries, data, file);
  for (auto& e : h.entries) e.offset += start;
  return h;
}

std::string make_header(std::vector<entry>& entries,
                        const std::map<std::string, std::string>& metadata) {
  // By hand: a tree of the whole finds each name by a search.
  const auto quoted = [](const std::string& t) { return json(t).dump(); };
  std::string text = "{";
  if (!metadata.empty()) {
    text += "\"__metadata__\":" + json(metadata).dump();
  }
  std::uint64_t at = 0;
  for (auto& e : entries) {
    e.offset = at;
    e.bytes = bytes_of(e.type, e.shape).value();
    at += e.bytes;
    text += fmt::format(
        "{}{}:{{\"dtype\":\"{}\",\"shape\":[{}],\"data_offsets\":[{},{}]}}",
        text.size() > 1 ? "," : "", quoted(e.name), name_of(e.type),
        fmt::join(e.shape, ","), e.offset, at);
  }
  text += "}";
  text.append((8 - text.size() % 8) % 8, ' ');
  std::string first;
  for (int shift = 0; shift < 64; shift += 8) {
    first += static_cast<char>(text.size() >> shift & 0xff);
  }
  for (auto& e : entries) e.offset += first.size() + text.size();
  return first + text;
}

}  // namespace zeroulp::checkpoint
