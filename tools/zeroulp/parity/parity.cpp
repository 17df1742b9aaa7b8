// zeroulp parity: the first tensor and rule in which two dumps of one pass
// differ.

#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <vector>

#include "tools/zeroulp/cli.hpp"
#include "tools/zeroulp/program.hpp"
#include "tools/zeroulp/progress.hpp"
#ifdef ZEROULP_HAVE_CONFORMANCE
#include "tools/zeroulp/parity/text.hpp"
#include "tools/zeroulp/terminal.hpp"
#endif

namespace zeroulp::program {
namespace {

struct parity_request {
  std::string a;
  std::string b;
  std::string chain;
  std::string map;
  std::string out;
  std::int64_t rows = 128;
  std::int64_t checked = 0;
  bool as_json = false;
};

#ifdef ZEROULP_HAVE_CONFORMANCE

namespace fs = std::filesystem;

/// The files that are read: nothing is written over them.
std::vector<fs::path> files_of(const parity_request& q, const parity::dump& a,
                               const parity::dump& b) {
  std::vector<fs::path> all{q.a, q.b, q.chain, q.map};
  for (const parity::dump* const side : {&a, &b}) {
    for (const auto& shard : side->files().shards) all.push_back(shard.path);
    all.push_back(side->files().index);
  }
  return all;
}

void refuse_page(const parity_request& q, const std::vector<fs::path>& read) {
  const fs::path page(q.out);
  std::error_code none;
  for (const fs::path& file : read) {
    if (!file.empty() && fs::equivalent(file, page, none)) {
      throw input_error(
          fmt::format("--out {}: is read here: use another file", q.out));
    }
  }
  const fs::path folder = page.parent_path();
  if (!folder.empty() && !fs::is_directory(folder, none)) {
    throw input_error(
        fmt::format("--out {}: there is no folder {}", q.out, folder.string()));
  }
  output_set().expect({page});
}

void run_parity(const parity_request& q, outcome& out) {
  constexpr std::int64_t group = parity::whole_groups;
  for (const auto& [option, rows] :
       {std::pair{"--rows", q.rows}, {"--check-rows", q.checked}}) {
    if (rows % group == 0) continue;
    throw input_error(fmt::format("{} {}: use a multiple of {}, or 0 for all",
                                  option, rows, group));
  }
  const auto chain = parity::read_chain(q.chain);
  const parity::dump a(q.a, {});
  const parity::dump b(q.b, q.map.empty() ? std::map<std::string, std::string>{}
                                          : parity::read_names(q.map, chain));
  if (!q.out.empty()) refuse_page(q, files_of(q, a, b));
  parity::parity_options how;
  how.rows = static_cast<std::uint64_t>(q.rows);
  how.checked = static_cast<std::uint64_t>(q.checked);
  how.progress = make_progress();
  const parity::parity_report r = parity::compare(chain, a, b, how);
  if (!q.out.empty()) {
    output_set files;
    files.add(q.out, page_of(q.a, q.b, r));
    files.commit();
  }
  out.status = r.same() ? 0 : 1;
  if (q.as_json) return print_json(to_json(r));
  print(text_of(r, terminal_width()));
}

std::string operators_text() { return parity::text_of_kinds(); }

#else

constexpr const char* why_not =
    "parity: this build has no MPFR, GMP or Boost, and with them the part that "
    "searches is left out: install them and build again";

void run_parity(const parity_request&, outcome&) { throw input_error(why_not); }

std::string operators_text() { throw input_error(why_not); }

#endif

}  // namespace

void add_parity(cli::app& app, outcome& out) {
  auto* command = add_command(
      app, "parity",
      "Whose bits differ first: two dumps of one pass, operator by operator "
      "(exit status 1 if they differ)",
      "zeroulp parity trainer.safetensors sampler.safetensors --chain "
      "layer.json");
  auto q = std::make_shared<parity_request>();
  command->add_option("A", q->a, "safetensors, .npz, or a folder of .npy")
      ->required();
  command->add_option("B", q->b, "the same pass of another implementation")
      ->required();
  command
      ->add_option("--chain", q->chain,
                   "JSON: {\"operators\": [{\"name\", \"is\", \"with\", "
                   "\"reads\", \"makes\"}, ...]} in order; `is` is rope, "
                   "residual, route, combine or a target of zeroulp fuzz; "
                   "{\"repeat\": 61, "
                   "\"operators\": [...]} has {i}, {i+1}, {i-1} in names")
      ->required();
  command->add_option("--map", q->map,
                      "JSON: {\"name in the chain\": \"name in B\"}");
  command
      ->add_option("--rows", q->rows,
                   "on which rules are sought, a multiple of 128; 0: all")
      ->check(cli::range(std::int64_t{0}, std::int64_t{1} << 30))
      ->capture_default_str();
  command
      ->add_option("--check-rows", q->checked,
                   "on how many rows of an operator the rules are checked, a "
                   "multiple of 128; 0: all")
      ->check(cli::range(std::int64_t{0}, std::int64_t{1} << 40))
      ->capture_default_str();
  command->add_flag_callback(
      "--operators",
      [] {
        print(operators_text());
        cli::end_well();
      },
      "the operators of chains, what each reads and makes, and its settings");
  command->add_option("--out", q->out, "a page, HTML");
  command->add_flag("--json", q->as_json);
  command->callback([q, &out] { run_parity(*q, out); });
}

}  // namespace zeroulp::program
