#include "tools/checkpoint/files/window.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "src/io/file_parts.hpp"
#include "tools/checkpoint/files/fault.hpp"

namespace zeroulp::checkpoint {
namespace {

std::uint64_t size_of_open(const descriptor& d, const fs::path& file) {
  struct stat info = {};
  if (::fstat(d.get(), &info) != 0) {
    zeroulp::refuse(file, "cannot read", errno, "name a file that can be read");
  }
  return static_cast<std::uint64_t>(info.st_size);
}

}  // namespace

window::window(const std::filesystem::path& file, std::uint64_t size,
               std::uint64_t offset, std::uint64_t bytes, bool whole) {
  if (bytes == 0) return;
  const descriptor d = open_to_read(file);
  const auto present = size_of_open(d, file);
  if (present != size) {
    refuse({"size", file.string(), "",
            fmt::format("{} bytes, as when its header was read", size),
            fmt::to_string(present)});
  }
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const std::uint64_t before = offset % page;
  length_ = static_cast<std::size_t>(bytes + before);
  mapped_ = ::mmap(nullptr, length_, PROT_READ,
                   MAP_PRIVATE | (whole ? MAP_POPULATE : 0), d.get(),
                   static_cast<off_t>(offset - before));
  if (mapped_ == MAP_FAILED) {
    mapped_ = nullptr;
    zeroulp::refuse(file, "cannot map", errno,
                    "allow more memory (ulimit -v), or copy it to a disk");
  }
  data_ = static_cast<const std::byte*>(mapped_) + before;
  bytes_ = bytes;
}

window::~window() {
  if (mapped_ != nullptr) ::munmap(mapped_, length_);
}

std::uint64_t size_of_file(const std::filesystem::path& file) {
  return size_of_open(open_to_read(file), file);
}

}  // namespace zeroulp::checkpoint
