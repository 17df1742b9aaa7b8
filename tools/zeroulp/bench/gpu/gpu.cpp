// bench gpu: how fast the kernels are, beside a stream of the same bytes, and
// the GEMMs beside their peers and the tensor cores' limit.

#include "tools/zeroulp/bench/gpu/gpu.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "src/base/near_names.hpp"
#include "tools/zeroulp/cli.hpp"
#include "tools/zeroulp/progress.hpp"
#include "tools/zeroulp/record.hpp"
#ifdef ZEROULP_HAVE_CUDA
#include "tools/zeroulp/bench/gpu/attention/attention.hpp"
#include "tools/zeroulp/bench/gpu/gemm_report.hpp"
#include "tools/zeroulp/terminal.hpp"
#endif

namespace zeroulp::program {
namespace {

struct gpu_request {
  std::vector<std::string> names;  ///< empty: all
  bool quick = false;
  bool overlap = false;
  bool as_json = false;
  std::string record;
};

#ifdef ZEROULP_HAVE_CUDA

/// Activations of 4096 and 8192 tokens, and a long batch of a narrow layer.
constexpr shape usual_shapes[] = {{4096, 7168}, {8192, 7168}, {16384, 2048}};
constexpr shape small_shape{256, 512};
constexpr gpu_effort usual_effort{20, 20};
constexpr gpu_effort small_effort{1, 2};

std::string size_of(shape s) { return fmt::format("{}x{}", s.m, s.n); }

bool begins_with(const std::string& name, const std::string& beginning) {
  return name.rfind(beginning, 0) == 0;
}

/// Those whose name begins with one of `names`; adds everyone's name to
/// `known`.
template <class Row>
std::vector<Row> selected(std::vector<Row> rows,
                          const std::vector<std::string>& names,
                          std::set<std::string>& known) {
  std::erase_if(rows, [&](const Row& row) {
    known.insert(row.name);
    return !names.empty() &&
           std::none_of(names.begin(), names.end(), [&](const auto& name) {
             return begins_with(row.name, name);
           });
  });
  return rows;
}

/// Throws input_error if a name is the beginning of none that is known.
void check_names(const std::vector<std::string>& names,
                 const std::set<std::string>& known) {
  for (const auto& name : names) {
    if (std::any_of(known.begin(), known.end(),
                    [&](const auto& one) { return begins_with(one, name); })) {
      continue;
    }
    throw input_error(
        fmt::format("bench gpu: unknown benchmark '{}': {}use the beginning of "
                    "one of {}",
                    name, did_you_mean(name, {known.begin(), known.end()}),
                    fmt::join(known, ", ")));
  }
}

/// Of a row: its own, with few rows if it is to be quick, or the usual ones.
std::vector<shape> sizes_of(const gpu_row& row, bool quick) {
  std::vector<shape> all = row.sizes;
  if (all.empty() && quick) return {small_shape};
  if (all.empty()) return {std::begin(usual_shapes), std::end(usual_shapes)};
  if (quick) all = {{small_shape.m, all[0].n}};
  return all;
}

/// What is shown of a row that was timed.
struct gpu_summary {
  double ratio, least, most;  ///< to the stream, over the rounds
  double seconds;
  double rate, stream_rate;  ///< GB/s
};

gpu_summary summary_of(const gpu_result& r) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < r.seconds.size(); ++i) {
    ratios.push_back(r.stream_seconds[i] / r.seconds[i]);
  }
  const auto [low, high] = std::minmax_element(ratios.begin(), ratios.end());
  const double gigabytes = 1e-9 * (r.read + r.written);
  const double seconds = median(r.seconds);
  return {median(ratios),
          *low,
          *high,
          seconds,
          gigabytes / seconds,
          gigabytes / median(r.stream_seconds)};
}

json to_json(const gpu_row& row, shape s, const gpu_result& r,
             const gpu_request& q) {
  const auto m = summary_of(r);
  json j{{"name", row.name},
         {"value", m.ratio},
         {"unit", "x"},
         {"min", m.least},
         {"max", m.most},
         {"runs", r.seconds.size()},
         {"size", size_of(s)},
         {"microseconds", 1e6 * m.seconds},
         {"gb_per_s", m.rate},
         {"stream_gb_per_s", m.stream_rate},
         {"stream", r.stream},
         {"read_bytes", r.read},
         {"written_bytes", r.written}};
  if (r.clock_mhz > 0) j["clock_mhz"] = r.clock_mhz;
  if (r.power_w > 0) j["power_w"] = r.power_w;
  if (q.overlap) j["overlap"] = true;
  if (q.quick) return j;
  if (row.must > 0) j["must"] = row.must;
  if (row.aim > 0) j["aim"] = row.aim;
  return j;
}

