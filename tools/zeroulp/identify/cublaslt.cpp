#include "tools/zeroulp/identify/cublaslt.hpp"

#include <fmt/format.h>

#include "tools/zeroulp/cli.hpp"
#include "tools/zeroulp/gemm/shapes.hpp"
#ifdef ZEROULP_HAVE_DEVICE
#include "conformance/device/device.hpp"
#include "conformance/peers/cublaslt_rule.hpp"
#include "tools/zeroulp/progress.hpp"
#include "tools/zeroulp/record.hpp"
#endif

namespace zeroulp::program {
namespace {

struct cublaslt_request {
  std::string shapes;
  std::vector<std::string> scalings = {"tensor.fast",   "tensor.precise",
                                       "1x128_128x128", "1x128_1x128",
                                       "128x128_1x128", "rows.fast"};
  std::string a = "e4m3";
  std::string b = "e4m3";
  std::string output = "bf16";
  std::uint64_t seed = 1;
  std::string record;
  bool as_json = false;
};

#ifdef ZEROULP_HAVE_DEVICE

using conformance::peers::cublaslt_problem;
using conformance::peers::cublaslt_scales;
using conformance::peers::cublaslt_scaling;

/// Throws input_error unless cuBLASLt may take these.
void check_formats(format a, format b, format output,
                   const cublaslt_scaling& s) {
  const auto fp8 = [](format f) { return f == e4m3 || f == e5m2; };
  const bool half = a == b && (a == bf16 || a == fp16);
  const bool scaled = s.scales != cublaslt_scales::none;
  if (scaled ? !(fp8(a) && fp8(b)) : !half) {
    throw input_error(fmt::format(
        "operands are {} and {}: scaling {} takes {}", name_of(a), name_of(b),
        s.name, scaled ? "e4m3 and e5m2" : "bf16 or fp16 on both sides"));
  }
  if (!(output == fp32 || output == bf16)) {
    throw input_error(
        fmt::format("--output {}: use fp32 or bf16", name_of(output)));
  }
}

json row_of(const cublaslt_problem& p, const cublaslt_scaling& s,
            const conformance::device::cublaslt_answer& x) {
  json row{{"m", p.m},
           {"n", p.n},
           {"k", p.k},
           {"a", name_of(p.a)},
           {"b", name_of(p.b)},
           {"scaling", s.name},
           {"output", name_of(p.output)}};
  if (!x.refusal.empty()) {
    row["refused"] = x.refusal;
    return row;
  }
  row.update({{"algorithm", x.algorithm.text()},
              {"splits", std::max(x.algorithm.splits, 1)},
              {"recipe", conformance::peers::cublaslt_recipe_name(p)},
              {"outputs", x.outputs},
              {"differing", x.differing},
              {"tells", x.tells}});
  return row;
}

void run_cublaslt(const cublaslt_request& q, outcome& out) {
  const auto shapes = read_shapes(q.shapes);
  const auto a = parse_format(q.a);
  const auto b = parse_format(q.b);
  const auto output = parse_format(q.output);
  std::vector<cublaslt_scaling> scalings;
  for (const auto& name : q.scalings) {
    scalings.push_back(conformance::peers::parse_cublaslt_scaling(name));
    check_formats(a, b, output, scalings.back());
  }
  auto absent = conformance::device::why_absent();
  if (absent.empty()) absent = conformance::peers::cublaslt_absence();
  if (!absent.empty()) throw input_error("identify cublaslt: " + absent);
  record_file record(q.record);
  const auto device = conformance::device::describe();
  const platform_text platform{
      {"library", "cuBLASLt " + conformance::peers::cublaslt_version()},
      {"device", device.name},
      {"driver", device.driver},
      {"workspace",
       fmt::format("{} bytes",
                   conformance::peers::cublaslt_gemm::workspace_bytes)},
      {"alignment", "256 bytes"},
      {"epilogue", "none"}};
  const auto tell = make_progress();
  const auto total = static_cast<double>(shapes.size() * scalings.size());
  json rows = json::array();
  std::uint64_t differing = 0;
  for (const auto& shape : shapes) {
    for (const auto& s : scalings) {
      const cublaslt_problem p{shape.m, shape.n, shape.k,  a,
                               b,       output,  s.scales, s.fast_accumulation,
                               false};
      const auto answer = conformance::device::ask_cublaslt(p, q.seed);
      differing += answer.differing;
      rows.push_back(row_of(p, s, answer));
      tell(static_cast<double>(rows.size()), total, s.name);
    }
  }
  out.status = differing == 0 ? 0 : 1;
  if (record.wanted()) {
    record.write(to_record("zeroulp identify cublaslt", "peers", platform,
                           {{"seed", q.seed}, {"rows", rows}}));
  }
  if (q.as_json) {
    return print_json({{"platform", to_json(platform)}, {"rows", rows}});
  }
  for (const auto& [name, value] : platform) {
    print(fmt::format("{}: {}\n", name, value));
  }
  table t{{"M", "N", "K", "scaling", "recipe", "splits", "verdict"}, {}};
  for (const auto& row : rows) {
    const bool served = !row.contains("refused");
    t.rows.push_back(
        {row["m"].dump(), row["n"].dump(), row["k"].dump(),
         row["scaling"].get<std::string>(),
         served ? row["recipe"].get<std::string>() : "-",
         served ? row["splits"].dump() : "-",
         !served ? row["refused"].get<std::string>()
         : row["differing"] != 0
             ? fmt::format("{} outputs differ", row["differing"].dump())
         : row["tells"] == true ? "held"
                                : "held, as another recipe would"});
  }
  print(t);
}

#else

void run_cublaslt(const cublaslt_request&, outcome&) {
  throw input_error(fmt::format("identify cublaslt: {}", no_gpu_part));
}

#endif

}  // namespace

void add_identify_cublaslt(cli::app& app, outcome& out) {
  auto* sub = add_command(
      app, "cublaslt",
      "Which recipe and how many splits cuBLASLt takes for shapes, on this GPU",
      "zeroulp identify cublaslt --shapes shapes.txt");
  auto q = std::make_shared<cublaslt_request>();
  sub->add_option("--shapes", q->shapes, "file with a line M N K each")
      ->required();
  sub->add_option("--scaling", q->scalings,
                  "tensor.fast, tensor.precise, 1x128_128x128, 1x128_1x128, "
                  "128x128_1x128, rows.fast, rows.precise, or none (bf16, "
                  "fp16)")
      ->capture_default_str();
  sub->add_option("--a", q->a, "format of A")->capture_default_str();
  sub->add_option("--b", q->b, "format of B")->capture_default_str();
  sub->add_option("--output", q->output, "fp32 or bf16")->capture_default_str();
  add_seed(sub, q->seed);
  sub->add_option("--record", q->record, "file for what gemm --like reads")
      ->type_name("FILE");
  sub->add_flag("--json", q->as_json);
  sub->callback([q, &out] { run_cublaslt(*q, out); });
}

}  // namespace zeroulp::program
