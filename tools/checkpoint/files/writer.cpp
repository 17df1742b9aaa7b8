#include "tools/checkpoint/files/writer.hpp"

#include <algorithm>
#include <cstring>

namespace zeroulp::checkpoint {
namespace {

constexpr const char* space = "free space or name another folder";

void write_at(const fs::path& path, int fd, std::uint64_t at, const void* data,
              std::uint64_t bytes) {
  const auto* from = static_cast<const char*>(data);
  while (bytes != 0) {
    const auto n = ::pwrite(fd, from, bytes, static_cast<off_t>(at));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0)
      zeroulp::refuse(path, "cannot write", n < 0 ? errno : ENOSPC, space);
    from += n;
    at += static_cast<std::uint64_t>(n);
    bytes -= static_cast<std::uint64_t>(n);
  }
}

bool is_zero(const std::byte* data, std::uint64_t bytes) {
  return bytes == 0 || (data[0] == std::byte{0} &&
                        std::memcmp(data, data + 1, bytes - 1) == 0);
}

}  // namespace

shard_writer::shard_writer(fs::path path, std::vector<entry> entries,
                           const std::map<std::string, std::string>& metadata)
    : path_(std::move(path)),
      partial_(path_.string() + ".partial"),
      entries_(std::move(entries)) {
  const std::string header = make_header(entries_, metadata);
  std::uint64_t size = header.size();
  for (const auto& e : entries_) size += e.bytes;
  file_ = descriptor(
      ::open(partial_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (!file_.valid()) {
    zeroulp::refuse(partial_, "cannot write", errno, "name another folder");
  }
  if (::ftruncate(file_.get(), static_cast<off_t>(size)) != 0) {
    const int error = errno;
    ::unlink(partial_.c_str());
    zeroulp::refuse(partial_, "cannot write", error, space);
  }
  write_at(partial_, file_.get(), 0, header.data(), header.size());
}

shard_writer::~shard_writer() {
  if (file_.valid()) ::unlink(partial_.c_str());
}

void shard_writer::write(std::size_t place, std::uint64_t at,
                         const std::byte* data, std::uint64_t bytes) const {
  if (is_zero(data, bytes)) return;
  write_at(partial_, file_.get(), entries_[place].offset + at, data, bytes);
}

void shard_writer::finish() {
  const auto fail = [&] {
    const int error = errno;
    ::unlink(partial_.c_str());
    zeroulp::refuse(path_, "cannot write", error, space);
  };
  if (::fsync(file_.get()) != 0 && errno != EINVAL) fail();
  if (const int error = file_.close(); error != 0) {
    errno = error;
    fail();
  }
  if (::rename(partial_.c_str(), path_.c_str()) != 0) fail();
  const descriptor folder(path_.parent_path(), O_RDONLY | O_DIRECTORY);
  if (folder.valid()) (void)::fsync(folder.get());
}

void sort_for_writing(std::vector<entry>& entries) {
  std::sort(entries.begin(), entries.end(), [](const entry& a, const entry& b) {
    const int wide_a = bits_of(a.type);
    const int wide_b = bits_of(b.type);
    return wide_a != wide_b ? wide_a > wide_b : a.name < b.name;
  });
}

}  // namespace zeroulp::checkpoint
