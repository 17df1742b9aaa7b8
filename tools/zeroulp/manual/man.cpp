#include "tools/zeroulp/manual/man.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

namespace zeroulp::program {
namespace {

constexpr const char* exit_status = R"(.SH EXIT STATUS
.TP
0
held
.TP
1
a mismatch was found, or what held says too little (VACUOUS)
.TP
2
the request or its input was bad: one line on standard error says why
)";

/// Text that troff prints as it is.
std::string plain_troff(std::string_view text) {
  std::string result;
  bool is_first = true;  // of its line
  for (const char c : text) {
    if (is_first && (c == '.' || c == '\'')) result += "\\&";
    is_first = c == '\n';
    switch (c) {
      case '\\':
        result += "\\e";
        break;
      case '-':
        result += "\\-";
        break;
      case '\'':
        result += "\\(aq";
        break;
      case '`':
        result += "\\(ga";
        break;
      case '^':
        result += "\\(ha";
        break;
      case '~':
        result += "\\(ti";
        break;
      default:
        result += c;
    }
  }
  return result;
}

std::string bold(std::string_view text) {
  return "\\fB" + plain_troff(text) + "\\fR";
}

std::string italic(std::string_view text) {
  return "\\fI" + plain_troff(text) + "\\fR";
}

std::string all_bold(const std::vector<std::string>& names) {
  std::vector<std::string> parts;
  for (const auto& name : names) parts.push_back(bold(name));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) {
    return static_cast<char>(std::toupper(c));
  });
  return text;
}

std::string called(const shown_command& c) {
  return c.name.empty() ? "zeroulp" : "zeroulp " + c.name;
}

/// How the command is called: what must be there, and that there are options.
std::string synopsis_of(const shown_command& c) {
  std::string text = ".SH SYNOPSIS\n" + bold(called(c));
  for (const auto& o : c.options) {
    if (!o.is_required) continue;
    text += " " + bold(o.names.back());
    if (!o.type.empty()) text += " " + italic(o.type);
  }
  if (!c.options.empty()) text += " [" + italic("OPTION") + "]...";
  for (const auto& a : c.arguments) {
    const auto name = italic(a.names.back()) + (a.is_repeated ? "..." : "");
    text += a.is_required ? " " + name : " [" + name + "]";
  }
  if (!c.commands.empty()) text += " " + italic("COMMAND");
  return text + "\n";
}

std::string item_of(const shown_option& o, bool is_argument) {
  std::string text = ".TP\n";
  text += is_argument ? italic(o.names.back()) : all_bold(o.names);
  if (!is_argument && !o.type.empty()) text += " " + italic(o.type);
  if (o.is_repeated) text += "...";
  std::string what = plain_troff(o.what);
  const auto add = [&what](const std::string& more) {
    what += (what.empty() ? "" : "; ") + more;
  };
  if (o.is_required) add("required");
  if (!o.given.empty()) add("default: " + plain_troff(o.given));
  if (!o.needs.empty()) add("needs " + all_bold(o.needs));
  if (!o.excludes.empty()) add("not with " + all_bold(o.excludes));
  return text + "\n" + (what.empty() ? "\\&" : what) + "\n";
}

std::string items_of(const char* title, const std::vector<shown_option>& list,
                     bool are_arguments) {
  std::string text;
  for (const auto& o : list) text += item_of(o, are_arguments);
  return text.empty() ? "" : fmt::format(".SH {}\n{}", title, text);
}

std::string commands_of(const shown_command& c) {
  std::string text;
  for (const auto& sub : c.commands) {
    text += fmt::format(".TP\n{}(1)\n{}\n", bold(page_name_of(sub)),
                        plain_troff(sub.what));
  }
  return text.empty() ? "" : ".SH COMMANDS\n" + text;
}

std::string example_of(const shown_command& c) {
  if (c.example.empty()) return "";
  return ".SH EXAMPLE\n.nf\n" + plain_troff(c.example) + "\n.fi\n";
}

/// The page of the command that has this one.
std::string see_also_of(const shown_command& c) {
  if (c.name.empty()) return "";
  const auto end = c.name.rfind(' ');
  const shown_command above{
      end == std::string::npos ? "" : c.name.substr(0, end),
      {},
      {},
      {},
      {},
      {}};
  return fmt::format(".SH SEE ALSO\n{}(1)\n", bold(page_name_of(above)));
}

}  // namespace

std::string page_name_of(const shown_command& c) {
  auto name = called(c);
  std::replace(name.begin(), name.end(), ' ', '-');
  return name;
}

std::string man_page_of(const shown_command& c, const std::string& version) {
  const auto name = page_name_of(c);
  const auto title = c.what.substr(0, c.what.find('\n'));
  return fmt::format(".TH {} 1 \"\" \"zeroulp {}\" \"zeroulp\"\n", upper(name),
                     version) +
         ".SH NAME\n" + plain_troff(name) + " \\- " + plain_troff(title) +
         "\n" + synopsis_of(c) + items_of("ARGUMENTS", c.arguments, true) +
         items_of("OPTIONS", c.options, false) + commands_of(c) + exit_status +
         example_of(c) + see_also_of(c);
}

}  // namespace zeroulp::program
