#include "tools/train/spec_tables.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace zeroulp::train {
namespace {

std::string row_of(const std::vector<std::string>& cells) {
  return fmt::format("| {} |\n", fmt::join(cells, " | "));
}
std::string head_of(const std::vector<std::string>& cells) {
  std::string rule = "|";
  for (std::size_t i = 0; i < cells.size(); ++i) rule += "---|";
  return row_of(cells) + rule + "\n";
}

/// How a tensor is stored in a table; "-" if it is not there.
std::string stored_in(const std::vector<tensor_row>& rows,
                      const std::string& tensor) {
  const auto row =
      std::find_if(rows.begin(), rows.end(),
                   [&](const tensor_row& r) { return r.tensor == tensor; });
  if (row == rows.end()) return "-";
  const storage& s = row->how;
  return s.scaled ? fmt::format("{} {} {}", name_of(s.to), group_text(s),
                                scale_text(s))
                  : name_of(s.to);
}

}  // namespace

std::string group_text(const storage& s) {
  return s.scaled ? name_of(s.group) : "-";
}
std::string scale_text(const storage& s) {
  return s.scaled ? std::string(name_of(s.scale)) : "-";
}

std::string tensor_tables() {
  std::string text =
      head_of({"tensor", "format", "group", "scale", "made from", "used by"});
  for (const tensor_row& r : tensor_table(parse_arm("full"))) {
    text += row_of({r.tensor, name_of(r.how.to), group_text(r.how),
                    scale_text(r.how), r.made_from, r.used_by});
  }
  const std::vector<std::string> names{"full", "bf16", "tensor", "te_blockwise",
                                       "mx"};
  std::vector<std::string> head = names;
  head.insert(head.begin(), "tensor");
  text += "\n" + head_of(head);
  std::vector<std::vector<tensor_row>> tables;
  for (const std::string& name : names) {
    tables.push_back(tensor_table(parse_arm(name)));
  }
  // mx has every row that another arm has.
  for (const tensor_row& r : tables.back()) {
    std::vector<std::string> cells{r.tensor};
    for (const auto& table : tables) {
      cells.push_back(stored_in(table, r.tensor));
    }
    const bool differ =
        std::any_of(cells.begin() + 2, cells.end(),
                    [&](const auto& c) { return c != cells[1]; });
    if (differ) text += row_of(cells);
  }
  return text;
}

}  // namespace zeroulp::train
