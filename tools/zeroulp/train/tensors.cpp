// zeroulp tensors: how a recipe stores each tensor of a training step.

#include <fmt/format.h>

#include "tools/train/spec_tables.hpp"
#include "tools/zeroulp/cli.hpp"
#include "tools/zeroulp/program.hpp"
#include "tools/zeroulp/train/settings_json.hpp"

namespace zeroulp::program {
namespace {

struct tensors_options {
  std::string arm = "full";
  bool json = false;
  bool markdown = false;
};

void list_tensors(const tensors_options& o) {
  using train::group_text, train::scale_text;
  if (o.markdown) return print(train::tensor_tables());
  const arm a = find_arm(o.arm);
  const auto rows = tensor_table(a);
  if (o.json) {
    json all = json::array();
    for (const auto& r : rows) {
      all.push_back({{"tensor", r.tensor},
                     {"format", name_of(r.how.to)},
                     {"group", group_text(r.how)},
                     {"scale", scale_text(r.how)},
                     {"made_from", r.made_from},
                     {"used_by", r.used_by}});
    }
    return print_json({{"arm", a.name}, {"what", a.what}, {"tensors", all}});
  }
  table t{{"tensor", "format", "group", "scale", "made from", "used by"}, {}};
  for (const auto& r : rows) {
    t.rows.push_back({r.tensor, name_of(r.how.to), group_text(r.how),
                      scale_text(r.how), r.made_from, r.used_by});
  }
  print(fmt::format("{}: {}\n\n", a.name, a.what));
  print(t);
}

}  // namespace

void add_tensors(cli::app& app, outcome&) {
  const auto o = std::make_shared<tensors_options>();
  cli::app* const command = add_command(
      app, "tensors", "List how a recipe stores each tensor of a training step",
      "zeroulp tensors --arm full");
  command->add_option("--arm", o->arm, arm_help())->capture_default_str();
  command->add_flag("--json", o->json, "JSON");
  command->add_flag("--markdown", o->markdown, "The tables of the SPEC");
  command->callback([o] { list_tensors(*o); });
}

}  // namespace zeroulp::program
