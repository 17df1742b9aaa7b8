// SPEC.md, SPEC_TRAINING.md and the registry of checks speak of the same
// clauses.

#include <gtest/gtest.h>

#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <utility>

#include "conformance/contract/registry.hpp"
#include "zeroulp/core/format.hpp"
#include "zeroulp/io.hpp"

namespace zeroulp::conformance {
namespace {

std::string text_of(const char* file) {
  const auto bytes =
      read_file(std::string(ZEROULP_SOURCE_DIR "/conformance/") + file);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
std::string spec() { return text_of("SPEC.md") + text_of("SPEC_TRAINING.md"); }

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
  std::set<std::string> rows;
  for (const char* const file : {"SPEC.md", "SPEC_TRAINING.md"}) {
    const std::string text = text_of(file);
    std::istringstream table(
        text.substr(text.find("## How each clause is proved")));
    for (std::string line; std::getline(table, line);) {
      if (line.rfind("| ", 0) != 0) continue;
      rows.merge(find_all(line.substr(0, line.find('|', 2)), "([A-Z][0-9]+)"));
    }
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
  // about operands as text and as registers; the engine's tests prove G14,
  // those of the training step N19 to N24.
  const std::set<std::string> elsewhere = {
      "C9", "C10", "G11", "G12", "G13", "G14", "M1",  "M2",  "M3",
      "M4", "M5",  "N19", "N20", "N21", "N22", "N23", "N24", "T15"};
  EXPECT_EQ(open, elsewhere);
}

// The fewest of 1, 2, 4 and 8 bytes that hold every code: of bits that are a
// power of two, and of one more and one less.
TEST(Format, StorageBytesHoldItsCodes) {
  for (const auto& f : named_formats) {
    const int bytes = storage_bytes(f.value);
    EXPECT_LE(f.value.bits(), 8 * bytes) << f.name;
    EXPECT_TRUE(bytes == 1 || f.value.bits() > 4 * bytes) << f.name;
  }
  const auto of_bits = [](int bits) {
    return storage_bytes(
        format{static_cast<std::uint8_t>(bits > 20 ? 11 : 5),
               static_cast<std::uint8_t>(bits - 1 - (bits > 20 ? 11 : 5)), 15,
               specials::ieee});
  };
  const std::pair<int, int> expected[] = {{7, 1},  {8, 1},  {9, 2},  {15, 2},
                                          {16, 2}, {17, 4}, {31, 4}, {32, 4},
                                          {33, 8}, {64, 8}};
  for (const auto& [bits, bytes] : expected) {
    EXPECT_EQ(of_bits(bits), bytes) << bits;
  }
}

}  // namespace
}  // namespace zeroulp::conformance
