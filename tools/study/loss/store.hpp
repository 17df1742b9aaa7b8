// Defines `store_folder`: a folder of the finished parts of a run, so that a
// run that was ended goes on from there.
//
// A part is a sealed file (tools/train/sealed_file.hpp). Internal.

#ifndef ZEROULP_TOOLS_STUDY_LOSS_STORE_HPP_
#define ZEROULP_TOOLS_STUDY_LOSS_STORE_HPP_

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/train/sealed_file.hpp"

namespace zeroulp::loss {

class store_folder {
 public:
  /// `options`, one line, say which run the parts belong to. Without a folder
  /// nothing is kept.
  store_folder(std::filesystem::path folder, std::string options);

  /// The bytes of a part, if it is there. Throws input_error if it is damaged
  /// or of another run.
  std::optional<std::string> find(const std::string& part) const;
  /// Throws input_error where the folder cannot be written.
  void keep(const std::string& part, std::string_view bytes) const;
  void remove(const std::string& part) const;

  std::optional<std::vector<double>> find_numbers(const std::string& part,
                                                  std::size_t count) const;
  void keep_numbers(const std::string& part,
                    const std::vector<double>& numbers) const;

 private:
  /// A long name is cut, and told apart by its SHA-256.
  std::filesystem::path file_of(const std::string& part) const;

  std::filesystem::path folder_;
  train::seal_lines lines_;
};

}  // namespace zeroulp::loss

#endif  // ZEROULP_TOOLS_STUDY_LOSS_STORE_HPP_
