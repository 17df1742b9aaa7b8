// Records what the GPU runs by CUPTI.

#include <cuda_runtime.h>
#include <cupti.h>
#include <cxxabi.h>
#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>

#include "tools/train/gpu/trace.hpp"
#include "zeroulp/io.hpp"

namespace zeroulp::train {
namespace {

/// CUPTI, found where the loader finds it or beside the toolkit.
struct cupti {
  decltype(&cuptiActivityEnable) enable = nullptr;
  decltype(&cuptiActivityDisable) disable = nullptr;
  decltype(&cuptiActivityRegisterCallbacks) register_callbacks = nullptr;
  decltype(&cuptiActivityFlushAll) flush = nullptr;
  decltype(&cuptiActivityGetNextRecord) next = nullptr;
  decltype(&cuptiGetTimestamp) timestamp = nullptr;

  static const cupti& loaded() {
    static const cupti all;
    return all;
  }

 private:
  cupti() {
    void* library = nullptr;
    for (const char* name :
         {"libcupti.so.13", "/usr/local/cuda/lib64/libcupti.so.13",
          "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so.13"}) {
      if (library == nullptr) library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    }
    if (library == nullptr) {
      throw input_error(
          "--trace: there is no libcupti.so.13: add its folder to "
          "LD_LIBRARY_PATH");
    }
    const auto find = [library](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(
          dlsym(library, name));
      if (function == nullptr) {
        throw input_error(std::string("--trace: libcupti.so.13 lacks ") + name);
      }
    };
    find(enable, "cuptiActivityEnable");
    find(disable, "cuptiActivityDisable");
    find(register_callbacks, "cuptiActivityRegisterCallbacks");
    find(flush, "cuptiActivityFlushAll");
    find(next, "cuptiActivityGetNextRecord");
    find(timestamp, "cuptiGetTimestamp");
  }
};

constexpr CUpti_ActivityKind kinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                        CUPTI_ACTIVITY_KIND_MEMCPY,
                                        CUPTI_ACTIVITY_KIND_MEMSET};

/// CUPTI's callbacks have no argument of ours, so there is one list.
std::mutex lock;
std::vector<gpu_activity> records;

std::string demangled(const char* name) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> plain(
      abi::__cxa_demangle(name, nullptr, nullptr, &status), std::free);
  return status == 0 ? plain.get() : name;
}

void add(const CUpti_Activity& record) {
  if (record.kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
    const auto& of = reinterpret_cast<const CUpti_ActivityKernel10&>(record);
    records.push_back({demangled(of.name), of.start, of.end});
  } else if (record.kind == CUPTI_ACTIVITY_KIND_MEMCPY) {
    const auto& of = reinterpret_cast<const CUpti_ActivityMemcpy6&>(record);
    const bool to_host = of.copyKind == CUPTI_ACTIVITY_MEMCPY_KIND_DTOH;
    const bool from_host = of.copyKind == CUPTI_ACTIVITY_MEMCPY_KIND_HTOD;
    records.push_back({to_host     ? "copy to the host"
                       : from_host ? "copy from the host"
                                   : "copy",
                       of.start, of.end});
  } else if (record.kind == CUPTI_ACTIVITY_KIND_MEMSET) {
    const auto& of = reinterpret_cast<const CUpti_ActivityMemset4&>(record);
    records.push_back({"clear", of.start, of.end});
  }
}

void CUPTIAPI give_buffer(std::uint8_t** buffer, std::size_t* bytes,
                          std::size_t* most_records) {
  constexpr std::size_t size = std::size_t{8} << 20;
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(8, size));
  *bytes = *buffer == nullptr ? 0 : size;
  *most_records = 0;
}

void CUPTIAPI take_buffer(CUcontext /*context*/, std::uint32_t /*stream*/,
                          std::uint8_t* buffer, std::size_t /*bytes*/,
                          std::size_t used) {
  const std::lock_guard<std::mutex> guard(lock);
  CUpti_Activity* record = nullptr;
  while (cupti::loaded().next(buffer, used, &record) == CUPTI_SUCCESS) {
    add(*record);
  }
  std::free(buffer);
}

void require(CUptiResult status, const char* what) {
  if (status == CUPTI_SUCCESS) return;
  throw input_error(fmt::format("--trace: CUPTI: {}: error {}", what,
                                static_cast<int>(status)));
}

class profiler : public trace_recorder {
 public:
  profiler() {
    require(of_.register_callbacks(give_buffer, take_buffer), "callbacks");
    {
      const std::lock_guard<std::mutex> guard(lock);
      records.clear();
    }
    for (const CUpti_ActivityKind kind : kinds) {
      require(of_.enable(kind), "a kind of activity");
    }
  }
  ~profiler() override {
    for (const CUpti_ActivityKind kind : kinds) {
      static_cast<void>(of_.disable(kind));
    }
  }
  profiler(const profiler&) = delete;
  profiler& operator=(const profiler&) = delete;

  void mark() override {
    static_cast<void>(cudaDeviceSynchronize());
    std::uint64_t now = 0;
    require(of_.timestamp(&now), "the time");
    marks_.push_back(now);
  }

  gpu_trace trace() const override {
    require(of_.flush(1), "a flush");
    gpu_trace out{marks_, {}};
    if (marks_.empty()) return out;
    const std::lock_guard<std::mutex> guard(lock);
    for (const gpu_activity& a : records) {
      if (a.begin < marks_.front() || a.end > marks_.back()) continue;
      out.activities.push_back(a);
    }
    std::sort(out.activities.begin(), out.activities.end(),
              [](const auto& a, const auto& b) { return a.begin < b.begin; });
    return out;
  }

 private:
  const cupti& of_ = cupti::loaded();
  std::vector<std::uint64_t> marks_;
};

}  // namespace

std::unique_ptr<trace_recorder> make_trace_recorder() {
  return std::make_unique<profiler>();
}

}  // namespace zeroulp::train
