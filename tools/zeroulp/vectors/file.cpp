#include "tools/zeroulp/vectors/file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "src/base/whole_number.hpp"
#include "src/io/gzip.hpp"
#include "tools/zeroulp/operands.hpp"
#include "tools/zeroulp/program.hpp"
#include "zeroulp/core/gemm.hpp"
#include "zeroulp/spec_version.hpp"

namespace zeroulp::program {
namespace {

/// The most operands of a record that holds several steps.
constexpr std::size_t longest_record = 1 << 16;

/// Lines of a file, gzip-compressed or not.
class line_reader {
 public:
  explicit line_reader(const std::string& path)
      : path_(path), file_(open_gzip(path)) {}

  bool next(std::string& line) {
    line.clear();
    for (int c; (c = gzgetc(file_.get())) != -1;) {
      if (c == '\n') {
        if (!line.empty() && line.back() == '\r') line.pop_back();
        ++number_;
        return true;
      }
      line += static_cast<char>(c);
      if (line.size() > longest) {
        throw input_error(fmt::format("{}, line {}: longer than {} characters",
                                      path_, number_ + 1, longest));
      }
    }
    int error = Z_OK;
    gzerror(file_.get(), &error);
    if (error != Z_OK && error != Z_STREAM_END) {
      throw input_error(
          fmt::format("{}, after line {}: cannot be read or is "
                      "damaged: copy it again",
                      path_, number_));
    }
    if (line.empty()) return false;
    ++number_;
    return true;
  }

 private:
  static constexpr std::size_t longest = 1 << 22;
  std::string path_;
  gzip_file file_;
  int number_ = 0;
};

std::vector<std::string> split(const std::string& line) {
  std::vector<std::string> words;
  std::size_t at = 0;
  while ((at = line.find_first_not_of(" \t", at)) != std::string::npos) {
    const auto end = std::min(line.find_first_of(" \t", at), line.size());
    words.push_back(line.substr(at, end - at));
    at = end;
  }
  return words;
}

/// The path a header names; nothing for a comment.
std::optional<named_path> parse_header(const std::string& line) {
  const auto words = split(line);
  if (words.size() < 2 || words[1] != "zeroulp-vectors") return {};
  if (words.size() < 3 || words[2] != "1") {
    throw input_error("vectors of an unknown version: this program reads 1");
  }
  const auto value_of = [&words](std::string_view name) {
    for (const std::string_view word : words) {
      if (word.starts_with(name)) return word.substr(name.size());
    }
    return std::string_view();
  };
  const auto spec = value_of("spec=");
  if (!spec.empty() && !is_known_spec(whole_number<int>(spec).value_or(0))) {
    throw input_error(
        fmt::format("vectors of version {} of the SPEC: this "
                    "program has {}",
                    spec, spec_version));
  }
  const auto path = value_of("path=");
  if (!path.empty()) return parse_path(path);
  throw input_error("the header names no path=");
}

/// A record holds one step or several. A path of any length has one.
void check_lengths(std::size_t a, std::size_t b, const named_path& named) {
  const auto most = most_operands(named.value);
  const bool any_length = named.value.length() == 0;
  const bool fits =
      any_length ? a <= most : a > 0 && a % most == 0 && a <= longest_record;
  if (a == b && fits) return;
  throw input_error(
      fmt::format("{} operands in A, {} in B: {} takes {}{}{}", a, b,
                  named.name, any_length ? "as many on both sides, up to " : "",
                  most, any_length ? "" : ", or several times as many"));
}

/// D of the steps that follow one another: D of each is c of the next (T9).
std::uint64_t chained_steps(const path& p, const std::vector<std::uint64_t>& a,
                            const std::vector<std::uint64_t>& b,
                            std::uint64_t c) {
  std::vector<unpacked> x;
  std::vector<unpacked> y;
  for (const auto code : a) x.push_back(decode(p.a, code));
  for (const auto code : b) y.push_back(decode(p.b, code));
  const unpacked* const left = x.data();
  const unpacked* const right = y.data();
  // A chain without products has no step; a record without them is one.
  return x.empty() ? step(p, left, right, 0, c)
                   : chain(p, left, right, 0, std::ssize(x), c);
}

void check_record(const std::string& line, const named_path& named,
                  tally& count) {
  const auto words = split(line);
  if (words.size() != 4) {
    throw input_error(
        fmt::format("{} fields: a record is A B C D", words.size()));
  }
  const path& p = named.value;
  const auto a = parse_operands(words[0], p.a, "A");
  const auto b = parse_operands(words[1], p.b, "B");
  check_lengths(a.size(), b.size(), named);
  const int bits = p.acc.stored.bits();
  const auto c = parse_code(words[2], bits, "C");
  const auto d = parse_code(words[3], bits, "D");
  const auto ours = chained_steps(p, a, b, c);
  ++count.records;
  if (ours == d) return;
  if (count.mismatches++ == 0) {
    count.first = fmt::format("A {} B {} C {}: recorded {}, ours {}", words[0],
                              words[1], words[2], describe(p.acc.stored, d),
                              describe(p.acc.stored, ours));
  }
}

}  // namespace

line_source open_lines(const std::string& path) {
  const auto lines = std::make_shared<line_reader>(path);
  return [lines](std::string& line) { return lines->next(line); };
}

void check_vectors(const std::string& file, const line_source& lines,
                   tallies& found) {
  std::string line;
  std::optional<named_path> current;
  bool any = false;  // in this section
  for (int number = 1; lines(line); ++number) {
    try {
      if (line.find_first_not_of(" \t") == std::string::npos) continue;
      if (line[0] == '#') {
        const auto header = parse_header(line);
        if (!header) continue;
        if (current && !any) {
          throw input_error(fmt::format(
              "the section of {} above it holds no records", current->name));
        }
        current = header;
        any = false;
        continue;
      }
      if (!current) {
        throw input_error(
            "a record before the first '# zeroulp-vectors 1' "
            "header");
      }
      auto& count = found[current->name];
      const auto before = count.mismatches;
      check_record(line, *current, count);
      any = true;
      if (before == 0 && count.mismatches == 1) {
        count.first = fmt::format("{}, line {}: {}", file, number, count.first);
      }
    } catch (const input_error& e) {
      throw input_error(fmt::format("{}, line {}: {}", file, number, e.what()));
    }
  }
  if (!any) {
    throw input_error(fmt::format(
        "{}: {}holds no records", file,
        current ? fmt::format("its section of {} ", current->name) : ""));
  }
}

}  // namespace zeroulp::program
