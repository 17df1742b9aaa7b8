// The C ABI: versions and errors.

#include <cstdio>
#include <new>
#include <stdexcept>

#include "src/c_abi/c_abi.hpp"
#include "zeroulp/cuda.hpp"
#include "zeroulp/spec_version.hpp"

namespace zeroulp::c_abi {
namespace {

thread_local char last_error[1024] = "";

zeroulp_status keep(zeroulp_status status, const char* function,
                    const char* text) noexcept {
  std::snprintf(last_error, sizeof last_error, "%s: %s", function, text);
  return status;
}

}  // namespace

zeroulp_status keep_error(const char* function) noexcept {
  try {
    throw;
  } catch (const input_error& e) {
    return keep(ZEROULP_INVALID_ARGUMENT, function, e.what());
  } catch (const std::invalid_argument& e) {
    return keep(ZEROULP_INVALID_ARGUMENT, function, e.what());
  } catch (const cuda::error& e) {
    return keep(ZEROULP_CUDA_ERROR, function, e.what());
  } catch (const std::bad_alloc&) {
    return keep(ZEROULP_OUT_OF_MEMORY, function, "out of memory");
  } catch (const std::length_error&) {
    return keep(ZEROULP_OUT_OF_MEMORY, function, "out of memory");
  } catch (const std::exception& e) {
    return keep(ZEROULP_INTERNAL_ERROR, function, e.what());
  } catch (...) {
    return keep(ZEROULP_INTERNAL_ERROR, function, "unknown exception");
  }
}

}  // namespace zeroulp::c_abi

std::int32_t zeroulp_abi_version() { return ZEROULP_ABI_VERSION; }

std::int32_t zeroulp_spec_version() { return zeroulp::spec_version; }

const char* zeroulp_version() { return ZEROULP_VERSION; }

const char* zeroulp_last_error() { return zeroulp::c_abi::last_error; }
