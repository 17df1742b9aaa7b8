// The environment of a plug-in's process.

#include "conformance/plugin/process/environment.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace zeroulp::conformance::plugin {
namespace {

std::string_view name_in(std::string_view entry) {
  return entry.substr(0, entry.find('='));
}

std::string value_of(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

/// Keeps Python's per-user packages, as a sealed plug-in gets another HOME.
void keep_user_packages(std::vector<std::string>& all) {
  const auto home = value_of("HOME");
  if (home.empty() || !value_of("PYTHONUSERBASE").empty()) return;
  all.push_back(fmt::format("PYTHONUSERBASE={}/.local", home));
}

}  // namespace

bool is_passed_on(std::string_view name) {
  constexpr std::string_view names[] = {
      "PATH", "LANG", "LANGUAGE",    "TZ",           "USER",  "LOGNAME",
      "CC",   "CXX",  "VIRTUAL_ENV", "CONDA_PREFIX", "TMPDIR"};
  constexpr std::string_view beginnings[] = {
      "LC_",   "LD_",    "OMP_",   "GOMP_",   "KMP_",  "OPENBLAS_",
      "MKL_",  "CUDA_",  "NVIDIA", "PYTHON",  "PYENV", "ASAN_",
      "LSAN_", "UBSAN_", "TSAN_",  "ZEROULP_"};
  return std::find(std::begin(names), std::end(names), name) !=
             std::end(names) ||
         std::any_of(std::begin(beginnings), std::end(beginnings),
                     [name](auto with) { return name.starts_with(with); });
}

std::vector<std::string> environment_with(std::vector<std::string> ours,
                                          bool sealed) {
  const auto options = value_of("ASAN_OPTIONS");
  ours.push_back(fmt::format(
      "ASAN_OPTIONS={}{}handle_segv=0:handle_sigbus=0:handle_abort=0:"
      "handle_sigfpe=0:handle_sigill=0:detect_leaks=0",
      options, options.empty() ? "" : ":"));
  ours.emplace_back("OMP_WAIT_POLICY=passive");
  ours.emplace_back("GOMP_SPINCOUNT=0");
  ours.emplace_back("KMP_BLOCKTIME=0");
  if (sealed) {
    keep_user_packages(ours);
    // The file of openmp_mark (plugin_start.cpp) is no second OpenMP library.
    ours.emplace_back("KMP_DUPLICATE_LIB_OK=TRUE");
  }
  const auto count = static_cast<std::ptrdiff_t>(ours.size());
  for (char** at = environ; *at != nullptr; ++at) {
    const auto name = name_in(*at);
    if (sealed && !is_passed_on(name)) continue;
    const bool is_ours =
        std::any_of(ours.begin(), ours.begin() + count,
                    [name](const auto& e) { return name_in(e) == name; });
    if (!is_ours) ours.emplace_back(*at);
  }
  return ours;
}

}  // namespace zeroulp::conformance::plugin
