// Fills in the templates of pages.

#include "tools/study/report/markup.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <stdexcept>

#include "tools/study/report/page_template.hpp"

namespace zeroulp {
namespace {

using fillings = std::initializer_list<filling>;

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      case '\'':
        result += "&#39;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

std::string_view text_of(std::string_view name, fillings all) {
  const auto* const found =
      std::find_if(all.begin(), all.end(),
                   [name](const filling& f) { return f.name == name; });
  if (found == all.end()) {
    throw std::logic_error(fmt::format("a page has no '{}'", name));
  }
  return found->text;
}

/// Takes what stands before `end` off `rest`, and `end` with it.
std::string_view take_to(std::string_view& rest, std::string_view end) {
  const auto at = rest.find(end);
  if (at == rest.npos) {
    throw std::logic_error(fmt::format("a page's form has no '{}'", end));
  }
  const auto before = rest.substr(0, at);
  rest.remove_prefix(at + end.size());
  return before;
}

std::map<std::string_view, std::string_view> read_parts() {
  constexpr std::string_view begin = "{{part ";
  std::map<std::string_view, std::string_view> parts;
  std::string_view rest = parts_template;
  take_to(rest, begin);
  while (!rest.empty()) {
    const auto name = take_to(rest, "}}");
    const auto end = std::min(rest.find(begin), rest.size());
    auto form = rest.substr(0, end);
    rest.remove_prefix(std::min(rest.size(), end + begin.size()));
    if (form.ends_with('\n')) form.remove_suffix(1);
    parts.emplace(name, form);
  }
  return parts;
}

}  // namespace

std::string fill(std::string_view form, fillings all) {
  std::string result;
  std::string_view rest = form;
  for (std::size_t at; (at = rest.find("{{")) != rest.npos;) {
    result += rest.substr(0, at);
    rest.remove_prefix(at + 2);
    if (rest.starts_with('{')) {
      rest.remove_prefix(1);
      result += text_of(take_to(rest, "}}}"), all);
    } else if (rest.starts_with('?')) {
      rest.remove_prefix(1);
      const auto name = take_to(rest, "}}");
      const auto inner = take_to(rest, fmt::format("{{{{/{}}}}}", name));
      if (!text_of(name, all).empty()) result += fill(inner, all);
    } else {
      result += escaped(text_of(take_to(rest, "}}"), all));
    }
  }
  return result += rest;
}

std::string fill_part(std::string_view name, fillings all) {
  static const auto parts = read_parts();
  const auto found = parts.find(name);
  if (found == parts.end()) {
    throw std::logic_error(fmt::format("no part of a page is '{}'", name));
  }
  return fill(found->second, all);
}

}  // namespace zeroulp
