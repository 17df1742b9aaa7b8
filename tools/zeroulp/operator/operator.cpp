// zeroulp operator: one operator of a model's step on .npy files.

#include <fmt/format.h>

#include <memory>

#include "src/base/near_names.hpp"
#include "tools/zeroulp/cli.hpp"
#include "tools/zeroulp/operator/call.hpp"
#include "tools/zeroulp/program.hpp"

namespace zeroulp::program {
namespace {

struct operator_options {
  std::string name;
  std::vector<std::string> words;
};

/// The arguments and outputs of an operator, a line each.
void print_signature(const operator_row& row) {
  std::string text =
      fmt::format("{}: {}, SPEC {}\n\n", row.name, row.what, row.clauses);
  for (const auto& a : arguments_of(row.signature)) {
    const bool choice = a.type.find('|') != std::string::npos;
    text += fmt::format("  {:<14} {:<22} {}\n", a.name + "=", a.type,
                        a.output               ? "output"
                        : a.optional || choice ? "may be left out"
                                               : "");
  }
  print(text);
}

void list_operators() {
  table t{{"operator", "what it is", "SPEC"}, {}};
  for (const auto& row : operator_rows()) {
    t.rows.push_back({row.name, row.what, row.clauses});
  }
  print(t);
}

void run_operator(const operator_options& o) {
  if (o.name.empty()) return list_operators();
  for (const auto& row : operator_rows()) {
    if (row.name != o.name) continue;
    if (o.words.empty()) return print_signature(row);
    operator_call call(row, o.words);
    row.run(call);
    call.write();
    return;
  }
  throw input_error(fmt::format("there is no operator '{}': {}", o.name,
                                use_one_of(o.name, operator_rows())));
}

}  // namespace

void add_operator(cli::app& app, outcome&) {
  const auto o = std::make_shared<operator_options>();
  cli::app* const command = add_command(
      app, "operator",
      "Run one operator of a model's step on .npy files; without arguments, "
      "list them, or an operator's arguments",
      "zeroulp operator route logits=z.npy top=2 experts=e.npy weights=w.npy");
  command->add_option("NAME", o->name, "see zeroulp operator");
  command->add_option("ARGUMENT", o->words,
                      "NAME=FILE.npy or NAME=VALUE, outputs, too");
  add_reference(command);
  command->callback([o] { run_operator(*o); });
}

}  // namespace zeroulp::program
