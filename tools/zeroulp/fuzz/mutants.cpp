// fuzz mutants: how many cases it takes to find each deliberate fault.

#include <fmt/format.h>

#include "tools/zeroulp/cli.hpp"
#include "tools/zeroulp/program.hpp"
#ifdef ZEROULP_HAVE_CONFORMANCE
#include "conformance/mutants/mutant.hpp"
#include "tools/zeroulp/fuzz/report.hpp"
#include "tools/zeroulp/progress.hpp"

namespace zeroulp::program {

using namespace fuzz;

namespace {

struct mutants_request {
  std::uint64_t cases = 200000;
  std::uint64_t seed = 1;
  bool as_json = false;
};

void run_mutants(const mutants_request& q, outcome& out) {
  const auto show = make_progress();
  int done = 0;
  const auto total = static_cast<double>(conformance::all_mutants().size());
  table t{{"mutant", "target", "cases", "elements", "shrunk", "named", "cause"},
          {}};
  json rows = json::array();
  int bad = 0;
  const auto all = expose_mutants(q.seed, q.cases, 1, [&](const exposure& x) {
    show(++done, total, x.mutant);
  });
  for (const exposure& x : all) {
    if (!x.cases || x.rank == 0) ++bad;
    if (!x.cases) {
      t.rows.push_back({x.mutant, "-", "not found", "", "", "", x.what});
      rows.push_back({{"mutant", x.mutant}, {"found", false}});
      continue;
    }
    const auto& small = *x.small;
    const std::string named =
        x.rank == 0 ? "no"
                    : fmt::format("{} of {}", x.rank, small.causes.size());
    t.rows.push_back({x.mutant, info_of(x.found_by).name,
                      std::to_string(*x.cases),
                      std::to_string(size_of(small.found)),
                      std::to_string(size_of(small.shrunk)), named, x.what});
    rows.push_back({{"mutant", x.mutant},
                    {"found", true},
                    {"target", info_of(x.found_by).name},
                    {"cases", *x.cases},
                    {"elements", size_of(small.found)},
                    {"shrunk_elements", size_of(small.shrunk)},
                    {"rank", x.rank},
                    {"causes", small.causes.size()},
                    {"token", small.token}});
  }
  out.status = bad > 0 ? 1 : 0;
  if (q.as_json) return print_json(rows);
  print(t);
  print(fmt::format("{} of {} mutants found and named\n",
                    all.size() - static_cast<std::size_t>(bad), all.size()));
}

}  // namespace

void add_fuzz_mutants(cli::app& fuzz, outcome& out) {
  auto* mutants = add_command(
      fuzz, "mutants",
      "How many cases it takes to find each deliberate fault, and its name",
      "zeroulp fuzz mutants");
  auto q = std::make_shared<mutants_request>();
  mutants->add_option("--cases", q->cases, "most cases a mutant")
      ->check(cli::range(std::uint64_t{1}, std::uint64_t{1} << 62))
      ->capture_default_str();
  add_seed(mutants, q->seed);
  mutants->add_flag("--json", q->as_json);
  mutants->callback([q, &out] { run_mutants(*q, out); });
}

}  // namespace zeroulp::program
#endif
