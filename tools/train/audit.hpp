// Defines `audit_ops`: the operators of the CPU, of which the long ones (matrix
// products, attention) put their results on the disk. A step that was ended
// goes on behind the last of them. Internal.

#ifndef ZEROULP_TOOLS_TRAIN_AUDIT_HPP_
#define ZEROULP_TOOLS_TRAIN_AUDIT_HPP_

#include <filesystem>
#include <string>

#include "tools/train/run.hpp"

namespace zeroulp::train {

/// Results of operators, numbered in the order of the calls.
class operator_results {
 public:
  /// Keeps nothing: every call is computed.
  operator_results() = default;
  /// `of` says which step they are of: results of another are refused.
  operator_results(std::filesystem::path folder, std::string of)
      : folder_(std::move(folder)), of_(std::move(of)) {}

  /// Fills the outputs of the next call: from the disk, else by `compute`,
  /// whose outputs are put there. Throws input_error if a file is damaged or of
  /// another step.
  template <class Compute, class... T>
  void next(const Compute& compute, matrix_view<T>... outputs) {
    ++calls_;
    if (folder_.empty()) return compute();
    byte_parts parts;
    (add_parts(parts, outputs), ...);
    if (find(parts)) {
      ++found_;
    } else {
      compute();
      keep(parts);
    }
  }
  /// Calls so far, and those whose outputs were on the disk.
  std::int64_t calls() const { return calls_; }
  std::int64_t found() const { return found_; }

 private:
  /// All bytes of the outputs, in order: parts of at most 1 MiB.
  using byte_parts = std::vector<byte_part>;

  static void add_part(byte_parts& all, const void* data, std::size_t count);
  template <class T>
  static void add_parts(byte_parts& all, const matrix_view<T>& v) {
    const auto width = static_cast<std::size_t>(v.cols) * sizeof(T);
    if (v.row_stride == v.cols) {
      return add_part(all, v.data, width * static_cast<std::size_t>(v.rows));
    }
    for (std::ptrdiff_t i = 0; i < v.rows; ++i) add_part(all, &v(i, 0), width);
  }

  std::filesystem::path file() const;
  std::string header(const byte_parts& outputs) const;
  bool find(const byte_parts& outputs);
  void keep(const byte_parts& outputs) const;

  std::filesystem::path folder_;
  std::string of_;
  std::int64_t calls_ = 0;
  std::int64_t found_ = 0;
};

/// A run on the CPU whose step keeps the results of its operators in `results`.
/// One at a time; it refers to `results`.
std::unique_ptr<any_run> make_audited_run(run_settings settings,
                                          training_data data,
                                          operator_results& results);

}  // namespace zeroulp::train

#endif  // ZEROULP_TOOLS_TRAIN_AUDIT_HPP_
