// Defines the receipt of a run: a row for each step, each chained to those
// before it, so that nobody changes one without changing the last.
//
//   chain[0] = SHA-256(settings)
//   chain[t] = SHA-256(chain[t-1] "step,loss,norm,rate,state")
//
// Numbers are FP64 in hexadecimal; `state` is empty where the step has no
// digest. Internal.

#ifndef ZEROULP_TOOLS_TRAIN_RECEIPT_HPP_
#define ZEROULP_TOOLS_TRAIN_RECEIPT_HPP_

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "tools/train/run.hpp"

namespace zeroulp::train {

struct receipt_row {
  std::int64_t step;
  step_report report;
  std::string state;  ///< digest of the state after the step, or empty
  std::string chain;
};

class receipt {
 public:
  static constexpr std::string_view header = "step,loss,norm,rate,state,chain";

  /// `settings` is what decides the run, in one line.
  explicit receipt(std::string_view settings);

  void add(const step_report& report, std::string state);

  const std::vector<receipt_row>& rows() const { return rows_; }
  /// The row of a step; null if there is none.
  const receipt_row* find(std::int64_t step) const;
  /// A line for each row.
  std::string lines() const;

  /// Takes a line. Throws input_error, naming `where`, unless it is the next
  /// row of this chain.
  void read(std::string_view line, const std::filesystem::path& where);

 private:
  const std::string& last_chain() const {
    return rows_.empty() ? first_ : rows_.back().chain;
  }

  std::string first_;
  std::vector<receipt_row> rows_;
};

}  // namespace zeroulp::train

#endif  // ZEROULP_TOOLS_TRAIN_RECEIPT_HPP_
