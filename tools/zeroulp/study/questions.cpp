#include "tools/zeroulp/study/questions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "tools/zeroulp/cli.hpp"
#include "tools/zeroulp/gemm/gemm_gpu.hpp"
#include "tools/zeroulp/json_input.hpp"
#include "tools/zeroulp/progress.hpp"
#include "tools/zeroulp/study/real.hpp"
#include "tools/zeroulp/study/report.hpp"
#include "tools/zeroulp/study/throughput.hpp"

namespace zeroulp::program {
namespace {

using study::answer;
using study::cell;
using study::question;

/// What a cell holds while it runs.
void require_cell_memory(const cell& c) {
  const auto m = static_cast<double>(c.m), n = static_cast<double>(c.n),
             k = static_cast<double>(c.k);
  const double history =
      c.a.when.history > 0 || c.b.when.history > 0 ? 4096 : 0;
  const auto measured = static_cast<double>(study::measured_rows(c)) *
                        static_cast<double>(study::measured_cols(c));
  require_memory(24 * (m + n + history) * k + 8 * m * n + 128 * measured);
}

/// A matrix decides sizes: what is asked of these comes after it.
bool asks_for_input(std::string_view setting) {
  return setting.substr(0, setting.find('=')).ends_with("input");
}

/// The question that --cells asks: the product of its axes.
question question_of_cells(const questions_request& q) {
  question made{"cells", "Cells", "",     {"cell", {{"", ""}}}, {"", {}}, {},
                0,       "",      nullptr};
  for (const auto& text : q.cells) {
    const auto equals = text.find('=');
    const auto values = equals == std::string::npos
                            ? std::vector<std::string>{}
                            : study::split(text.substr(equals + 1), ',');
    if (values.empty()) {
      throw input_error(fmt::format("--cells {}: use FIELD=VALUE,...", text));
    }
    const auto field = text.substr(0, equals + 1);
    if (std::count_if(q.cells.begin(), q.cells.end(), [&](const auto& other) {
          return other.rfind(field, 0) == 0;
        }) > 1) {
      throw input_error(fmt::format("--cells {} is there twice", text));
    }
    const bool first = asks_for_input(field);
    std::vector<study::arm> all;
    for (const auto& arm : made.rows.arms) {
      for (const auto& value : values) {
        if (value.find(' ') != std::string::npos) {
          throw input_error(fmt::format(
              "--cells {}: a value has no spaces: rename the file", text));
        }
        const auto one = field + value;
        const bool shown = values.size() > 1;
        const auto space = arm.label.empty() || !shown ? "" : " ";
        all.push_back(
            {arm.label + space + (shown ? one : ""),
             first ? one + " " + arm.settings : arm.settings + " " + one});
      }
    }
    if (all.size() > 100000) {
      throw input_error("--cells: more than 100000 cells");
    }
    made.rows.arms = std::move(all);
  }
  made.metrics = {"total.frobenius", "quantization.frobenius",
                  "accumulation.frobenius", "accumulation.bias",
                  "accumulation.max_over_mean"};
  return made;
}

double work_of(const cell& c) {
  const auto m = static_cast<double>(c.m), n = static_cast<double>(c.n),
             k = static_cast<double>(c.k);
  return k * (m * n + 1000 * (m + n));
}

void run_cells(std::vector<asked>& all, const study::multiplier& gpu) {
  double total = 0, done = 0;
  for (const auto& one : all) {
    for (const auto& c : one.given.cells) {
      if (c.impossible) continue;
      total += work_of(c.value);
      require_cell_memory(c.value);
    }
  }
  const auto show = make_progress();
  study::runner runner(gpu);
  for (auto& one : all) {
    for (auto& c : one.given.cells) {
      if (c.impossible) continue;
      c.given = runner.run(c.value);
      done += work_of(c.value);
      show(done, total, one.what.name);
    }
    if (one.what.judge == nullptr) continue;
    one.judged = judge(one.what, one.given);
    one.figure = render_svg(to_plot(one.what, one.given));
  }
}

std::string multiply_on_gpu(const recipe& r,
                            const gemm_operand<std::uint32_t>& a,
                            const gemm_operand<std::uint32_t>& b,
                            matrix_view<std::uint32_t> d) {
  return gemm_on_gpu(r, a, b, {}, d);
}

/// A file of the output directory that another run may have left.
json read_loss(const std::string& out) {
  const auto file = out + "/loss.json";
  std::error_code none;
  if (!std::filesystem::exists(file, none)) return nullptr;
  constexpr const char* remedy = "remove it or run measure --loss again";
  auto loss = read_json(file, remedy);
  if (!loss.is_object()) {
    throw input_error(fmt::format("{}: no JSON object: {}", file, remedy));
  }
  return loss;
}

}  // namespace

void add_questions(cli::app* command, questions_request& q) {
  std::string known;
  for (const auto& one : study::questions()) {
    known += (known.empty() ? "" : ", ") + one.name;
  }
  command->add_option(
      "--preset", q.preset,
      "how large: quick (m = n = 128, a minute for every question), full (512, "
      "minutes), or gpu (1024 and whole shapes on a Hopper GPU, each cell held "
      "against the CPU)");
  command->add_option(
      "--question", q.names,
      "some of " + known +
          "; of the preset quick if none is given; or paper alone: the numbers "
          "of DeepSeek-V3's report");
  command->add_option("--cells", q.cells,
                      "cells of your own: FIELD=VALUE,... an axis each, such "
                      "as k=1024,4096 a.input=N(0,1),U(0,1), or your matrices: "
                      "a.input=x.npy b.input=w.npy (BF16: x.npy:bf16); they "
                      "are rounded to BF16 unless values=fp32");
  command->add_option("--with", q.with, "FIELD=VALUE for every cell of them");
  command->add_option("--real", q.real,
                      "folder of captured operands: products.json and what it "
                      "names, as conformance/records/study/capture_linears.py "
                      "writes them");
  command->add_option(
      "--throughput", q.throughput,
      "what zeroulp bench gpu gemm.interval --json wrote: shown "
      "beside the error against the interval");
}

prepared_questions prepare_questions(const questions_request& q) {
  if (!q.cells.empty() && !q.names.empty()) {
    throw input_error("--cells asks for cells of your own: without --question");
  }
  study::preset p = study::find_preset(q.preset.empty() ? "quick" : q.preset);
  if (!q.real.empty() && !(q.cells.empty() && q.names.empty())) {
    throw input_error("--real is a question: without --question and --cells");
  }
  if (!(q.cells.empty() && q.real.empty())) {
    p.most_k = std::ptrdiff_t{1} << 40;
  }
  auto with = q.with;
  std::stable_partition(with.begin(), with.end(), asks_for_input);
  prepared_questions made;
  made.run.preset = p.name;
  made.run.real = q.real;
  for (const auto& text : with) made.run.settings += text + " ";
  std::vector<study::rate> throughput;
  if (!q.throughput.empty()) throughput = read_throughput(q.throughput);
  const auto ask = [&](const question& one) {
    answer given{cells_of(one, p, made.run.settings), throughput};
    if (std::none_of(given.cells.begin(), given.cells.end(),
                     [](const auto& c) { return !c.impossible; })) {
      throw input_error(fmt::format("{}: there is nothing to measure: {}",
                                    one.name, *given.cells.at(0).impossible));
    }
    made.all.push_back({one, std::move(given), {}, {}});
  };
  if (!q.cells.empty()) ask(question_of_cells(q));
  if (!q.real.empty()) ask(question_of_products(q.real));
  for (const auto& name : q.names) ask(study::find_question(name));
  if (made.all.empty()) {
    for (const auto& one : study::questions()) ask(one);
  }
  if (p.on_gpu) {
    made.run.device = require_gpu("study --preset gpu");
    made.by = multiply_on_gpu;
  }
  return made;
}

int run_questions(const questions_request& q, prepared_questions prepared) {
  auto& [all, run, gpu] = prepared;
  run.loss = read_loss(q.out);
  output_set files(q.out);  // before the work, which may take minutes
  files.expect({"study.csv", "study.json", "measure.html"});
  for (const auto& one : all) {
    if (one.what.judge != nullptr) files.expect({one.what.name + ".svg"});
  }
  run_cells(all, gpu);
  std::vector<const answer*> answers;
  for (const auto& one : all) answers.push_back(&one.given);
  run.same_bits = study::same_bits(answers);
  const auto result = to_json(run, all);
  files.add("study.csv", to_csv(cells_table(all)));
  files.add("study.json", to_text(result));
  try {
    files.add("measure.html", questions_page(run, all));
  } catch (const json::exception&) {
    throw input_error(q.out +
                      "/loss.json: not what measure --loss writes: "
                      "remove it or run that again");
  }
  for (const auto& one : all) {
    if (one.figure) files.add(one.what.name + ".svg", standalone(*one.figure));
  }
  files.commit();
  int status = run.same_bits && !run.same_bits->held ? 1 : 0;
  for (const auto& one : all) {
    if (one.judged && !one.judged->held) status = 1;
  }
  if (q.as_json) {
    print_json(result);
    return status;
  }
  for (const auto& one : all) print(to_text(one));
  if (run.same_bits) print(to_text(*run.same_bits) + "\n");
  print(
      fmt::format("Written: {0}/study.csv, {0}/study.json, "
                  "{0}/measure.html\n",
                  q.out));
  return status;
}

}  // namespace zeroulp::program
