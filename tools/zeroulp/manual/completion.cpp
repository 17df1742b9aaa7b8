#include "tools/zeroulp/manual/completion.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "src/base/near_names.hpp"
#include "zeroulp/io.hpp"

namespace zeroulp::program {
namespace {

/// A word to complete to, and what it is.
struct candidate {
  std::string word;
  std::string what;
};

/// The questions that the scripts of bash and zsh ask, and their answers.
/// "fuzz|commands", "quantize|options", "formats|arguments" and
/// "quantize|--format" are questions; an option that is none is a flag, and
/// one without an answer takes a file or a number.
using answers = std::vector<std::pair<std::string, std::vector<candidate>>>;

std::vector<candidate> without_text(const std::vector<std::string>& words) {
  std::vector<candidate> all;
  for (const auto& word : words) all.push_back({word, ""});
  return all;
}

/// The last part of "fuzz quantize".
std::string own_name(const shown_command& c) {
  return c.name.substr(c.name.rfind(' ') + 1);
}

answers answers_of(const shown_command& top) {
  answers all;
  for (const auto* c : all_of(top)) {
    std::vector<candidate> commands, options, arguments;
    for (const auto& sub : c->commands) {
      commands.push_back({own_name(sub), sub.what});
    }
    for (const auto& o : c->options) {
      options.push_back({o.names.back(), o.what});
      if (o.type.empty()) continue;
      for (const auto& name : o.names) {
        all.emplace_back(fmt::format("{}|{}", c->name, name),
                         without_text(o.values));
      }
    }
    for (const auto& a : c->arguments) {
      for (auto& value : without_text(a.values)) {
        arguments.push_back(std::move(value));
      }
    }
    all.emplace_back(c->name + "|commands", std::move(commands));
    all.emplace_back(c->name + "|options", std::move(options));
    all.emplace_back(c->name + "|arguments", std::move(arguments));
  }
  return all;
}

std::string joined(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, " "));
}

/// As one word of a shell; of bash and zsh, or of fish.
std::string shell_word(std::string_view text, bool for_fish = false) {
  std::string result = "'";
  for (const char c : text) {
    if (c == '\'') {
      result += for_fish ? "\\'" : "'\\''";
    } else if (c == '\\' && for_fish) {
      result += "\\\\";
    } else {
      result += c == '\n' ? ' ' : c;
    }
  }
  return result + "'";
}

/// The lines of a `case` of bash or zsh: questions with one answer are one.
template <class Line>
std::string cases_of(const answers& all, Line line) {
  std::vector<std::pair<std::string, std::string>> cases;  // answer, patterns
  for (const auto& [question, words] : all) {
    const std::string answer = line(words);
    const auto same =
        std::find_if(cases.begin(), cases.end(),
                     [&](const auto& one) { return one.first == answer; });
    if (same == cases.end()) {
      cases.emplace_back(answer, shell_word(question));
    } else {
      same->second += " | " + shell_word(question);
    }
  }
  std::string text;
  for (const auto& [answer, patterns] : cases) {
    text += fmt::format("    {}) {} ;;\n", patterns, answer);
  }
  return text;
}

std::string bash_words(const std::vector<candidate>& words) {
  std::vector<std::string> list;
  for (const auto& w : words) list.push_back(w.word);
  return fmt::format("_zeroulp_words={}", shell_word(joined(list)));
}

constexpr std::string_view bash_script =
    R"(# Completion of zeroulp for bash, made by `zeroulp completion bash`: load it by
#   source <(zeroulp completion bash)
_zeroulp_ask() {
  _zeroulp_words=
  case $1 in
@CASES@    *) return 1 ;;
  esac
}

_zeroulp() {
  local _zeroulp_words command= option current=$2 word i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; ++i)); do
    word=${COMP_WORDS[i]}
    _zeroulp_ask "$command|commands"
    case " $_zeroulp_words " in
      *" $word "*) command=${command:+$command }$word ;;
    esac
  done
  # bash takes the = of --format=e4m3 for a word of its own.
  option=${COMP_WORDS[COMP_CWORD - 1]}
  if [ "${COMP_WORDS[COMP_CWORD]}" = = ]; then
    current=
  elif [ "$option" = = ] && [ "$COMP_CWORD" -ge 2 ]; then
    option=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  if [[ $option == -* ]] && _zeroulp_ask "$command|$option"; then
    :
  elif [[ $current == -* ]]; then
    _zeroulp_ask "$command|options"
  else
    _zeroulp_ask "$command|commands"
    word=$_zeroulp_words
    _zeroulp_ask "$command|arguments"
    _zeroulp_words="$word $_zeroulp_words"
  fi
  # Nothing here: bash completes files.
  while IFS= read -r word; do
    COMPREPLY+=("$word")
  done < <(compgen -W "$_zeroulp_words" -- "$current")
}
complete -o bashdefault -o default -F _zeroulp zeroulp
)";

