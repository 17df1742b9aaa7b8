// completion and man: what a shell and a reader need to know of the program,
// made of its own commands.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <stdexcept>

#include "src/base/near_names.hpp"
#include "tools/zeroulp/cli.hpp"
#include "tools/zeroulp/manual/completion.hpp"
#include "tools/zeroulp/manual/man.hpp"
#include "tools/zeroulp/manual/values.hpp"
#include "tools/zeroulp/program.hpp"

namespace zeroulp::program {
namespace {

struct man_request {
  std::vector<std::string> command;
  std::string out;
};

shown_command tree_of_program(const cli::app& app) {
  return tree_of(app.of_library(), [&app](const std::string& command,
                                          const std::string& option) {
    return command == "man" && option == "COMMAND" ? app.subcommand_names()
                                                   : values_of(command, option);
  });
}

bool has(const shown_command& c, const value_row& row) {
  if (*row.command != '\0' && c.name != row.command) return false;
  const auto is_it = [&](const shown_option& o) {
    return o.names.back() == row.option;
  };
  return std::any_of(c.options.begin(), c.options.end(), is_it) ||
         std::any_of(c.arguments.begin(), c.arguments.end(), is_it);
}

/// Throws std::logic_error if a row is of an option that is gone.
void check_rows(const shown_command& top) {
  const auto all = all_of(top);
  for (const auto& row : value_rows()) {
    if (std::none_of(all.begin(), all.end(),
                     [&](const auto* c) { return has(*c, row); })) {
      throw std::logic_error(
          fmt::format("no command '{}' has {}", row.command, row.option));
    }
  }
}

/// Throws input_error that names what is near.
const shown_command& find_command(const shown_command& top,
                                  const std::vector<std::string>& words) {
  const auto* at = &top;
  for (const auto& word : words) {
    const auto name = at->name.empty() ? word : at->name + " " + word;
    const auto sub =
        std::find_if(at->commands.begin(), at->commands.end(),
                     [&](const shown_command& c) { return c.name == name; });
    if (sub == at->commands.end()) {
      std::vector<std::string> known;
      for (const auto& c : at->commands) {
        known.push_back(c.name.substr(c.name.rfind(' ') + 1));
      }
      throw input_error(fmt::format(
          "man: unknown command '{}': {}", name,
          known.empty() ? at->name + " has none"
                        : use_one_of(word, {known.begin(), known.end()})));
    }
    at = &*sub;
  }
  return *at;
}

void write_pages(const shown_command& top, const std::string& folder) {
  output_set files(folder);
  for (const auto* c : all_of(top)) {
    files.add(page_name_of(*c) + ".1", man_page_of(*c, ZEROULP_VERSION));
  }
  files.commit();
}

void run_man(const shown_command& top, const man_request& q) {
  if (q.out.empty()) {
    return print(man_page_of(find_command(top, q.command), ZEROULP_VERSION));
  }
  if (!q.command.empty()) {
    throw input_error("man: --out writes every page: leave out " +
                      fmt::format("{}", fmt::join(q.command, " ")));
  }
  write_pages(top, q.out);
}

}  // namespace

void add_manuals(cli::app& app) {
  auto* completion = add_command(
      app, "completion", "Shell completion of commands, options and names",
      "zeroulp completion bash >zeroulp.bash; . ./zeroulp.bash");
  auto shell = std::make_shared<std::string>();
  completion->add_option("SHELL", *shell, "bash, zsh or fish")->required();
  completion->callback([shell, &app] {
    const auto top = tree_of_program(app);
    check_rows(top);
    print(completion_of(top, *shell));
  });

  auto* man = add_command(app, "man", "The man page of a command, as troff",
                          "zeroulp man fuzz quantize | man -l -");
  auto q = std::make_shared<man_request>();
  man->add_option("COMMAND", q->command, "its words; none: of the program");
  man->add_option("--out", q->out, "directory for the pages of all");
  man->callback([q, &app] { run_man(tree_of_program(app), *q); });
}

}  // namespace zeroulp::program
