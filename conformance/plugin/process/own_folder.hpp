// Defines `own_folder`: the folder that a sealed plug-in may write to.

#ifndef ZEROULP_CONFORMANCE_PLUGIN_PROCESS_OWN_FOLDER_HPP_
#define ZEROULP_CONFORMANCE_PLUGIN_PROCESS_OWN_FOLDER_HPP_

#include <string>

namespace zeroulp::conformance::plugin {

/// An empty folder in $TMPDIR or /tmp. It is removed at the end with all that
/// is in it: any depth, any permissions. Nobody else may use it by then.
class own_folder {
 public:
  /// Throws input_error.
  own_folder();
  own_folder(const own_folder&) = delete;
  own_folder& operator=(const own_folder&) = delete;
  ~own_folder();

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace zeroulp::conformance::plugin

#endif  // ZEROULP_CONFORMANCE_PLUGIN_PROCESS_OWN_FOLDER_HPP_
