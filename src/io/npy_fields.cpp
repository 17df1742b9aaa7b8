#include "src/io/npy_fields.hpp"

#include <fmt/format.h>

#include <limits>

#include "zeroulp/io.hpp"

namespace zeroulp {
namespace {

class fields_parser {
 public:
  fields_parser(std::string_view text, std::size_t base, std::string_view name)
      : text_(text), base_(base), name_(name) {}

  npy_fields parse() {
    npy_fields h;
    unsigned seen = 0;
    expect('{');
    while (!accept('}')) {
      const std::size_t at = where();
      const std::string key = quoted();
      expect(':');
      unsigned bit = 0;
      if (key == "descr") {
        bit = 1;
        h.descr_at = where();
        h.descr = descr();
      } else if (key == "fortran_order") {
        bit = 2;
        h.fortran_order = boolean();
      } else if (key == "shape") {
        bit = 4;
        h.shape_at = where();
        h.shape = tuple();
      } else {
        refuse_npy(name_, at, fmt::format("unknown header key '{}'", key));
      }
      if ((seen & bit) != 0) {
        refuse_npy(name_, at, fmt::format("header key '{}' stands twice", key));
      }
      seen |= bit;
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    constexpr const char* keys[] = {"descr", "fortran_order", "shape"};
    for (unsigned k = 0; k < 3; ++k) {
      if ((seen >> k & 1U) == 0) {
        refuse_npy(name_, base_,
                   fmt::format("the header has no key '{}'", keys[k]));
      }
    }
    skip_space();
    if (at_ != text_.size())
      refuse_npy(name_, where(), "text after the header");
    return h;
  }

 private:
  std::size_t where() {
    skip_space();
    return base_ + at_;
  }

  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' ||
                                  text_[at_] == '\t' || text_[at_] == '\r')) {
      ++at_;
    }
  }

  bool accept(char c) {
    skip_space();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  void expect(char c) {
    if (!accept(c)) {
      refuse_npy(name_, where(), fmt::format("the header needs '{}' here", c));
    }
  }

  std::string quoted() {
    const std::size_t start = where();
    const char quote = at_ < text_.size() ? text_[at_] : '\0';
    if (quote != '\'' && quote != '"') {
      refuse_npy(name_, start, "the header needs a quoted name here");
    }
    constexpr std::size_t longest = 64;
    const std::size_t end = text_.substr(at_ + 1, longest).find(quote);
    if (end == std::string_view::npos) {
      refuse_npy(name_, start,
                 "a name in the header does not end or is too long");
    }
    std::string result(text_.substr(at_ + 1, end));
    at_ += end + 2;
    return result;
  }

  std::string descr() {
    const std::size_t start = where();
    if (at_ < text_.size() && (text_[at_] == '[' || text_[at_] == '(')) {
      refuse_npy(name_, start, "the elements are structured",
                 fmt::format("save one field, as {}", npy_types));
    }
    return quoted();
  }

  bool boolean() {
    const std::size_t start = where();
    for (const std::string_view word : {"True", "False"}) {
      if (text_.substr(at_, word.size()) == word) {
        at_ += word.size();
        return word == "True";
      }
    }
    refuse_npy(name_, start, "fortran_order is neither True nor False");
  }

  std::size_t integer() {
    const std::size_t start = where();
    std::size_t value = 0;
    bool any = false;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9';
         ++at_, any = true) {
      const auto digit = static_cast<std::size_t>(text_[at_] - '0');
      constexpr std::size_t top = std::numeric_limits<std::size_t>::max();
      if (value > (top - digit) / 10) {
        refuse_npy(name_, start, "a dimension in shape does not fit 64 bits");
      }
      value = value * 10 + digit;
    }
    if (!any) refuse_npy(name_, start, "shape is not a tuple of integers >= 0");
    if (at_ < text_.size() && text_[at_] == 'L') ++at_;  // Python 2 wrote it
    return value;
  }

  std::vector<std::size_t> tuple() {
    std::vector<std::size_t> result;
    const std::size_t start = where();
    if (!accept('(')) {
      refuse_npy(name_, start, "shape is not a tuple of integers >= 0");
    }
    while (!accept(')')) {
      result.push_back(integer());
      if (result.size() > npy_max_rank) {
        refuse_npy(name_, start, "shape has more than 32 dimensions");
      }
      if (accept(',')) continue;
      if (result.size() == 1) {
        refuse_npy(name_, start, "shape is not a tuple of integers >= 0");
      }
      if (!accept(')')) {
        refuse_npy(name_, where(), "shape is not a tuple of integers >= 0");
      }
      break;
    }
    return result;
  }

  std::string_view text_;
  std::size_t base_;
  std::string_view name_;
  std::size_t at_ = 0;
};

}  // namespace

void refuse_npy(std::string_view name, std::size_t offset,
                std::string_view what, std::string_view remedy) {
  throw input_error(
      fmt::format("{}: byte {}: {}; {}", name, offset, what, remedy));
}

npy_fields parse_npy_fields(std::string_view text, std::size_t base,
                            std::string_view name) {
  return fields_parser(text, base, name).parse();
}

}  // namespace zeroulp
