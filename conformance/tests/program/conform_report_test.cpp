// The reports of `zeroulp conform` where something failed or was skipped, which
// the program's own tests cannot show.

#include <gtest/gtest.h>

#include <regex>

#include "tools/zeroulp/conform/report.hpp"
#include "zeroulp/io.hpp"

namespace zeroulp::program {

// Of the program these are made by conformance/records/check.sh.
const char* sources_of(std::string_view set) {
  return set == "gpu" ? "01 a/b\n23 c/d\n" : "";
}
const char* commit_of_sources() { return "0123abc"; }

namespace {

conform_run example() {
  conform_run r;
  r.gpu = true;
  r.implementation = "device";
  r.effort = {1, 7, false};
  r.platform = {{"device", "<H & 200>"}};
  conformance::verdict fails;
  for (int i = 0; i < 3; ++i) {
    fails.count(i == 0,
                [i] { return "case " + std::to_string(i) + " <\x01>\n"; });
  }
  conformance::verdict holds;
  holds.cases = 256;
  holds.exhaustive = true;
  conformance::verdict skips;
  skips.skipped = "no \"&\"";
  r.checks = {{{"core.a", "T1 T2", "host", 0, {}}, fails, 1.5},
              {{"core.b", "F1", "host", 0, {}}, holds, 0.25},
              {{"core.c", "G1", "host", 0, {}}, skips, 0}};
  return r;
}

TEST(ConformReport, SaysWhatCameOfACheck) {
  const auto r = example();
  EXPECT_EQ(verdict_text(r.checks[0]), "FAILED, 2 of 3 cases");
  EXPECT_EQ(verdict_text(r.checks[1]), "proved, 256 cases");
  EXPECT_EQ(verdict_text(r.checks[2]), "skipped: no \"&\"");
  EXPECT_EQ(summary(r), "1 held, 1 failed, 1 skipped");
}

TEST(ConformReport, GivesInputsAndCommandOfAFailure) {
  EXPECT_EQ(failures(example()),
            std::vector<std::string>{
                "core.a (T1 T2): 2 of 3 cases failed; first: case 1 <\x01>\n; "
                "again: zeroulp conform --gpu --level 1 --seed 7 --only "
                "core.a"});
}

TEST(ConformReport, GivesNotesOfThePartsOfACheck) {
  auto r = example();
  conformance::verdict part;
  part.notes = {"two"};
  r.checks[1].found.notes = {"one"};
  r.checks[1].found += part;
  EXPECT_EQ(notes(r), (std::vector<std::string>{"core.b: one", "core.b: two"}));
  EXPECT_EQ(to_json(r)["checks"][1]["notes"], (json{"one", "two"}));
  EXPECT_FALSE(to_json(r)["checks"][0].contains("notes"));
  EXPECT_NE(to_html(r).find("core.b: two"), std::string::npos);
}

TEST(ConformReport, AVacuousCheckIsNoPass) {
  auto r = example();
  r.checks.erase(r.checks.begin());
  EXPECT_TRUE(held(r));
  r.checks[0].found.vacuous = "9 of 10 requests refused";
  EXPECT_FALSE(held(r));
  EXPECT_EQ(verdict_text(r.checks[0]), "VACUOUS, 256 cases");
  EXPECT_EQ(summary(r), "0 held, 0 failed, 1 skipped, 1 vacuous");
  EXPECT_EQ(failures(r),
            std::vector<std::string>{
                "core.b (F1): VACUOUS: 9 of 10 requests refused; again: "
                "zeroulp conform --gpu --level 1 --seed 7 --only core.b"});
  EXPECT_EQ(to_json(r)["vacuous"], 1);
  EXPECT_EQ(to_json(r)["checks"][0]["verdict"], "VACUOUS");
  EXPECT_EQ(to_json(r)["checks"][0]["why"], "9 of 10 requests refused");
  EXPECT_NE(to_junit(r).find("failures=\"1\""), std::string::npos);
  EXPECT_NE(to_junit(r).find("<failure message=\"VACUOUS: 9 of 10"),
            std::string::npos);
}

TEST(ConformReport, NothingHeldIsNoPass) {
  auto r = example();
  r.checks = {r.checks[2]};
  EXPECT_FALSE(held(r));
  EXPECT_EQ(failures(r),
            std::vector<std::string>{
                "VACUOUS: nothing held: all 1 checks are skipped"});
}

TEST(ConformReport, JunitEscapesWhatXmlCannotHold) {
  const auto text = to_junit(example());
  for (const char* part :
       {"tests=\"3\" failures=\"1\" errors=\"0\" skipped=\"1\" time=\"1.750\"",
        "<property name=\"device\" value=\"&lt;H &amp; 200&gt;\"/>",
        "<failure message=\"case 1 &lt;?&gt;?\">zeroulp conform --gpu --level "
        "1 --seed 7 --only core.a</failure>",
        "<skipped message=\"no &quot;&amp;&quot;\"/>",
        "F1: proved, 256 cases</system-out>"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
}

TEST(ConformReport, RecordsHoldVerdictsAndSourcesButNoTimes) {
  const auto text = to_record(example());
  const auto record = json::parse(text);
  EXPECT_EQ(record["command"], "zeroulp conform --gpu --level 1 --seed 7");
  EXPECT_EQ(record["depends_on"], "gpu");
  EXPECT_EQ(record["platform"]["device"], "<H & 200>");
  EXPECT_EQ(record["commit"], "0123abc");
  EXPECT_EQ(record["program"].get<std::string>().size(), 64u);
  EXPECT_EQ(record["checks"][0]["verdict"], "FAILED");
  EXPECT_EQ(record["checks"][0]["failures"], 2);
  EXPECT_EQ(record["checks"][1]["verdict"], "proved");
  EXPECT_EQ(record["checks"][2]["why"], "no \"&\"");
  EXPECT_EQ(record["sources"].dump(), R"({"a/b":"01","c/d":"23"})");
  EXPECT_EQ(text.find("seconds"), std::string::npos);
}

TEST(ConformReport, PageNamesFailuresAndPlatform) {
  const auto text = to_html(example());
  EXPECT_NE(text.find("<h2 id=\"check-0\">core.a</h2>"), std::string::npos);
  EXPECT_NE(text.find("2 of 3 cases are not what host says. The first: case 1 "
                      "&lt;"),
            std::string::npos);
  EXPECT_NE(text.find("Clauses T1 T2. Again: zeroulp conform --gpu --level 1 "
                      "--seed 7 --only core.a"),
            std::string::npos);
  EXPECT_NE(text.find("<td>&lt;H &amp; 200&gt;</td>"), std::string::npos);
}

// A row for what failed, which leads to it; the others by the SPEC's sections.
TEST(ConformReport, PageHasVerdictsFirst) {
  auto r = example();
  r.checks.push_back(r.checks[1]);
  r.checks.back().found.vacuous = "1 of 2 refused";
  const auto text = to_html(r);
  const auto verdicts = text.substr(0, text.find("<h2"));
  for (const char* part :
       {"<span class=\"badge bad\">1 FAILED</span>",
        "<span class=\"badge bad\">1 VACUOUS</span>",
        "<span class=\"badge good\">1 held</span>",
        "<span class=\"badge none\">1 skipped</span>",
        "FAILED</span></td><td><a href=\"#check-0\">core.a</a></td><td>2 of 3 "
        "cases",
        "VACUOUS</span></td><td><a href=\"#check-3\">core.b</a></td><td>1 of 2 "
        "refused",
        "held</span></td><td>F. Formats</td><td>1 check, 256 cases, 1 proved",
        "skipped</span></td><td>G. GEMM</td><td>0 checks"}) {
    EXPECT_NE(verdicts.find(part), std::string::npos) << part << "\n" << text;
  }
  EXPECT_EQ(verdicts.find("T. The"), std::string::npos);
  EXPECT_NE(text.find("<td>core.b</td><td>proved</td><td class=\"n\">256</td>"),
            std::string::npos);
}

// Titles stand in SPEC.md; N's is the file's own.
TEST(ConformReport, SectionsAreThoseOfTheSpec) {
  const auto bytes = read_file(ZEROULP_SOURCE_DIR "/conformance/SPEC.md");
  const std::string spec(reinterpret_cast<const char*>(bytes.data()),
                         bytes.size());
  const std::regex heading("\n## ([A-Z])\\. ([^\n]*)");
  int found = 0;
  for (std::sregex_iterator i(spec.begin(), spec.end(), heading), end; i != end;
       ++i, ++found) {
    EXPECT_EQ(title_of_section((*i)[1].str()[0]), (*i)[2].str());
  }
  EXPECT_EQ(found, 12);
  EXPECT_NE(title_of_section('N'), "");
  EXPECT_EQ(title_of_section('X'), "");
}

TEST(Verdict, SumIsExhaustiveIffEveryPartIs) {
  conformance::verdict all;
  all.cases = 4;
  all.exhaustive = true;
  conformance::verdict some;
  some.count(false, [] { return std::string("first"); });
  conformance::verdict sum;
  sum += all;
  EXPECT_TRUE(sum.exhaustive);
  sum += some;
  sum += all;
  EXPECT_FALSE(sum.exhaustive);
  EXPECT_EQ(sum.cases, 9u);
  EXPECT_EQ(sum.failures, 1u);
  EXPECT_EQ(sum.first_failure, "first");
}

TEST(RunCheck, FailsWithoutCasesOrWithAnException) {
  const auto run = [](auto what) {
    const conformance::check c{"a", "T1", "host", 0, what};
    return conformance::run_check(c, conformance::core_implementation(), {});
  };
  using conformance::effort;
  using conformance::implementation;
  using conformance::verdict;
  const auto none =
      run([](const implementation&, const effort&) { return verdict{}; });
  EXPECT_EQ(none.failures, 1u);
  const auto throws = run([](const implementation&, const effort&) -> verdict {
    throw std::runtime_error("why");
  });
  EXPECT_EQ(throws.failures, 1u);
  EXPECT_EQ(throws.first_failure, "threw: why");
  // No memory is no mismatch.
  EXPECT_THROW(run([](const implementation&, const effort&) -> verdict {
                 throw std::bad_alloc();
               }),
               std::bad_alloc);
  const auto skips = run([](const implementation&, const effort&) {
    verdict v;
    v.skipped = "no GPU";
    return v;
  });
  EXPECT_EQ(skips.failures, 0u);
  const auto refused = run([](const implementation&, const effort&) {
    verdict v;
    v.vacuous = "all is refused";
    return v;
  });
  EXPECT_EQ(refused.failures, 0u);
  EXPECT_EQ(refused.vacuous, "all is refused");
}

}  // namespace
}  // namespace zeroulp::program
