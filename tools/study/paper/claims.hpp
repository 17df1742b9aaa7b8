// Defines the numbers of DeepSeek-V3's technical report that this project can
// make again: what the report says and where, how each is found here.
//
//   evidence (committed records) + what is computed now -> finding
//
// Source: arXiv 2412.19437, as DeepSeek_V3.pdf of github.com/deepseek-ai/
// DeepSeek-V3 (commit 4c2fdb8) has it; sections are the report's. Left out:
// benchmark scores, speeds of H800 clusters, losses of large models. Internal.

#ifndef ZEROULP_TOOLS_STUDY_PAPER_CLAIMS_HPP_
#define ZEROULP_TOOLS_STUDY_PAPER_CLAIMS_HPP_

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace zeroulp::study::paper {

/// A row of a record of `zeroulp bench gpu`.
struct bench_row {
  std::string name, size, who;
  double tflops;
};
struct bench_record {
  std::string file;
  std::string device;
  std::vector<bench_row> rows;

  /// NaN where there is no such row.
  double at(std::string_view name, std::string_view size,
            std::string_view who) const;
};

/// What `zeroulp train --report` found of an arm beside the base, fractions.
struct campaign_arm {
  std::string arm;
  std::string verdict;  ///< within, beyond, undecided; empty: too few runs
  double mean = 0, low = 0, high = 0;
};
struct campaign_record {
  std::string file;
  std::string size;
  std::string data;
  std::int64_t steps = 0;
  std::int64_t shared = 0;  ///< of these: BF16's, before an arm begins
  double bound = 0;
  std::vector<campaign_arm> arms;
  std::optional<bool> is_sensitive;  ///< nothing: no positive control has run
};

/// What others measured, and where the rest is looked for.
struct evidence {
  std::vector<bench_record> bench;
  std::vector<campaign_record> campaigns;
  std::string campaign_folder;  ///< where they would be
  std::string settings;         ///< of the study's cells: m=32 n=32
};

/// partly: some reading of the claim, not all; absent: not measured yet.
enum class standing : std::uint8_t { holds, partly, differs, absent };
const char* name_of(standing s);

struct finding {
  std::string ours;
  std::string how;  ///< computed now, simulated now, or the records' paths
  standing said;
  std::string why;
};

struct claim {
  const char* name;
  const char* where;  ///< section of the report
  const char* says;   ///< what the number is of
  const char* value;  ///< the report's
  finding (*find)(const evidence&);
};

/// In the order of the report.
std::span<const claim> claims();

}  // namespace zeroulp::study::paper

#endif  // ZEROULP_TOOLS_STUDY_PAPER_CLAIMS_HPP_
