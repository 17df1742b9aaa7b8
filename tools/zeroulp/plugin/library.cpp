#ifdef ZEROULP_HAVE_CONFORMANCE
#include "tools/zeroulp/plugin/library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstddef>
#include <cstring>
#include <string>

#include "conformance/plugin/process/protocol.hpp"

namespace zeroulp::program {
namespace {

using conformance::plugin::operations;

bool has_function(const zeroulp_plugin& p, int operation) {
  switch (operation) {
    case ZEROULP_PLUGIN_QUANTIZE:
      return p.quantize != nullptr;
    case ZEROULP_PLUGIN_DEQUANTIZE:
      return p.dequantize != nullptr;
    case ZEROULP_PLUGIN_RETILE:
      return p.retile != nullptr;
    case ZEROULP_PLUGIN_GEMM:
      return p.gemm != nullptr;
    case ZEROULP_PLUGIN_SWIGLU:
      return p.swiglu != nullptr;
    case ZEROULP_PLUGIN_ADAMW:
      return p.adamw != nullptr;
    case ZEROULP_PLUGIN_COMBINE:
      return p.combine != nullptr;
    case ZEROULP_PLUGIN_RMS_NORM_BACKWARD:
      return p.rms_norm_backward != nullptr;
    case ZEROULP_PLUGIN_ROUTE:
      return p.route != nullptr;
    case ZEROULP_PLUGIN_ROUTE_BACKWARD:
      return p.route_backward != nullptr;
    case ZEROULP_PLUGIN_ATTENTION_FORWARD:
      return p.attention_forward != nullptr;
    case ZEROULP_PLUGIN_ATTENTION_BACKWARD:
      return p.attention_backward != nullptr;
    default:
      return false;
  }
}

/// The table that the library has, as long as this version's.
zeroulp_plugin table_of(const char* file) {
  // A name without a slash is one of this directory, as for every other file.
  const std::string path =
      std::strchr(file, '/') == nullptr ? std::string("./") + file : file;
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw bad_plugin(dlerror());
  void* const symbol = dlsym(library, "zeroulp_plugin_table");
  if (symbol == nullptr) {
    throw bad_plugin(
        "it exports no zeroulp_plugin_table: see "
        "zeroulp/plugin.h");
  }
  const auto table = reinterpret_cast<decltype(&zeroulp_plugin_table)>(symbol);
  const zeroulp_plugin* const p = table();
  if (p == nullptr) throw bad_plugin("zeroulp_plugin_table returned NULL");
  if (p->version < 1 || p->version > ZEROULP_PLUGIN_VERSION) {
    throw bad_plugin(fmt::format(
        "it was built for version {} of plugin.h, this is version {}",
        p->version, ZEROULP_PLUGIN_VERSION));
  }
  constexpr auto least = offsetof(zeroulp_plugin, quantize);
  const auto size = static_cast<std::size_t>(p->size);
  if (p->size < 0 || size < least || size > sizeof *p ||
      size % sizeof(void*) != 0) {
    throw bad_plugin(fmt::format(
        "its table has {} bytes: the whole of version {} has {}, without "
        "functions {}",
        p->size, ZEROULP_PLUGIN_VERSION, sizeof *p, least));
  }
  zeroulp_plugin whole{};
  std::memcpy(&whole, p, size);
  return whole;
}

/// Throws unless the table says what it is and has what it claims.
void check_claims(const zeroulp_plugin& p) {
  if (p.name == nullptr || *p.name == '\0') {
    throw bad_plugin("its name is NULL or empty");
  }
  if (p.memory != ZEROULP_PLUGIN_ON_HOST &&
      p.memory != ZEROULP_PLUGIN_ON_DEVICE) {
    throw bad_plugin(
        fmt::format("its memory is {}: use one of "
                    "zeroulp_plugin_memory",
                    p.memory));
  }
  constexpr int most_claims = 1024;
  if (p.claims == nullptr || p.claim_count < 1 || p.claim_count > most_claims) {
    throw bad_plugin(
        fmt::format("it has {} claims{}: use 1 to {}", p.claim_count,
                    p.claims == nullptr ? " at NULL" : "", most_claims));
  }
  for (int i = 0; i < p.claim_count; ++i) {
    const int operation = p.claims[i].operation;
    if (operation < 0 || operation >= static_cast<int>(operations().size())) {
      throw bad_plugin(
          fmt::format("claim {}: {} is no operation", i, operation));
    }
    if (!has_function(p, operation)) {
      throw bad_plugin(
          fmt::format("claim {}: it claims {}, but its function is NULL", i,
                      operations()[static_cast<std::size_t>(operation)].name));
    }
  }
}

}  // namespace

zeroulp_plugin load_plugin(const char* file) {
  const auto p = table_of(file);
  check_claims(p);
  return p;
}

}  // namespace zeroulp::program
#endif