std::vector<std::string> to_cells(const gpu_row& row, shape s,
                                  const gpu_result& r, bool quick) {
  const auto m = summary_of(r);
  const auto known = [](double x) {
    return x > 0 ? fmt::format("{:.0f}", x) : "";
  };
  std::vector<std::string> cells{row.name,
                                 size_of(s),
                                 fmt::format("{:.3f}", m.ratio),
                                 fmt::format("{:.3f}", m.least),
                                 fmt::format("{:.3f}", m.most),
                                 fmt::format("{:.1f}", 1e6 * m.seconds),
                                 fmt::format("{:.0f}", m.rate),
                                 fmt::format("{:.0f}", m.stream_rate),
                                 known(r.clock_mhz),
                                 known(r.power_w)};
  if (quick || row.must <= 0) return cells;
  cells.push_back(fmt::format("{:g}/{:g}", row.must, row.aim));
  cells.push_back(fmt::format("{:.2f}", m.ratio / row.must));
  return cells;
}

table run_memory(const std::vector<gpu_row>& rows, const gpu_request& q,
                 json& list, std::vector<std::string>& failures,
                 const progress& show) {
  gpu_bench bench(q.overlap);
  double total = 0;
  for (const auto& row : rows) {
    total += static_cast<double>(sizes_of(row, q.quick).size());
  }
  double done = 0;
  table t{{"name", "size", "x stream", "min", "max", "us", "GB/s", "stream",
           "MHz", "W", "must/aim", "of must"},
          {}};
  for (const auto& row : rows) {
    for (const shape s : sizes_of(row, q.quick)) {
      show(done++, total, row.name);
      try {
        const auto r =
            bench.measure(row.make(s), q.quick ? small_effort : usual_effort);
        list.push_back(to_json(row, s, r, q));
        t.rows.push_back(to_cells(row, s, r, q.quick));
      } catch (const std::exception& e) {
        list.push_back(
            {{"name", row.name}, {"size", size_of(s)}, {"failed", e.what()}});
        t.rows.push_back({row.name, size_of(s), "FAILED"});
        failures.push_back(
            fmt::format("{}, {}: {}", row.name, size_of(s), e.what()));
      }
    }
  }
  show(total, total, "");
  return t;
}

void run_gpu(const gpu_request& q, outcome& out) {
  std::set<std::string> known;
  const auto rows = selected(gpu_rows(), q.names, known);
  const auto gemms = selected(gemm_rows(), q.names, known);
  const auto attentions = selected(attention_rows(), q.names, known);
  check_names(q.names, known);
#ifdef ZEROULP_QUICK_KERNELS
  throw input_error(
      "bench gpu: the kernels of this build are slow, for it was to be a quick "
      "one: build again with -DZEROULP_QUICK_KERNELS=OFF");
#endif
  record_file record(q.record);
  const auto show = make_progress();
  json list = json::array();
  std::vector<std::string> failures;
  std::string text;
  const auto add = [&text](const table& t) {
    if (!text.empty()) text += "\n";
    text += to_text(t, terminal_width());
  };
  if (!rows.empty()) add(run_memory(rows, q, list, failures, show));
  if (!gemms.empty()) add(run_gemms(gemms, q.quick, list, failures, show));
  if (!attentions.empty()) {
    add(run_attention(attentions, q.quick, list, failures, show));
  }
  if (record.wanted() && failures.empty()) {
    const auto command =
        fmt::format("zeroulp bench gpu{}{}{}", q.names.empty() ? "" : " ",
                    fmt::join(q.names, " "), q.overlap ? " --overlap" : "");
    record.write(
        to_record(command, "kernels", gpu_bench_platform(), {{"rows", list}}));
  }
  if (q.as_json) {
    print_json(list);
  } else {
    print(text);
  }
  for (const auto& what : failures) {
    print_error(fmt::format("FAILED {}\n", what));
    out.status = 1;
  }
}

#else

void run_gpu(const gpu_request&, outcome&) {
  throw input_error(fmt::format("bench gpu: {}", no_gpu_part));
}

#endif

}  // namespace

void add_bench_gpu(cli::app& bench, outcome& out) {
  auto* sub = add_command(bench, "gpu",
                          "How fast the kernels are, beside a stream of the "
                          "same bytes or their peers",
                          "zeroulp bench gpu quantize --json");
  auto q = std::make_shared<gpu_request>();
  sub->add_option("NAME", q->names, "only those whose name begins so");
  auto* quick =
      sub->add_flag("--quick", q->quick,
                    "small sizes or a round or two: does everything run?");
  sub->add_flag(
      "--overlap", q->overlap,
      "the streams, too, begin while the kernel before them ends, as the "
      "kernels always do");
  sub->add_flag("--json", q->as_json);
  add_record(sub, q->record)->excludes(quick);
  sub->callback([q, &out] { run_gpu(*q, out); });
}

}  // namespace zeroulp::program
