// Where cuBLASLt is looked for.

#if __has_include(<cublasLt.h>)

#include "conformance/peers/cublaslt_library.hpp"

#include <dlfcn.h>
#include <glob.h>

#include <cstdlib>
#include <vector>

namespace zeroulp::conformance::peers {
namespace {

constexpr const char* variable = "ZEROULP_CUBLASLT";
constexpr const char* file = "libcublasLt.so.13";
/// The interface is that of this major version.
constexpr std::size_t version_unit = 10000;

std::vector<std::string> matches(const std::string& pattern) {
  std::vector<std::string> all;
  glob_t found{};
  if (glob(pattern.c_str(), 0, nullptr, &found) == 0) {
    all.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  }
  globfree(&found);
  return all;
}

std::string in_environment(const char* name, const char* otherwise = "") {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : otherwise;
}

/// What to open, in this order.
std::vector<std::string> candidates() {
  const std::string named = in_environment(variable);
  if (!named.empty()) return {named};
  std::vector<std::string> all{file};
  const auto add = [&all](const std::string& pattern) {
    for (auto& path : matches(pattern + "/" + file)) all.push_back(path);
  };
  add("/usr/local/cuda*/lib64");
  const std::string none = "/nowhere";
  for (const std::string& prefix :
       {in_environment("VIRTUAL_ENV", none.c_str()),
        in_environment("CONDA_PREFIX", none.c_str()),
        in_environment("HOME", none.c_str()) + "/.local",
        std::string("/usr/local"), std::string("/usr"),
        std::string("/opt/*")}) {
    for (const char* packages : {"site-packages", "dist-packages"}) {
      for (const char* part : {"cu13", "cublas"}) {
        add(prefix + "/lib/python3*/" + packages + "/nvidia/" + part + "/lib");
      }
    }
  }
  return all;
}

template <class Function>
void find(void* handle, const char* name, Function& function,
          std::string& missing) {
  function = reinterpret_cast<Function>(dlsym(handle, name));
  if (function == nullptr && missing.empty()) missing = name;
}

cublaslt_library open_library() {
  cublaslt_library l;
  std::string heard;
  for (const auto& path : candidates()) {
    void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
      const char* why = dlerror();
      heard = why != nullptr ? why : path;
      continue;
    }
    std::string missing;
#define ZEROULP_FIND(name) find(handle, #name, l.name, missing)
    ZEROULP_CUBLASLT_FUNCTIONS(ZEROULP_FIND);
#undef ZEROULP_FIND
    if (!missing.empty()) {
      heard = path + " has no " + missing;
    } else if (l.cublasLtGetVersion() / version_unit != CUBLAS_VER_MAJOR) {
      heard = path + " is not of version " + std::to_string(CUBLAS_VER_MAJOR);
    } else {
      return l;
    }
  }
  l.absence = std::string("no cuBLASLt: ") + heard + "; " + variable +
              " may name the file";
  return l;
}

}  // namespace

const cublaslt_library& find_cublaslt() {
  static const cublaslt_library library = open_library();
  return library;
}

}  // namespace zeroulp::conformance::peers

#endif
