// zeroulp tensors: how a recipe stores each tensor of a training step.

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "tools/train/tensor_table.hpp"
#include "tools/zeroulp/program.hpp"
#include "tools/zeroulp/train/names.hpp"

namespace zeroulp::program {
namespace {

struct tensors_options {
  std::string arm = "full";
  bool json = false;
};

void list_tensors(const tensors_options& o) {
  const train::arm& a = row_named(train::named_arms, o.arm, "arm");
  const auto rows = train::tensor_table(a);
  if (o.json) {
    json all = json::array();
    for (const auto& r : rows) {
      all.push_back({{"tensor", r.tensor},
                     {"format", r.format},
                     {"group", r.group},
                     {"scale", r.scale},
                     {"made_from", r.made_from},
                     {"used_by", r.used_by}});
    }
    return print_json({{"arm", a.name}, {"what", a.what}, {"tensors", all}});
  }
  table t{{"tensor", "format", "group", "scale", "made from", "used by"}, {}};
  for (const auto& r : rows) {
    t.rows.push_back(
        {r.tensor, r.format, r.group, r.scale, r.made_from, r.used_by});
  }
  print(fmt::format("{}: {}\n\n{}", a.name, a.what, to_text(t)));
}

}  // namespace

void add_tensors(CLI::App& app, outcome&) {
  const auto o = std::make_shared<tensors_options>();
  CLI::App* const command = add_command(
      app, "tensors", "List how a recipe stores each tensor of a training step",
      "zeroulp tensors --arm full");
  command->add_option("--arm", o->arm, arm_names())->capture_default_str();
  command->add_flag("--json", o->json, "JSON");
  command->callback([o] { list_tensors(*o); });
}

}  // namespace zeroulp::program
