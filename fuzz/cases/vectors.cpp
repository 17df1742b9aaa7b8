// Vector files: written and read.

#include "fuzz/cases/vectors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "zeroulp/io.hpp"

namespace zeroulp::fuzz {
namespace {

/// An operand's width in a file, and the bit at which its code begins.
struct field {
  int bits;
  int below;
  explicit field(format f)
      : bits(f == tf32 ? 32 : f.bits()), below(f == tf32 ? 13 : 0) {}
  std::size_t digits() const { return static_cast<std::size_t>(bits + 3) / 4; }
};

void append(std::string& text, format f, std::uint64_t code) {
  const field x(f);
  for (std::size_t n = x.digits(); n-- > 0;) {
    text += "0123456789abcdef"[(code << x.below) >> (4 * n) & 15];
  }
}

std::string digit_count(std::size_t n) {
  return fmt::format("{} hex digit{}", n, n == 1 ? "" : "s");
}

/// Takes codes off a line, field by field.
class record_reader {
 public:
  explicit record_reader(std::string_view line) : rest_(line) {}

  /// Sets `codes` to those of the next field.
  void next(format f, std::vector<std::uint64_t>& codes) {
    const auto end = std::min(rest_.find(' '), rest_.size());
    const auto text = rest_.substr(0, end);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    const field x(f);
    if (text.empty() || text.size() % x.digits() != 0) {
      throw input_error(
          fmt::format("'{}' is no field of {} operands", text, name_of(f)));
    }
    codes.clear();
    for (std::size_t i = 0; i < text.size(); i += x.digits()) {
      std::uint64_t bits = 0;
      for (const char digit : text.substr(i, x.digits())) {
        bits = bits << 4 | value_of(digit);
      }
      if (bits >> x.bits != 0) throw input_error("a code is too wide");
      codes.push_back(bits >> x.below);
    }
  }

  std::uint64_t next_code(format f) {
    next(f, one_);
    if (one_.size() != 1) throw input_error("C and D are one code each");
    return one_.front();
  }

  void end() const {
    if (!rest_.empty()) throw input_error("more than the fields A B C D");
  }

 private:
  static std::uint64_t value_of(char digit) {
    if (digit >= '0' && digit <= '9') {
      return static_cast<std::uint64_t>(digit - '0');
    }
    if (digit >= 'a' && digit <= 'f') {
      return static_cast<std::uint64_t>(digit - 'a' + 10);
    }
    throw input_error(fmt::format("'{}' is no hexadecimal digit", digit));
  }

  std::string_view rest_;
  std::vector<std::uint64_t> one_;
};

constexpr std::string_view header = "# zeroulp-vectors 1 path=";

}  // namespace

std::string to_text(const vector_section& s) {
  std::string text(header);
  text += s.of.name;
  for (const auto& [name, value] : s.fields) {
    std::string word = value;
    std::replace(word.begin(), word.end(), ' ', '_');
    text += fmt::format(" {}={}", name, word);
  }
  text += '\n';
  for (const auto& line : s.comments) text += "# " + line + '\n';
  const path& p = s.of.value;
  for (std::size_t i = 0; i < s.cases.size(); ++i) {
    const step_case& x = s.cases[i];
    for (const auto code : x.a) append(text, p.a, code);
    text += ' ';
    for (const auto code : x.b) append(text, p.b, code);
    text += ' ';
    append(text, p.acc.stored, x.c);
    text += ' ';
    append(text, p.acc.stored, s.d[i]);
    text += '\n';
  }
  return text;
}

std::vector<std::string> comments_on(const path& p,
                                     const std::vector<step_case>& cases) {
  const auto operands = [&p](const char* name, format f) {
    const field x(f);
    return fmt::format(
        "{}: {} operands of {} bits ({}), {} each, k ascending{}", name,
        p.length() > 0 ? fmt::format("{}", p.length()) : "1 or more", x.bits,
        name_of(f), digit_count(x.digits()),
        f == tf32 ? "; the low 13 bits are ignored" : "");
  };
  const format stored = p.acc.stored;
  std::vector<std::string> lines = {
      "A B C D: bits in hexadecimal, the highest digit of each operand first",
      operands("A", p.a), operands("B", p.b),
      fmt::format("C and D: {} bits ({}), {}", stored.bits(), name_of(stored),
                  digit_count(field(stored).digits()))};
  const target_info& info = info_of(target::step);
  const auto bins = info.bins();
  std::vector<std::uint64_t> hits(bins.size());
  for (const auto& s : cases) info.cover(problem_of(p, s), {}, hits);
  lines.push_back(fmt::format(
      "bins {} of {}, those of all paths; below, the hits of each",
      bins.size() -
          static_cast<std::size_t>(std::count(hits.begin(), hits.end(), 0u)),
      bins.size()));
  for (std::size_t i = 0; i < bins.size(); ++i) {
    if (hits[i] > 0) lines.push_back(fmt::format("{} {}", hits[i], bins[i]));
  }
  return lines;
}

void read_vectors(std::string_view text, int stride, const use_record& use) {
  std::optional<named_path> of;
  step_case s;
  int records = 0;
  for (int number = 1; !text.empty(); ++number) {
    const auto end = std::min(text.find('\n'), text.size());
    const auto line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    try {
      if (line.starts_with(header)) {
        const auto name = line.substr(header.size());
        of = parse_path(name.substr(0, name.find(' ')));
      }
      if (line.starts_with('#')) continue;
      if (!of) throw input_error("a record before the first header");
      if (records++ % stride != 0) continue;
      const path& p = of->value;
      record_reader fields(line);
      fields.next(p.a, s.a);
      fields.next(p.b, s.b);
      if (s.a.size() != s.b.size() ||
          (p.length() > 0 &&
           s.a.size() != static_cast<std::size_t>(p.length()))) {
        throw input_error("A and B have not the path's number of operands");
      }
      s.count = static_cast<int>(s.a.size());
      s.c = fields.next_code(p.acc.stored);
      const auto d = fields.next_code(p.acc.stored);
      fields.end();
      if (!use(*of, s, d)) return;
    } catch (const input_error& e) {
      throw input_error(fmt::format("line {}: {}", number, e.what()));
    }
  }
}

}  // namespace zeroulp::fuzz
