// The protocol between zeroulp and a plug-in's process.

#include "conformance/plugin/process/protocol.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>

namespace zeroulp::conformance::plugin {
namespace {

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         (c >= '0' && c <= '9') ||
         std::string_view("-._:=,/").find(c) != std::string_view::npos;
}

/// No valid line is longer.
constexpr std::size_t longest_line = 1 << 16;

}  // namespace

const std::vector<operation_spec>& operations() {
  using enum role;
  const auto text = [](const char* name) { return field_spec{name, true}; };
  const auto whole = [](const char* name) { return field_spec{name, false}; };
  static const std::vector<field_spec> router = {
      text("score"), text("group_score"), whole("top"),  whole("groups"),
      whole("kept"), whole("normalized"), whole("scale")};
  static const std::vector<operation_spec> all = {
      {"quantize",
       {text("from"), text("to"), text("scale"), text("convention"),
        whole("group_rows"), whole("group_cols")},
       {{"x", input}, {"codes", output}, {"scales", output}}},
      {"dequantize",
       {text("from"), whole("group_rows"), whole("group_cols")},
       {{"codes", input}, {"scales", input}, {"x", output}}},
      {"retile",
       {text("from"), text("to"), text("scale"), text("rule"), whole("tile")},
       {{"codes", input},
        {"scales", input},
        {"out_codes", output},
        {"out_scales", output}}},
      {"gemm",
       {text("a_format"), text("b_format"), text("output"), text("recipe"),
        whole("a_group_mn"), whole("a_group_k"), whole("b_group_mn"),
        whole("b_group_k"), whole("interval"), whole("accumulate")},
       {{"a", input},
        {"b", input},
        {"a_scales", input},
        {"b_scales", input},
        {"c", input},
        {"d", output}}},
      {"swiglu",
       {text("from"), text("to")},
       {{"g", input}, {"u", input}, {"h", output}}},
      {"adamw",
       {text("gradient"), text("moment"), text("rounding"),
        whole("one_minus_beta1"), whole("one_minus_beta2"),
        whole("inverse_sqrt_bias2"), whole("eps"), whole("decay"),
        whole("step"), whole("seed"), whole("first")},
       {{"g", input},
        {"m", update},
        {"v", update},
        {"w", update},
        {"copy", output}}},
      {"combine",
       {text("rule")},
       {{"x", input}, {"slots", input}, {"weights", input}, {"out", output}}},
      {"rms_norm_backward",
       {},
       {{"dy", input},
        {"x", input},
        {"w", input},
        {"rstd", input},
        {"residual", input},
        {"dx", output},
        {"dw", output}}},
      {"route",
       router,
       {{"logits", input},
        {"bias", input},
        {"scores", output},
        {"experts", output},
        {"weights", output}}},
      {"route_backward",
       router,
       {{"scores", input},
        {"experts", input},
        {"dweights", input},
        {"dlogits", output}}},
      {"attention_forward",
       {whole("length"), whole("heads"), whole("scale")},
       {{"q", input},
        {"k", input},
        {"v", input},
        {"o", output},
        {"largest", output},
        {"inverse", output}}},
      {"attention_backward",
       {whole("length"), whole("heads"), whole("scale")},
       {{"q", input},
        {"k", input},
        {"v", input},
        {"o", input},
        {"largest", input},
        {"inverse", input},
        {"d_o", input},
        {"dq", output},
        {"dk", output},
        {"dv", output}}},
  };
  return all;
}

std::size_t page_bytes() {
  static const auto bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

std::string to_word(std::string_view text) {
  std::string word;
  for (const char c : text) {
    if (is_plain(c)) {
      word += c;
    } else {
      word += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return word;
}

std::string from_word(std::string_view word) {
  std::string text;
  for (std::size_t i = 0; i < word.size(); ++i) {
    unsigned code = 0;
    const char* const digits = word.data() + i + 1;
    const bool is_code =
        word[i] == '%' && i + 2 < word.size() &&
        std::from_chars(digits, digits + 2, code, 16).ptr == digits + 2;
    text += is_code ? static_cast<char>(code) : word[i];
    if (is_code) i += 2;
  }
  return text;
}

std::string one_line(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = ' ';
  }
  return text;
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  while (!line.empty()) {
    const auto end = std::min(line.find(' '), line.size());
    words.push_back(line.substr(0, end));
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  return words;
}

bool line_socket::send(std::string_view line) {
  std::string text(line);
  text += '\n';
  for (std::size_t sent = 0; sent < text.size();) {
    const auto n =
        ::send(fd_, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    sent += static_cast<std::size_t>(n);
  }
  return true;
}

line_socket::result line_socket::receive(std::string& line, double seconds) {
  using clock = std::chrono::steady_clock;
  const auto start = clock::now();
  for (;;) {
    const auto end = rest_.find('\n');
    if (end != std::string::npos) {
      line = rest_.substr(0, end);
      rest_.erase(0, end + 1);
      return result::line;
    }
    if (rest_.size() > longest_line) return result::end;
    int wait = -1;
    if (seconds >= 0) {
      const std::chrono::duration<double> gone = clock::now() - start;
      wait = static_cast<int>(std::max(0.0, (seconds - gone.count()) * 1e3));
    }
    pollfd p{fd_, POLLIN, 0};
    const int ready = ::poll(&p, 1, wait);
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0) return result::timeout;
    char part[4096];
    const auto n = ::recv(fd_, part, sizeof part, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return result::end;
    rest_.append(part, static_cast<std::size_t>(n));
  }
}

}  // namespace zeroulp::conformance::plugin
