// study: questions about the error of a GEMM, with verdicts, the loss of a
// small model trained beside BF16, and the numbers of DeepSeek-V3's report.

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "tools/zeroulp/cli.hpp"
#include "tools/zeroulp/program.hpp"
#include "tools/zeroulp/study/loss.hpp"
#include "tools/zeroulp/study/paper.hpp"
#include "tools/zeroulp/study/questions.hpp"

namespace zeroulp::program {
namespace {

struct study_command {
  questions_request questions;
  loss_request loss;
  std::string records;  ///< empty: the repository's
  std::string out = "study";
  bool as_json = false;
};

bool asks_paper(const study_command& q) {
  const auto& names = q.questions.names;
  return std::find(names.begin(), names.end(), paper_question) != names.end();
}

int run_paper_command(const study_command& q) {
  const questions_request& other = q.questions;
  if (other.names.size() > 1 || !other.preset.empty() || !other.cells.empty() ||
      !other.real.empty() || !other.throughput.empty()) {
    throw input_error(
        "study: the question paper is asked alone: with --records, --with, "
        "--out and --json");
  }
  paper_request paper;
  if (!q.records.empty()) paper.records = q.records;
  for (const auto& text : other.with) paper.settings += text + " ";
  paper.out = q.out;
  paper.as_json = q.as_json;
  return run_paper(paper);
}

int run_study_command(study_command q) {
  q.questions.as_json = q.loss.as_json = q.as_json;
  q.questions.out = q.out;
  if (q.loss.wanted) return run_loss(q.loss, q.out);
  if (asks_paper(q)) return run_paper_command(q);
  if (!q.records.empty()) {
    throw input_error("study: --records is for --question paper");
  }
  if (!q.questions.asks()) {
    throw input_error(
        "study: say what: --preset quick (a minute), --question NAME, --cells "
        "FIELD=VALUE,..., --real DIR or --loss");
  }
  return run_questions(q.questions, prepare_questions(q.questions));
}

}  // namespace

void add_study(cli::app& app, outcome& out) {
  auto* sub = add_command(
      app, "study",
      "Questions about the error of a GEMM, with verdicts; about the loss; or "
      "about DeepSeek-V3's report",
      "zeroulp study --preset quick --out report");
  auto q = std::make_shared<study_command>();
  sub->add_option("--out", q->out, "directory to write")->capture_default_str();
  sub->add_flag("--json", q->as_json);
  add_questions(sub, q->questions);
  sub->add_option("--records", q->records,
                  "with --question paper: the folder of committed records "
                  "(conformance/records)");
  add_reference(sub);
  add_loss_options(*sub, q->loss);
  sub->callback([q, &out] { out.status = run_study_command(*q); });
}

std::vector<std::string> with_current_names(
    std::vector<std::string> arguments) {
  if (arguments.empty() || arguments.front() != "measure") return arguments;
  constexpr const char* moved[] = {
      "--preset",       "--question",  "--cells",      "--with",
      "--loss",         "--loss-size", "--loss-model", "--loss-seed",
      "--loss-threads", "--throughput"};
  const auto is = [](const std::string& word, const std::string& option) {
    return word == option || word.rfind(option + "=", 0) == 0;
  };
  const auto find = [&arguments, &is](const char* option) {
    return std::any_of(arguments.begin(), arguments.end(),
                       [&](const auto& word) { return is(word, option); });
  };
  const auto* const option =
      std::find_if(std::begin(moved), std::end(moved), find);
  if (option == std::end(moved)) return arguments;
  print_error(fmt::format("zeroulp: measure {0} is now `zeroulp study {0}`\n",
                          *option));
  arguments.front() = "study";
  if (!find("--out")) arguments.insert(arguments.end(), {"--out", "measure"});
  return arguments;
}

}  // namespace zeroulp::program
