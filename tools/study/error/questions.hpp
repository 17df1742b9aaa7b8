// Defines a question of the study as data: a base cell, one or two axes, the
// metrics that answer it and what would be a verdict; and the presets.
//
//   cells_of(question, preset) -> run -> answer -> verdict, plot, table
//
// Internal.

#ifndef ZEROULP_TOOLS_STUDY_ERROR_QUESTIONS_HPP_
#define ZEROULP_TOOLS_STUDY_ERROR_QUESTIONS_HPP_

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tools/study/error/run.hpp"
#include "tools/study/report/report.hpp"

namespace zeroulp::study {

/// A point of an axis: what overrides the base cell.
struct arm {
  std::string label;
  std::string settings;
};

struct axis {
  std::string name;
  std::vector<arm> arms;
};

/// The axis of one field: its values, separated by commas.
axis over(const std::string& field, std::string_view values);

/// A cell in its place, and what it gave, or why there is none.
struct answer_cell {
  std::string row;
  std::string series;
  cell value;
  std::optional<std::string> impossible;
  std::optional<result> given;
};

/// How fast a GEMM is that is promoted at this interval, on a GPU.
struct rate {
  std::string interval;
  std::string size;
  double tflops;
};

struct answer {
  std::vector<answer_cell> cells;
  std::vector<rate> throughput;  ///< as recorded; empty: none given

  /// NaN where there is no such cell or it is impossible.
  double at(std::string_view row, std::string_view series,
            std::string_view metric) const;
  /// The labels of rows and series, in order.
  std::vector<std::string> rows() const;
  std::vector<std::string> series() const;
};

struct verdict {
  bool held;
  std::string text;
};

struct question {
  std::string name;
  std::string asks;
  std::string base;  ///< settings
  axis rows;
  axis series;
  std::vector<std::string> metrics;  ///< the first `drawn` are plotted
  std::size_t drawn;
  std::string caption;
  verdict (*judge)(const answer&);
};

/// In the order of the report.
std::span<const question> questions();
/// Throws input_error naming the known ones.
const question& find_question(std::string_view name);

/// How large the study is run.
struct preset {
  const char* name;
  const char* settings;   ///< of every cell
  std::ptrdiff_t most_k;  ///< longer cells are left out
  /// By a GPU, beside the CPU; whole shapes of DeepSeek-V3.
  bool on_gpu;
};
inline constexpr preset presets[] = {
    {"quick", "m=128 n=128", 16384, false},
    {"full", "m=512 n=512", 65536, false},
    {"gpu", "m=1024 n=1024 sample=1024", 65536, true},
};
/// Throws input_error naming the known ones.
const preset& find_preset(std::string_view name);

/// The cells of a question, not run. `settings` come after the preset's.
std::vector<answer_cell> cells_of(const question& q, const preset& p,
                                  std::string_view settings = {});

/// Whether the GPU and the CPU gave the same bits; nothing where no cell was
/// computed by both.
std::optional<verdict> same_bits(const std::vector<const answer*>& all);

/// The verdict of an answer; where a possible cell was not run, or there is
/// none, it does not hold.
verdict judge(const question& q, const answer& a);

/// Percent with four digits, or "-".
std::string percent(double fraction);

/// One metric of an answer, rows against series, in percent; "impossible"
/// where it is.
table to_table(const question& q, const answer& a, const std::string& metric);
/// The drawn metrics, in percent, magnitudes.
plot to_plot(const question& q, const answer& a);

}  // namespace zeroulp::study

#endif  // ZEROULP_TOOLS_STUDY_ERROR_QUESTIONS_HPP_
