// A campaign's plan and its runs, read and checked.

#include "tools/study/parity/runs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>

#include "src/base/json_levels.hpp"
#include "src/base/sha256.hpp"
#include "tools/train/run_folder.hpp"
#include "zeroulp/io.hpp"

namespace zeroulp::parity {
namespace {

namespace fs = std::filesystem;
using json = nlohmann::json;

[[noreturn]] void refuse(const fs::path& file, const std::string& why) {
  throw input_error(fmt::format("{}: {}", file.string(), why));
}

json read_object(const std::string& text) {
  // Nothing of a plan or of settings nests as deep.
  json all = parse_json_to<json>(text, 8,
                                 [] { throw input_error("nested too deep"); });
  if (!all.is_object()) throw input_error("no JSON object");
  return all;
}

/// use(object), whose errors name the file.
template <class Use>
void with_object(const fs::path& file, const std::string& text,
                 const Use& use) {
  try {
    use(read_object(text));
  } catch (const json::exception& e) {
    refuse(file, e.what());
  } catch (const input_error& e) {
    refuse(file, e.what());
  }
}

void need(bool good, const char* what) {
  if (!good) throw input_error(what);
}

void check(const plan& p) {
  need(p.seeds.size() >= 2, "seeds: use two or more");
  need(!p.looks.empty() && std::is_sorted(p.looks.begin(), p.looks.end()) &&
           p.looks.front() >= 2 &&
           static_cast<std::size_t>(p.looks.back()) <= p.seeds.size(),
       "looks: use rising counts of seeds, from 2");
  need(p.level > 0.5 && p.level < 1, "level: use 0.5 to 1, such as 0.95");
  need(p.bound > 0 && p.bound < 1, "bound: use 0 to 1, such as 0.0025");
  need(p.steps >= 1, "steps: use 1 or more");
  need(p.shared >= 0 && p.shared < p.steps,
       "shared: use 0 or more, less than steps");
  const auto is_arm = [&](const std::string& arm) {
    return arm == p.base ||
           std::find(p.arms.begin(), p.arms.end(), arm) != p.arms.end();
  };
  need(is_arm(p.control), "control: use one of arms");
  for (const auto& arm : p.positive_controls) {
    need(is_arm(arm), "positive_controls: use some of arms");
  }
  for (const auto& [a, b] : p.pairs) {
    need(is_arm(a) && is_arm(b), "pairs: use arms");
  }
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> all;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) all.push_back(line);
  return all;
}

std::string text_of(const fs::path& file) {
  const auto bytes = read_file(file);
  return std::string(as_text(bytes));
}

/// What a run's settings say; whether it is of the plan.
void read_settings(const fs::path& file, const std::string& text, const plan& p,
                   run& r) {
  with_object(file, text, [&](const json& all) {
    r.arm = all.at("arm").at("name").get<std::string>();
    r.seed = all.at("seed").get<std::uint64_t>();
    const auto expect = [&](const char* what, const json& found,
                            const json& planned) {
      if (found == planned) return;
      throw input_error(fmt::format("{} is {}, in the plan {}", what,
                                    found.dump(), planned.dump()));
    };
    expect("plan", all.at("plan"), p.digest);
    expect("size", all.at("size").at("name"), p.size);
    expect("data", all.at("data"), p.data);
    expect("steps", all.at("steps"), p.steps);
    for (const auto& [name, value] : p.settings) {
      expect(name.c_str(), all.at(name), json::parse(value));
    }
    json first;
    if (all.contains("first")) {
      first = {{"arm", all.at("first").at("arm").at("name")},
               {"steps", all.at("first").at("steps")}};
    }
    expect("first", first,
           p.shared == 0 || r.arm == p.base
               ? json()
               : json{{"arm", p.base}, {"steps", p.shared}});
    if (r.arm != p.base &&
        std::find(p.arms.begin(), p.arms.end(), r.arm) == p.arms.end()) {
      throw input_error(fmt::format("arm '{}' is not in the plan", r.arm));
    }
    if (std::find(p.seeds.begin(), p.seeds.end(), r.seed) == p.seeds.end()) {
      throw input_error(fmt::format("seed {} is not in the plan", r.seed));
    }
  });
}

/// Returns the last link.
std::string read_receipt(const fs::path& folder, const std::string& settings,
                         const plan& p, run& r) {
  const auto rows = train::run_folder(folder, settings).read_receipt();
  if (static_cast<std::int64_t>(rows.rows().size()) != p.steps) {
    refuse(folder / "receipt.csv",
           fmt::format("it has {} of {} steps", rows.rows().size(), p.steps));
  }
  for (const auto& row : rows.rows()) r.losses.push_back(row.report.loss);
  r.state = rows.rows().back().state;
  return rows.rows().back().chain;
}

void read_held_out(const fs::path& file, std::string chain, run& r) {
  const auto lines = lines_of(text_of(file));
  if (lines.empty() || lines[0] != held_out_header) {
    refuse(file, "no held-out losses of a run");
  }
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const auto cut = lines[i].rfind(',');
    const std::string row = lines[i].substr(0, cut);
    chain = sha256_hex(chain + row);
    if (cut == std::string::npos || lines[i].substr(cut + 1) != chain) {
      refuse(file, fmt::format("line {} is damaged, or of another run", i + 1));
    }
    std::istringstream cells(row);
    std::string step, batches, arm, loss;
    std::getline(cells, step, ',');
    std::getline(cells, batches, ',');
    std::getline(cells, arm, ',');
    std::getline(cells, loss, ',');
    r.held_out[arm] = std::strtod(loss.c_str(), nullptr);
  }
}

