#include "tools/zeroulp/study/paper.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tools/zeroulp/program.hpp"
#include "tools/zeroulp/study/paper_records.hpp"

namespace zeroulp::program {
namespace {

using study::paper::claim;
using study::paper::finding;
using study::paper::standing;

struct answered_claim {
  const claim* asked;
  finding found;
};

table paper_table(const std::vector<answered_claim>& all) {
  table t{{"row", "where", "number", "report", "ours", "how", "verdict", "why"},
          {}};
  for (const auto& [asked, found] : all) {
    t.rows.push_back({asked->name, asked->where, asked->says, asked->value,
                      found.ours, found.how, name_of(found.said), found.why});
  }
  return t;
}

json paper_json(const paper_request& q, const table& t) {
  json rows = json::array();
  for (const auto& row : t.rows) {
    json one;
    for (std::size_t i = 0; i < row.size(); ++i) one[t.columns[i]] = row[i];
    rows.push_back(std::move(one));
  }
  return {{"zeroulp", ZEROULP_VERSION},
          {"command", "zeroulp study --question paper"},
          {"with", q.settings},
          {"report", "arXiv 2412.19437"},
          {"rows", rows}};
}

std::string paper_text(const answered_claim& one) {
  return fmt::format(
      "{}: {} ({})\n  report   {}\n  ours     {}\n  how      {}\n  {}: {}\n\n",
      one.asked->name, one.asked->says, one.asked->where, one.asked->value,
      one.found.ours, one.found.how, name_of(one.found.said), one.found.why);
}

std::string paper_counts(const std::vector<answered_claim>& all) {
  std::string text = fmt::format("{} numbers", all.size());
  for (const auto s : {standing::holds, standing::partly, standing::differs,
                       standing::absent}) {
    const auto n = std::count_if(
        all.begin(), all.end(),
        [&](const answered_claim& x) { return x.found.said == s; });
    text += fmt::format("{} {} {}", s == standing::holds ? ":" : ",",
                        name_of(s), n);
  }
  return text;
}

}  // namespace

int run_paper(const paper_request& q) {
  auto e = read_evidence(q.records);
  e.settings = q.settings;
  output_set files(q.out);
  files.expect({"paper.csv", "paper.json"});
  std::vector<answered_claim> all;
  for (const auto& c : study::paper::claims()) {
    all.push_back({&c, c.find(e)});
  }
  const auto rows = paper_table(all);
  const auto result = paper_json(q, rows);
  files.add("paper.csv", to_csv(rows));
  files.add("paper.json", to_text(result));
  files.commit();
  if (q.as_json) {
    print_json(result);
  } else {
    for (const auto& one : all) print(paper_text(one));
    print(fmt::format("{}\nWritten: {}/paper.csv, {}/paper.json\n",
                      paper_counts(all), q.out, q.out));
  }
  const bool differs =
      std::any_of(all.begin(), all.end(), [](const answered_claim& x) {
        return x.found.said == standing::differs;
      });
  return differs ? 1 : 0;
}

}  // namespace zeroulp::program
