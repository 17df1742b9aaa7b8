#include "tools/zeroulp/journal/file_lock.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <fstream>
#include <sstream>
#include <string>

namespace zeroulp::program {

std::optional<long> holder_of_lock(int file) {
  struct stat about = {};
  if (::fstat(file, &about) != 0) return {};
  const auto name = fmt::format("{:02x}:{:02x}:{}", major(about.st_dev),
                                minor(about.st_dev), about.st_ino);
  // 1: FLOCK  ADVISORY  WRITE PID MAJOR:MINOR:INODE 0 EOF
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);) {
    std::istringstream words(line);
    std::string number, kind, force, access, what;
    long process = 0;
    words >> number >> kind >> force >> access >> process >> what;
    if (kind == "FLOCK" && what == name && process > 0) return process;
  }
  return {};
}

}  // namespace zeroulp::program
