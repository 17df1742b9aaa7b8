#include "tools/checkpoint/files/json.hpp"

#include <fmt/format.h>

#include <set>

#include "src/io/file_parts.hpp"
#include "tools/checkpoint/files/fault.hpp"

namespace zeroulp::checkpoint {
namespace {

/// Takes a header event by event. Places: 0 outside, 1 in the header, 2 in a
/// tensor or the metadata, 3 in a list of a tensor.
class header_reader {
 public:
  header_reader(raw_header& out, const std::string& file)
      : out_(out), file_(file) {}

  // What nlohmann's sax_parse calls.
  bool null() { return refuse_value("null"); }
  bool boolean(bool b) { return refuse_value(b ? "true" : "false"); }
  bool number_float(double, const std::string& text) {
    return refuse_value(text);
  }
  bool number_integer(std::int64_t n) {
    return refuse_value(fmt::to_string(n));
  }
  bool number_unsigned(std::uint64_t n) {
    if (level_ != 3) return refuse_value(fmt::to_string(n));
    auto& list = is_shape_ ? entry_.shape : entry_.offsets;
    if (list.size() >= most_numbers) {
      wrong(fmt::format("at most {} numbers in {}", most_numbers, key_),
            "more of them");
    }
    list.push_back(n);
    return true;
  }
  bool string(std::string& text) {
    if (level_ == 2 && in_metadata_) {
      out_.metadata[key_] = text;
      return true;
    }
    if (level_ != 2 || key_ != "dtype") return refuse_value("'" + text + "'");
    entry_.dtype = text;
    return true;
  }
  bool binary(std::vector<std::uint8_t>&) { return refuse_value("bytes"); }
  bool start_object(std::size_t) {
    if (level_ == 0) return enter();
    if (level_ != 1) return refuse_value("an object");
    in_metadata_ = key_ == "__metadata__";
    entry_ = {};
    if (!in_metadata_) entry_.name = key_;
    keys_.clear();
    return enter();
  }
  bool key(std::string& text) {
    auto& known = level_ == 1 ? names_ : keys_;
    if (!known.insert(text).second) {
      if (level_ == 1) entry_.name = text;
      wrong(level_ == 1 ? "one of this name" : "'" + text + "' once", "two");
    }
    const bool fits = level_ == 1 || in_metadata_ || text == "dtype" ||
                      text == "shape" || text == "data_offsets";
    if (!fits) wrong("dtype, shape and data_offsets", "'" + text + "'");
    key_ = text;
    return true;
  }
  bool end_object() {
    if (--level_ != 1) return true;
    if (!in_metadata_) {
      if (keys_.size() != 3) {
        wrong("dtype, shape and data_offsets",
              keys_.empty() ? "none of them"
                            : fmt::format("{}", fmt::join(keys_, ", ")));
      }
      out_.entries.push_back(std::move(entry_));
      entry_ = {};
    }
    in_metadata_ = false;
    return true;
  }
  bool start_array(std::size_t) {
    if (level_ != 2 || in_metadata_ || key_ == "dtype") {
      return refuse_value("a list");
    }
    is_shape_ = key_ == "shape";
    return enter();
  }
  bool end_array() {
    --level_;
    return true;
  }
  bool parse_error(std::size_t at, const std::string&,
                   const nlohmann::detail::exception&) {
    entry_ = {};
    wrong("a header of JSON", fmt::format("none at its byte {}", at));
  }

 private:
  static constexpr std::size_t most_numbers = 32;

  bool enter() {
    ++level_;
    return true;
  }
  [[noreturn]] void wrong(const std::string& expected,
                          const std::string& found) const {
    refuse({"header", file_, in_metadata_ ? "__metadata__" : entry_.name,
            expected, found});
  }
  [[noreturn]] bool refuse_value(const std::string& found) const {
    const std::string what = level_ == 0    ? "an object of tensors"
                             : level_ == 1  ? "an object for '" + key_ + "'"
                             : in_metadata_ ? "text for '" + key_ + "'"
                             : level_ == 2 && key_ == "dtype" ? "text for dtype"
                             : level_ == 2 ? "a list for " + key_
                                           : "whole numbers in " + key_;
    wrong(what, found);
  }

  raw_header& out_;
  const std::string& file_;
  int level_ = 0;
  bool in_metadata_ = false;
  bool is_shape_ = false;
  std::string key_;
  raw_entry entry_;
  std::set<std::string> names_;
  std::set<std::string> keys_;
};

}  // namespace

raw_header parse_raw_header(std::string_view text, const std::string& file) {
  raw_header out;
  header_reader reader(out, file);
  json::sax_parse(text.begin(), text.end(), &reader);
  return out;
}

template <class Json>
Json parse_strict_json(std::string_view text, const std::string& file) {
  std::vector<std::set<std::string>> keys;
  const auto check = [&](int around, typename Json::parse_event_t event,
                         Json& value) {
    using event_t = typename Json::parse_event_t;
    const bool opens =
        event == event_t::array_start || event == event_t::object_start;
    if (opens && around >= most_levels) {
      refuse({"json", file, "", fmt::format("{} levels at most", most_levels),
              "JSON that nests deeper"});
    }
    if (opens) keys.emplace_back();
    if (event == event_t::array_end || event == event_t::object_end) {
      keys.pop_back();
    }
    if (event == event_t::key &&
        !keys.back().insert(value.template get<std::string>()).second) {
      refuse({"json", file, "",
              "'" + value.template get<std::string>() + "' once", "it twice"});
    }
    return true;
  };
  Json value = Json::parse(text.begin(), text.end(), check, false);
  if (value.is_discarded()) refuse({"json", file, "", "JSON", "other text"});
  return value;
}

template <class Json>
Json read_strict_json(const std::filesystem::path& file) {
  constexpr std::uint64_t most = std::uint64_t{1} << 27;
  std::error_code error;
  const auto size = std::filesystem::file_size(file, error);
  if (!error && size > most) {
    refuse({"json", file.string(), "", fmt::format("{} bytes at most", most),
            fmt::format("{}", size)});
  }
  const auto bytes = read_file(file);
  return parse_strict_json<Json>(as_text(bytes), file.string());
}

template json parse_strict_json<json>(std::string_view, const std::string&);
template map_json parse_strict_json<map_json>(std::string_view,
                                              const std::string&);
template json read_strict_json<json>(const std::filesystem::path&);
template map_json read_strict_json<map_json>(const std::filesystem::path&);

}  // namespace zeroulp::checkpoint
