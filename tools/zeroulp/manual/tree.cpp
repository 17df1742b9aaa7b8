#include "tools/zeroulp/manual/tree.hpp"

#include <CLI/CLI.hpp>

namespace zeroulp::program {
namespace {

constexpr std::string_view before_example = "Example:\n";

/// CLI11 says the type before each range of it: "INT:INT in [0 - 9]".
std::string type_of(const CLI::Option& o) {
  if (o.get_items_expected_max() == 0) return "";
  const auto text = o.get_type_name();
  return text.substr(text.rfind(':') + 1);
}

/// In the order in which the command has them: a set of pointers has none.
std::vector<std::string> names_of(const CLI::App& app,
                                  const std::set<CLI::Option*>& some) {
  std::vector<std::string> names;
  for (const auto* o : app.get_options()) {
    if (some.count(const_cast<CLI::Option*>(o)) == 0) continue;
    names.push_back(o->get_name());
  }
  return names;
}

shown_option shown(const CLI::App& app, const CLI::Option& o,
                   const std::string& command, const known_values& values) {
  shown_option s;
  if (o.get_positional()) {
    s.names = {o.get_name(true)};
  } else {
    for (const auto& name : o.get_snames()) s.names.push_back("-" + name);
    for (const auto& name : o.get_lnames()) s.names.push_back("--" + name);
  }
  s.type = type_of(o);
  s.given = o.get_default_str();
  s.what = o.get_description();
  s.is_required = o.get_required();
  s.is_repeated = o.get_expected_max() > 1;
  s.needs = names_of(app, o.get_needs());
  s.excludes = names_of(app, o.get_excludes());
  if (!s.type.empty()) s.values = values(command, s.names.back());
  return s;
}

shown_command shown(const CLI::App& app, const std::string& name,
                    const known_values& values) {
  shown_command c;
  c.name = name;
  c.what = app.get_description();
  const auto footer = app.get_footer();
  if (footer.starts_with(before_example)) {
    c.example = footer.substr(before_example.size());
  }
  for (const auto* o : app.get_options()) {
    auto& list = o->get_positional() ? c.arguments : c.options;
    list.push_back(shown(app, *o, name, values));
  }
  for (const auto* sub : app.get_subcommands([](auto*) { return true; })) {
    c.commands.push_back(shown(
        *sub, name.empty() ? sub->get_name() : name + " " + sub->get_name(),
        values));
  }
  return c;
}

void collect(const shown_command& c, std::vector<const shown_command*>& all) {
  all.push_back(&c);
  for (const auto& sub : c.commands) collect(sub, all);
}

}  // namespace

shown_command tree_of(const CLI::App& app, const known_values& values) {
  return shown(app, "", values);
}

std::vector<const shown_command*> all_of(const shown_command& top) {
  std::vector<const shown_command*> all;
  collect(top, all);
  return all;
}

}  // namespace zeroulp::program
