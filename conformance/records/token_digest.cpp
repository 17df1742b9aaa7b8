// Prints a digest of what each source means to a compiler: its tokens.
//
//   token_digest FILE...     `hash path` lines: the first 16 digits of SHA-256
//
// Of C, C++ and CUDA: without comments, white space, line ends, #include lines
// and the names of include guards; neighbouring strings are one. So a mended
// comment, another layout, and a renamed file leave the digest as it is. Of
// other files: of all bytes. What is not seen to change nothing, changes it.

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/sha256.hpp"

namespace {

constexpr std::string_view sources[] = {".hpp", ".cpp", ".h",
                                        ".c",   ".cu",  ".cuh"};

bool is_source(std::string_view path) {
  return std::any_of(
      std::begin(sources), std::end(sources),
      [path](std::string_view ending) { return path.ends_with(ending); });
}

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

/// Operators of more than one character, the longest first. Not >>, which may
/// close two templates.
constexpr std::string_view operators[] = {
    "<=>", "...", "<<=", ">>=", "->*", "::", "->", "++", "--",
    "<<",  "<=",  ">=",  "==",  "!=",  "&&", "||", "+=", "-=",
    "*=",  "/=",  "%=",  "&=",  "|=",  "^=", "##", ".*"};

class tokenizer {
 public:
  explicit tokenizer(std::string text) : text_(std::move(text)) {}

  std::vector<std::string> tokens() {
    while (at_ < text_.size()) step();
    end_directive();
    drop_guard();
    return std::move(tokens_);
  }

 private:
  bool sees(std::string_view what) const {
    return std::string_view(text_).substr(at_).starts_with(what);
  }
  char here() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  void step() {
    if (sees("\\\n")) {
      at_ += 2;
    } else if (here() == '\n') {
      end_directive();
      ++at_;
    } else if (std::isspace(static_cast<unsigned char>(here())) != 0) {
      ++at_;
    } else if (sees("//")) {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else if (sees("/*")) {
      const auto end = text_.find("*/", at_ + 2);
      at_ = end == std::string::npos ? text_.size() : end + 2;
    } else {
      add(take());
    }
  }

  /// The token that starts here.
  std::string take() {
    const std::size_t start = at_;
    if (is_word(here()) ||
        (here() == '.' && at_ + 1 < text_.size() &&
         std::isdigit(static_cast<unsigned char>(text_[at_ + 1])) != 0)) {
      take_word();
      const auto word = text_.substr(start, at_ - start);
      const bool raw = here() == '"' && word.ends_with('R');
      if (raw) take_raw();
      if (!raw && (here() == '"' || here() == '\'') && is_prefix(word)) {
        take_quoted();
      }
    } else if (here() == '"' || here() == '\'') {
      take_quoted();
    } else {
      at_ += length_of_operator();
    }
    return text_.substr(start, at_ - start);
  }

  /// An identifier or a number, with its exponent's sign and its separators.
  void take_word() {
    const bool is_number = !(
        std::isalpha(static_cast<unsigned char>(here())) != 0 || here() == '_');
    for (; at_ < text_.size(); ++at_) {
      const char before = at_ > 0 ? text_[at_ - 1] : ' ';
      const bool exponent =
          std::string_view("eEpP").find(before) != std::string_view::npos;
      const bool sign = (here() == '+' || here() == '-') && exponent;
      const bool separator =
          here() == '\'' && at_ + 1 < text_.size() && is_word(text_[at_ + 1]);
      const bool more = here() == '.' || sign || separator;
      if (!is_word(here()) && !(is_number && more)) return;
    }
  }

  static bool is_prefix(std::string_view word) {
    return word == "L" || word == "u" || word == "U" || word == "u8";
  }

  void take_quoted() {
    const char quote = here();
    for (++at_; at_ < text_.size() && here() != quote; ++at_) {
      if (here() == '\\') ++at_;
    }
    ++at_;
  }

  void take_raw() {
    const auto open = text_.find('(', at_);
    const auto mark = ")" + text_.substr(at_ + 1, open - at_ - 1) + "\"";
    const auto end = text_.find(mark, open);
    at_ = end == std::string::npos ? text_.size() : end + mark.size();
  }

  std::size_t length_of_operator() const {
    for (const auto known : operators) {
      if (sees(known)) return known.size();
    }
    return 1;
  }

  void add(std::string token) {
    if (token == "#" && !in_directive_) {
      in_directive_ = true;
      directive_ = tokens_.size();
    }
    // "a" "b" is "ab".
    const bool joins = token.front() == '"' && !tokens_.empty() &&
                       tokens_.back().front() == '"' &&
                       tokens_.size() > (in_directive_ ? directive_ : 0);
    if (joins) {
      tokens_.back().pop_back();
      tokens_.back() += token.substr(1);
    } else {
      tokens_.push_back(std::move(token));
    }
  }

  /// A line ends what it defines; an #include line is left out.
  void end_directive() {
    if (!in_directive_) return;
    in_directive_ = false;
    const auto first =
        tokens_.begin() + static_cast<std::ptrdiff_t>(directive_);
    if (tokens_.end() - first > 1 && first[1] == "include") {
      tokens_.erase(first, tokens_.end());
    } else {
      tokens_.emplace_back("\n");
    }
  }

  /// #ifndef NAME, #define NAME at the start: without the name.
  void drop_guard() {
    const auto is = [this](std::size_t at, std::string_view word) {
      return at < tokens_.size() && tokens_[at] == word;
    };
    if (!is(0, "#") || !is(1, "ifndef") || !is(4, "#") || !is(5, "define")) {
      return;
    }
    if (!is(7, "\n") || tokens_[2] != tokens_[6]) return;
    tokens_[2].clear();
    tokens_[6].clear();
  }

  std::string text_;
  std::size_t at_ = 0;
  std::vector<std::string> tokens_;
  bool in_directive_ = false;
  std::size_t directive_ = 0;  ///< where its tokens start
};

std::string digest_of(const std::string& path, std::string bytes) {
  if (is_source(path)) {
    std::string all;
    for (const auto& token : tokenizer(std::move(bytes)).tokens()) {
      all += token;
      all += '\0';
    }
    bytes = std::move(all);
  }
  return zeroulp::sha256_hex(bytes).substr(0, 16);
}

}  // namespace

int main(int count, char** arguments) {
  for (int i = 1; i < count; ++i) {
    std::ifstream in(arguments[i], std::ios::binary);
    if (!in) {
      std::fprintf(stderr, "token_digest: %s: cannot be read\n", arguments[i]);
      return 2;
    }
    std::string bytes{std::istreambuf_iterator<char>(in), {}};
    std::printf("%s %s\n", digest_of(arguments[i], std::move(bytes)).c_str(),
                arguments[i]);
  }
}
