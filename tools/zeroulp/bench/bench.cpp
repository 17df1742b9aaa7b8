// bench: how fast this build is on this machine, beside its peers.

#include "tools/zeroulp/bench/bench.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "src/base/near_names.hpp"
#include "tools/zeroulp/bench/gpu/gpu.hpp"
#include "tools/zeroulp/cli.hpp"
#include "tools/zeroulp/program.hpp"
#include "tools/zeroulp/progress.hpp"
#include "tools/zeroulp/record.hpp"
#include "zeroulp/simd.hpp"

namespace zeroulp::program {
namespace {

struct bench_request {
  std::string name;
  std::string simd;
  bool quick = false;
  bool as_json = false;
  std::string record;
};

/// What a row must reach, and what it aims at (0: nothing more).
struct goal {
  const char* name;
  int threads;       ///< 0: any
  const char* simd;  ///< null: any
  double must;
  double aim;
};

constexpr goal goals[] = {
    {"gemm.hopper_fp8", 1, "avx512", 16, 24},
    {"gemm.hopper_fp8", 1, "avx2", 6, 10},
    {"gemm.layer_4096x7168x2048", 2, nullptr, 3, 0},
    {"gemm.layer.memory", 0, nullptr, 2, 0},
    {"ratio.promoted_over_unpromoted", 0, nullptr, 0.9, 0},
    {"ratio.two_threads", 2, nullptr, 1.8, 0},
    {"encode.fp32.e4m3", 1, nullptr, 1, 3},
    {"encode.fp32.e5m2", 1, nullptr, 1, 3},
    {"sweep.fp32.e4m3", 1, nullptr, 4, 2},
    {"dequantize.128x128.bf16", 1, nullptr, 2, 0},
};

const goal* goal_of(const bench_row& row) {
  for (const auto& g : goals) {
    if (row.name == g.name && (g.threads == 0 || g.threads == row.threads) &&
        (g.simd == nullptr || row.simd == g.simd)) {
      return &g;
    }
  }
  return nullptr;
}

/// Returns true iff less is better: times and memory.
bool is_cost(const bench_row& row) {
  return row.unit == "s" || row.name == "gemm.layer.memory";
}

json to_json(const bench_row& row, const goal* g) {
  const auto [low, high] =
      std::minmax_element(row.values.begin(), row.values.end());
  json j{{"name", row.name},
         {"value", median(row.values)},
         {"unit", row.unit},
         {"threads", row.threads},
         {"min", *low},
         {"max", *high},
         {"runs", row.values.size()},
         {"size", row.size}};
  if (!row.simd.empty()) j["simd"] = row.simd;
  if (g != nullptr) j["must"] = g->must;
  if (g != nullptr && g->aim > 0) j["aim"] = g->aim;
  return j;
}

std::vector<std::string> to_cells(const bench_row& row, const goal* g) {
  const auto [low, high] =
      std::minmax_element(row.values.begin(), row.values.end());
  const auto number = [](double x) { return fmt::format("{:.4g}", x); };
  const double value = median(row.values);
  std::vector<std::string> cells{row.name,     number(value),
                                 number(*low), number(*high),
                                 row.unit,     std::to_string(row.threads)};
  if (g == nullptr) return cells;
  cells.push_back(number(g->must) + (g->aim > 0 ? "/" + number(g->aim) : ""));
  cells.push_back(
      fmt::format("{:.2f}", is_cost(row) ? g->must / value : value / g->must));
  return cells;
}

std::vector<bench_entry> selected(const std::string& name) {
  std::vector<bench_entry> all;
  for (auto* list : {gemm_benches, conversion_benches, quantizer_benches,
                     layout_benches, training_benches}) {
    for (auto& entry : list()) all.push_back(std::move(entry));
  }
  std::vector<bench_entry> some;
  std::vector<std::string> known;
  for (auto& entry : all) {
    known.insert(known.end(), entry.names.begin(), entry.names.end());
    if (entry.takes_minutes && name.empty()) continue;
    if (std::any_of(entry.names.begin(), entry.names.end(),
                    [&](const auto& n) { return n.rfind(name, 0) == 0; })) {
      some.push_back(std::move(entry));
    }
  }
  if (some.empty()) {
    throw input_error(
        fmt::format("unknown benchmark '{}': {}use the beginning of one of {}",
                    name, did_you_mean(name, {known.begin(), known.end()}),
                    fmt::join(known, ", ")));
  }
  return some;
}

void choose_simd(const std::string& name) {
  if (name.empty()) return;
  std::string supported;
  for (const auto& s : engine::named_simds) {
    const auto& sets = engine::supported_simd();
    if (std::find(sets.begin(), sets.end(), s.value) == sets.end()) continue;
    if (name == s.name) return engine::use_simd(s.value);
    supported += (supported.empty() ? "" : ", ") + std::string(s.name);
  }
  throw input_error(
      fmt::format("--simd '{}': here it can be {}", name, supported));
}

void run_bench(const bench_request& q, outcome& out) {
  choose_simd(q.simd);
  const auto entries = selected(q.name);
  bench_context how;
  how.quick = q.quick;
  how.threads = {1};
  if (available_threads() > 1) how.threads.push_back(available_threads());

  record_file record(q.record);
  const auto show = make_progress();
  std::vector<bench_row> rows;
  std::vector<std::string> mismatches;
  double done = 0;
  for (const auto& entry : entries) {
    show(done, static_cast<double>(entries.size()), entry.names[0]);
    try {
      auto group = entry.make(how);
      for (auto& row : measure(group, how)) rows.push_back(std::move(row));
    } catch (const bench_mismatch& e) {
      mismatches.emplace_back(e.what());
    }
    ++done;
  }
  show(done, done, "");

  json list = json::array();
  table t{
      {"name", "value", "min", "max", "unit", "threads", "must/aim", "of must"},
      {}};
  for (const auto& row : rows) {
    const auto* g = q.quick ? nullptr : goal_of(row);
    list.push_back(to_json(row, g));
    t.rows.push_back(to_cells(row, g));
  }
  if (record.wanted() && mismatches.empty()) {
    record.write(
        to_record("zeroulp bench" + (q.name.empty() ? "" : " " + q.name),
                  "library", host_platform(), {{"rows", list}}));
  }
  if (q.as_json) {
    print_json(list);
  } else {
    print(t);
  }
  for (const auto& what : how.absent) {
    print_error(fmt::format("absent: {}\n", what));
  }
  for (const auto& what : mismatches) {
    print_error(fmt::format("MISMATCH {}\n", what));
    out.status = 1;
  }
}

}  // namespace

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const auto n = values.size();
  return (values[(n - 1) / 2] + values[n / 2]) / 2;
}

void add_bench(cli::app& app, outcome& out) {
  auto* sub =
      add_command(app, "bench", "How fast this is here, beside its peers",
                  "zeroulp bench encode.fp32 --json");
  auto q = std::make_shared<bench_request>();
  sub->add_option("NAME", q->name, "only those whose name begins so");
  sub->add_option("--simd", q->simd, "portable, avx2 or avx512; else the best");
  auto* quick = sub->add_flag("--quick", q->quick,
                              "small sizes, once: does everything run?");
  sub->add_flag("--json", q->as_json);
  add_record(sub, q->record)->excludes(quick);
  add_bench_gpu(*sub, out);
  sub->callback([q, sub, &out] {
    if (!sub->has_subcommand()) run_bench(*q, out);
  });
}

}  // namespace zeroulp::program
