// vectors: recorded tensor-core steps, and vectors check, which holds the
// oracle against them.

#include "tools/zeroulp/vectors/vectors.hpp"

#include <memory>

#include "tools/zeroulp/cli.hpp"
#include "tools/zeroulp/vectors/file.hpp"

namespace zeroulp::program {
namespace {

struct check_request {
  std::vector<std::string> files;
  bool as_json = false;
};

void run_check(const check_request& q, outcome& out) {
  tallies found;
  for (const auto& file : q.files) {
    check_vectors(file, open_lines(file), found);
  }
  json results = json::array();
  table t{{"path", "records", "mismatches"}, {}};
  std::string firsts;
  for (const auto& [name, count] : found) {
    results.push_back({{"path", name},
                       {"records", count.records},
                       {"mismatches", count.mismatches},
                       {"first", count.first}});
    t.rows.push_back({name, std::to_string(count.records),
                      std::to_string(count.mismatches)});
    if (count.mismatches > 0) {
      out.status = 1;
      firsts += count.first + "\n";
    }
  }
  if (q.as_json) {
    print_json(results);
  } else {
    print(t);
    print(firsts);
  }
}

}  // namespace

void add_vectors(cli::app& app, outcome& out) {
  auto* sub = add_command(app, "vectors", "Recorded tensor-core steps",
                          "zeroulp vectors check recorded.txt.gz");
  sub->require_subcommand(1);
  auto* check =
      add_command(*sub, "check", "Hold the oracle against recorded steps",
                  "zeroulp vectors check recorded.txt.gz");
  auto q = std::make_shared<check_request>();
  check->add_option("FILE", q->files, "vector files, .gz or not")->required();
  check->add_flag("--json", q->as_json);
  check->callback([q, &out] { run_check(*q, out); });
  add_vectors_generate(*sub, out);
  add_vectors_record(*sub, out);
}

}  // namespace zeroulp::program
