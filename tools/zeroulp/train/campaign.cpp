#include "tools/zeroulp/train/campaign.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <set>

#include "src/base/sha256.hpp"
#include "tools/study/parity/runs.hpp"
#include "tools/train/run_folder.hpp"
#include "tools/zeroulp/cli.hpp"
#include "tools/zeroulp/program.hpp"

namespace zeroulp::program {
namespace {

namespace fs = std::filesystem;
using parity::plan;

/// What the plan's settings say, as options of a run.
void apply_settings(const plan& p, train_options& o) {
  for (const auto& [name, value] : p.settings) {
    const double number = std::strtod(value.c_str(), nullptr);
    const auto whole = static_cast<std::int64_t>(number);
    if (name == "rate") {
      o.rate = number;
    } else if (name == "last") {
      o.last = number;
    } else if (name == "clip") {
      o.clip = number;
    } else if (name == "warmup") {
      o.warmup = whole;
    } else if (name == "hold") {
      o.hold = whole;
    } else if (name == "shards") {
      o.shards = whole;
    } else {
      throw input_error(fmt::format(
          "the plan's settings: '{}': a campaign sets rate, warmup, hold, "
          "last, clip and shards",
          name));
    }
  }
}

void check_data(const plan& p, const std::string& file) {
  const std::string found =
      file.empty() ? "source"
                   : "sha256:" + sha256_hex(as_text(read_file(file)));
  if (found != p.data) {
    throw input_error(
        fmt::format("--data: it is {}, in the plan {}", found, p.data));
  }
}

struct planned_run {
  std::string arm;
  std::uint64_t seed;
  fs::path folder;
};

fs::path folder_of(const fs::path& folder, const std::string& arm,
                   std::uint64_t seed) {
  return folder / fmt::format("{}.{}", arm, seed);
}

/// The plan's seeds up to a look, or those that are asked for.
std::vector<std::uint64_t> seeds_of(const plan& p, const campaign_request& q) {
  if (q.look < 1 || static_cast<std::size_t>(q.look) > p.looks.size()) {
    throw input_error(
        fmt::format("--look: the plan has looks 1 to {}", p.looks.size()));
  }
  const auto end =
      p.seeds.begin() + p.looks[static_cast<std::size_t>(q.look - 1)];
  const std::vector<std::uint64_t> all(p.seeds.begin(), end);
  if (q.seeds.empty()) return all;
  std::set<std::uint64_t> chosen;
  for (const std::int64_t seed : q.seeds) {
    const auto number = static_cast<std::uint64_t>(seed);
    if (std::find(all.begin(), all.end(), number) == all.end()) {
      throw input_error(
          fmt::format("--seeds: up to look {} the plan's seeds are {}, not {}",
                      q.look, fmt::join(all, ", "), seed));
    }
    chosen.insert(number);
  }
  return {chosen.begin(), chosen.end()};
}

/// Those without their last file.
std::vector<planned_run> runs_left(const plan& p,
                                   const std::vector<std::uint64_t>& seeds,
                                   const fs::path& folder) {
  std::vector<std::string> arms{p.base};
  arms.insert(arms.end(), p.arms.begin(), p.arms.end());
  std::vector<planned_run> left;
  for (const std::uint64_t seed : seeds) {
    for (const std::string& arm : arms) {
      planned_run r{arm, seed, folder_of(folder, arm, seed)};
      std::error_code ignored;
      if (!fs::exists(r.folder / "held_out.csv", ignored)) {
        left.push_back(std::move(r));
      }
    }
  }
  return left;
}

/// Those of the campaign in `folder`, as they are for run r.
train_options options_of(const plan& p, const planned_run& r,
                         const fs::path& folder, train_options o) {
  o.arm = r.arm;
  o.seed = r.seed;
  o.out = r.folder.string();
  if (r.arm == p.base) {
    // It makes the first steps of the seed's other runs, too.
    if (p.shared > 0) o.keep.push_back(p.shared);
    return o;
  }
  o.held_out_by.push_back(p.base);
  if (p.shared == 0) return o;
  o.first_arm = p.base;
  o.first_steps = p.shared;
  const fs::path base = folder_of(folder, p.base, r.seed);
  if (train::run_folder(base, "").has(p.shared)) o.from = base.string();
  return o;
}

}  // namespace

int run_campaign(const campaign_request& q, train_options o) {
  using clock = std::chrono::steady_clock;
  const auto begin = clock::now();
  const plan p = parity::read_plan(q.plan);
  if (o.out.empty()) {
    throw input_error("--campaign: name the folder of its runs with --out");
  }
  const std::vector<std::uint64_t> seeds = seeds_of(p, q);
  check_data(p, o.data);
  apply_settings(p, o);
  o.size = p.size;
  o.steps = p.steps;
  o.plan = q.plan;
  o.held_out = p.held_out;
  o.every = 0;
  const fs::path folder = o.out;
  const auto left = runs_left(p, seeds, folder);
  std::size_t done = 0;
  for (const planned_run& r : left) {
    const double minutes =
        std::chrono::duration<double>(clock::now() - begin).count() / 60;
    if (q.minutes > 0 && minutes > q.minutes) break;
    print(fmt::format("\n{} of {}: arm {}, seed {}\n\n", done + 1, left.size(),
                      r.arm, r.seed));
    const train_options one = options_of(p, r, folder, o);
    if (const int status = run_training(one); status != 0) return status;
    ++done;
  }
  print(fmt::format("\n{} runs made, {} left\n", done, left.size() - done));
  return 0;
}

void add_campaign(cli::app* command, campaign_request& q) {
  auto* const campaign = command->add_option(
      "--campaign", q.plan,
      "A plan: trains those of its runs that --out has not");
  const std::set<std::string> common{"--help",    "--on",   "--data",
                                     "--out",     "--keep", "--digest-every",
                                     "--campaign"};
  for (auto* option : command->get_options()) {
    if (common.count(option->get_name()) == 0) campaign->excludes(option);
  }
  command
      ->add_option("--look", q.look,
                   "With --campaign: seeds up to this one of the plan's looks")
      ->capture_default_str()
      ->needs(campaign);
  command
      ->add_option("--seeds", q.seeds,
                   "With --campaign: of these seeds alone, so that several "
                   "GPUs share a plan")
      ->needs(campaign);
  command
      ->add_option("--minutes", q.minutes,
                   "With --campaign: no run begins after so many")
      ->needs(campaign);
}

}  // namespace zeroulp::program
