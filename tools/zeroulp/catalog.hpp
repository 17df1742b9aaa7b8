// Defines what `zeroulp formats`, `conventions`, `recipes`, `paths` and the
// like are made of: a named thing as fields, and the command that lists such
// things.

#ifndef ZEROULP_TOOLS_ZEROULP_CATALOG_HPP_
#define ZEROULP_TOOLS_ZEROULP_CATALOG_HPP_

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/zeroulp/program.hpp"

namespace zeroulp::program {

/// A row of a catalog: a name and its fields in order.
struct entry {
  std::string name;
  json fields;
  json data{};  ///< what --json prints in their place, if not null
};

/// What a catalog lists, and the thing that a name stands for, listed or not.
struct catalog {
  std::function<std::vector<entry>()> all;
  std::function<entry(const std::string&)> find;
  std::string_view legend{};  ///< below the table
};

/// The rows of a table. `parse` gives the row of a name, `show` a row's entry.
template <class Rows, class Parse, class Show>
catalog catalog_of(const Rows& rows, Parse parse, Show show) {
  return {[&rows, show] {
            std::vector<entry> all;
            for (const auto& row : rows) all.push_back(show(row));
            return all;
          },
          [=](const std::string& name) { return show(parse(name)); }};
}

/// Adds a command that lists a catalog, shows one entry, or compares two.
cli::app* add_catalog_command(cli::app& app, const std::string& command,
                              const std::string& help,
                              const std::string& example, const catalog& c);

/// Adds `paths` and `block-scaled-paths`.
void add_paths(cli::app& app);

/// Adds `block-conventions` and `block-recipes`.
void add_block_catalogs(cli::app& app);

}  // namespace zeroulp::program

#endif  // ZEROULP_TOOLS_ZEROULP_CATALOG_HPP_