run read_run(const fs::path& folder, const plan& p) {
  run r;
  const fs::path file = folder / "settings.json";
  std::string settings = text_of(file);
  if (settings.empty() || settings.back() != '\n') refuse(file, "it is cut");
  settings.pop_back();
  read_settings(file, settings, p, r);
  const std::string chain = read_receipt(folder, settings, p, r);
  const fs::path held = folder / "held_out.csv";
  read_held_out(held, chain, r);
  for (const std::string& arm : {r.arm, p.base}) {
    if (!r.held_out.contains(arm)) {
      refuse(held,
             fmt::format("there is no loss by the numerics of '{}'", arm));
    }
  }
  return r;
}

}  // namespace

plan read_plan(const fs::path& file) {
  const std::string text = text_of(file);
  plan p;
  p.digest = sha256_hex(text);
  with_object(file, text, [&](const json& all) {
    all.at("size").get_to(p.size);
    all.at("data").get_to(p.data);
    all.at("steps").get_to(p.steps);
    all.at("base").get_to(p.base);
    all.at("control").get_to(p.control);
    all.at("arms").get_to(p.arms);
    all.at("positive_controls").get_to(p.positive_controls);
    all.at("pairs").get_to(p.pairs);
    all.at("seeds").get_to(p.seeds);
    all.at("looks").get_to(p.looks);
    all.at("level").get_to(p.level);
    all.at("bound").get_to(p.bound);
    const json settings = all.value("settings", json::object());
    for (const auto& [name, value] : settings.items()) {
      need(value.is_number(), "settings: use numbers");
      p.settings[name] = value.dump();
    }
    p.held_out = all.value("held_out", p.held_out);
    need(p.held_out >= 1, "held_out: use 1 or more");
    p.shared = all.value("shared", p.shared);
    check(p);
  });
  return p;
}

std::map<std::pair<std::string, std::uint64_t>, run> read_runs(
    const fs::path& folder, const plan& p) {
  std::map<std::pair<std::string, std::uint64_t>, run> all;
  std::error_code failed;
  std::vector<fs::path> folders;
  for (const auto& entry : fs::directory_iterator(folder, failed)) {
    if (fs::exists(entry.path() / "settings.json")) {
      folders.push_back(entry.path());
    }
  }
  if (failed) refuse(folder, "name the folder of a campaign's runs");
  if (folders.empty()) refuse(folder, "there is no run");
  std::sort(folders.begin(), folders.end());
  for (const fs::path& path : folders) {
    run r = read_run(path, p);
    const std::pair key(r.arm, r.seed);
    if (!all.emplace(key, std::move(r)).second) {
      refuse(path, fmt::format("there are two runs of arm '{}', seed {}",
                               key.first, key.second));
    }
  }
  return all;
}

std::string held_out_row(std::int64_t step, std::int64_t batches,
                         const std::string& arm, double loss) {
  return fmt::format("{},{},{},{:a}", step, batches, arm, loss);
}

}  // namespace zeroulp::parity
