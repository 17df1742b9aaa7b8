// Fuzzes the reader of `zeroulp vectors check`: the bytes of a vector file,
// gzip-compressed or not, in a file that exists in memory only.

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "fuzz/libfuzzer/contract.hpp"
#include "tools/zeroulp/vectors/file.hpp"

namespace zeroulp::fuzz {
namespace {

class memory_file {
 public:
  memory_file() : descriptor_(memfd_create("vectors", MFD_CLOEXEC)) {
    demand(descriptor_ >= 0, "the system has files in memory");
  }

  void hold(const std::uint8_t* data, std::size_t size) const {
    const auto written = pwrite(descriptor_, data, size, 0);
    demand(written == static_cast<ssize_t>(size) &&
               ftruncate(descriptor_, written) == 0,
           "memory is left");
  }

  std::string path() const {
    return "/proc/self/fd/" + std::to_string(descriptor_);
  }

 private:
  int descriptor_;
};

void check(const std::string& file) {
  program::tallies found;
  const bool taken = accepts(
      [&] { program::check_vectors(file, program::open_lines(file), found); });
  demand(!taken || !found.empty(), "a file that is taken has records");
  for (const auto& [name, count] : found) {
    demand(count.mismatches <= count.records, "a mismatch is a record");
    demand((count.mismatches == 0) == count.first.empty(),
           "the first mismatch is shown");
    if (!count.first.empty()) demand_one_line(count.first);
  }
}

}  // namespace
}  // namespace zeroulp::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  static const zeroulp::fuzz::memory_file file;
  file.hold(data, size);
  zeroulp::fuzz::check(file.path());
  return 0;
}