/// 'name:what' of _describe, where a colon in the name is no end of it.
std::string described(const std::vector<candidate>& words) {
  std::string line = "reply=(";
  for (const auto& w : words) {
    std::string name;
    for (const char c : w.word) name += c == ':' ? "\\:" : std::string(1, c);
    line += (line.back() == '(' ? "" : " ") +
            shell_word(w.what.empty() ? name : name + ":" + w.what);
  }
  return line + ")";
}

constexpr std::string_view zsh_script = R"(#compdef zeroulp
# Completion of zeroulp for zsh, made by `zeroulp completion zsh`: a file _zeroulp
# in a folder of $fpath, or, after compinit,
#   source <(zeroulp completion zsh)
_zeroulp_ask() {
  reply=()
  case $1 in
@CASES@    *) return 1 ;;
  esac
}

_zeroulp() {
  local command= option=${words[CURRENT - 1]} word
  local -a reply names
  integer i
  for ((i = 2; i < CURRENT; ++i)); do
    _zeroulp_ask "$command|commands"
    names=(${reply%%:*})
    word=${words[i]}
    if (( ${names[(Ie)$word]} )); then command=${command:+$command }$word; fi
  done
  if [[ ${words[CURRENT]} == --*=* ]]; then
    option=${words[CURRENT]%%\=*}
    compset -P '*='
  fi
  if [[ $option == -* ]] && _zeroulp_ask "$command|$option"; then
    if (( ${#reply} )); then _describe value reply; else _files; fi
  elif [[ ${words[CURRENT]} == -* ]]; then
    _zeroulp_ask "$command|options"
    _describe option reply
  else
    _zeroulp_ask "$command|commands"
    (( ${#reply} )) && _describe command reply && return
    _zeroulp_ask "$command|arguments"
    (( ${#reply} )) && _describe value reply
    _files
  fi
}
if [[ ${funcstack[1]} == _zeroulp ]]; then
  _zeroulp "$@"
elif (( ${+functions[compdef]} )); then
  compdef _zeroulp zeroulp
fi
)";

constexpr std::string_view fish_script =
    R"(# Completion of zeroulp for fish, made by `zeroulp completion fish`: load it by
#   zeroulp completion fish | source
function __zeroulp_at
    set -l command
    for word in (commandline -opc)[2..-1]
        if contains -- (string join ' ' -- $command $word) @COMMANDS@
            set command $command $word
        end
    end
    test (string join ' ' -- '' $command) = (string join ' ' -- '' $argv)
end
)";

std::string fish_option(const std::string& at, const shown_option& o) {
  std::string line = fmt::format("complete -c zeroulp -n {}", at);
  for (const auto& name : o.names) {
    const bool is_long = name.starts_with("--");
    line += fmt::format(" {} {}", is_long ? "-l" : "-s",
                        name.substr(is_long ? 2 : 1));
  }
  if (!o.type.empty()) line += o.values.empty() ? " -r -F" : " -x";
  if (!o.values.empty()) {
    line += " -a " + shell_word(joined(o.values), true);
  }
  if (!o.what.empty()) line += " -d " + shell_word(o.what, true);
  return line + "\n";
}

std::string fish_lines(const shown_command& top) {
  std::string text;
  for (const auto* c : all_of(top)) {
    const std::string at = shell_word(
        c->name.empty() ? "__zeroulp_at" : "__zeroulp_at " + c->name);
    for (const auto& sub : c->commands) {
      text += fmt::format("complete -c zeroulp -f -n {} -a {} -d {}\n", at,
                          own_name(sub), shell_word(sub.what, true));
    }
    for (const auto& a : c->arguments) {
      if (a.values.empty()) continue;
      text += fmt::format("complete -c zeroulp -n {} -a {}\n", at,
                          shell_word(joined(a.values), true));
    }
    for (const auto& o : c->options) text += fish_option(at, o);
  }
  return text;
}

std::string replaced(std::string_view text, std::string_view mark,
                     const std::string& by) {
  std::string result(text);
  return result.replace(result.find(mark), mark.size(), by);
}

std::string fish_of(const shown_command& top) {
  std::vector<std::string> names;
  for (const auto* c : all_of(top)) {
    if (!c->name.empty()) names.push_back(shell_word(c->name));
  }
  return replaced(fish_script, "@COMMANDS@", joined(names)) + fish_lines(top);
}

}  // namespace

std::string completion_of(const shown_command& top, std::string_view shell) {
  const auto all = answers_of(top);
  if (shell == "bash") {
    return replaced(bash_script, "@CASES@", cases_of(all, bash_words));
  }
  if (shell == "zsh") {
    return replaced(zsh_script, "@CASES@", cases_of(all, described));
  }
  if (shell == "fish") return fish_of(top);
  throw input_error(fmt::format("completion: unknown shell '{}': {}", shell,
                                use_one_of(shell, {"bash", "zsh", "fish"})));
}

}  // namespace zeroulp::program
