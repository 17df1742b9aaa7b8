// SPEC.md and the registry of checks speak of the same clauses.

#include <gtest/gtest.h>

#include <regex>
#include <set>
#include <sstream>
#include <string>

#include "conformance/contract/registry.hpp"
#include "zeroulp/io.hpp"

namespace zeroulp::conformance {
namespace {

std::string spec() {
  const auto bytes = read_file(ZEROULP_SOURCE_DIR "/conformance/SPEC.md");
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::set<std::string> find_all(const std::string& text, const char* pattern) {
  const std::regex expression(pattern);
  std::set<std::string> found;
  for (std::sregex_iterator it(text.begin(), text.end(), expression), end;
       it != end; ++it) {
    found.insert((*it)[1]);
  }
  return found;
}

/// Clauses are defined in bold.
std::set<std::string> clauses() {
  return find_all(spec(), "\\*\\*([A-Z][0-9]+)\\*\\*");
}

TEST(Spec, EveryClauseHasARowInTheTableOfProofs) {
  const std::string text = spec();
  const auto table = text.substr(text.find("## How each clause is proved"));
  std::set<std::string> rows;
  std::istringstream lines(table);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("| ", 0) != 0) continue;
    rows.merge(find_all(line.substr(0, line.find('|', 2)), "([A-Z][0-9]+)"));
  }
  EXPECT_EQ(rows, clauses());
}

TEST(Spec, EveryCheckCitesClausesThatExist) {
  const auto known = clauses();
  for (const auto& c : all_checks()) {
    const auto cited = find_all(c.clauses, "([A-Z][0-9]+)");
    EXPECT_FALSE(cited.empty()) << c.name;
    for (const auto& clause : cited) {
      EXPECT_TRUE(known.count(clause)) << c.name << " cites " << clause;
    }
  }
}

TEST(Spec, EveryClauseIsCitedByACheckOrProvedByTheProgramsTests) {
  auto open = clauses();
  for (const auto& c : all_checks()) {
    for (const auto& clause : find_all(c.clauses, "([A-Z][0-9]+)")) {
      open.erase(clause);
    }
  }
  // Text and metrics are not in the table of functions; C10 is about
  // instructions of a GPU, G13 about its kernels; G11 names operands; T15 is
  // about operands as text and as registers.
  const std::set<std::string> elsewhere = {
      "C9", "C10", "G11", "G12", "G13", "M1", "M2", "M3", "M4", "M5", "T15"};
  EXPECT_EQ(open, elsewhere);
}

}  // namespace
}  // namespace zeroulp::conformance
