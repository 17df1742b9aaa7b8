// Seals a process: limits, capabilities, Landlock and the system-call filter.

#include "conformance/plugin/process/seal.hpp"

#include <fcntl.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "conformance/plugin/process/syscall_filter.hpp"

namespace zeroulp::conformance::plugin {
namespace {

// Landlock's numbers, by its ABI: older headers lack some of them.
constexpr long create_ruleset = 444;
constexpr long add_rule = 445;
constexpr long restrict_self = 446;

constexpr std::uint64_t write_file = 1 << 1;
constexpr std::uint64_t remove_dir = 1 << 4;
constexpr std::uint64_t remove_file = 1 << 5;
constexpr std::uint64_t make_char = 1 << 6;
constexpr std::uint64_t make_dir = 1 << 7;
constexpr std::uint64_t make_reg = 1 << 8;
constexpr std::uint64_t make_sock = 1 << 9;
constexpr std::uint64_t make_fifo = 1 << 10;
constexpr std::uint64_t make_block = 1 << 11;
constexpr std::uint64_t make_sym = 1 << 12;
constexpr std::uint64_t refer = 1 << 13;      // from ABI 2
constexpr std::uint64_t truncate_ = 1 << 14;  // from ABI 3
constexpr std::uint64_t ioctl_dev = 1 << 15;  // from ABI 5

/// The accesses that are refused where no rule allows them.
std::uint64_t writes_of(long abi) {
  std::uint64_t all = write_file | remove_dir | remove_file | make_char |
                      make_dir | make_reg | make_sock | make_fifo | make_block |
                      make_sym;
  if (abi >= 2) all |= refer;
  if (abi >= 3) all |= truncate_;
  if (abi >= 5) all |= ioctl_dev;
  return all;
}

struct [[gnu::packed]] path_rule {
  std::uint64_t allowed;
  std::int32_t parent;
};

/// Allows accesses to a file, or within a folder. A missing path needs no rule.
void allow(int rules, const std::string& path, std::uint64_t what) {
  const int file = ::open(path.c_str(), O_PATH | O_CLOEXEC);
  if (file < 0) return;
  constexpr int path_beneath = 1;
  const path_rule rule{what, file};
  ::syscall(add_rule, rules, path_beneath, &rule, 0);
  ::close(file);
}

/// The device files of the GPU driver, and its folder of capabilities (MIG).
std::vector<std::string> gpu_devices() {
  std::vector<std::string> devices{"/dev/dxg"};
  std::error_code none;
  std::filesystem::directory_iterator at("/dev", none);
  for (; !none && at != std::filesystem::directory_iterator();
       at.increment(none)) {
    const auto name = at->path().filename().string();
    if (name.starts_with("nvidia")) devices.push_back(at->path());
  }
  return devices;
}

/// Returns false if this kernel has no Landlock.
bool confine_writes(const std::string& folder,
                    const std::vector<std::string>& files) {
  constexpr int version = 1;
  const long abi = ::syscall(create_ruleset, nullptr, 0, version);
  if (abi < 1) return false;
  const std::uint64_t handled = writes_of(abi);
  const auto rules =
      static_cast<int>(::syscall(create_ruleset, &handled, sizeof handled, 0));
  if (rules < 0) return false;
  allow(rules, folder, handled & ~(make_char | make_block | ioctl_dev));
  const std::uint64_t on_file = handled & (write_file | truncate_ | ioctl_dev);
  for (const char* device : {"/dev/null", "/dev/zero", "/dev/full"}) {
    allow(rules, device, on_file);
  }
  for (const auto& device : gpu_devices()) allow(rules, device, on_file);
  // CUDA does not start if it cannot name its threads. The rule still holds for
  // the plug-in's program, which runs in this same process.
  allow(rules, "/proc/self/task", on_file);
  for (const auto& file : files) allow(rules, file, on_file);
  const bool is_done = ::syscall(restrict_self, rules, 0) == 0;
  ::close(rules);
  return is_done;
}

/// Drops root's capabilities but that to read: others would lift limits.
void drop_capabilities() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2] = {};
  if (::syscall(SYS_capget, &header, data) != 0) return;
  const std::uint32_t kept = data[0].permitted & (1u << CAP_DAC_READ_SEARCH);
  data[0] = {kept, kept, 0};
  data[1] = {0, 0, 0};
  ::syscall(SYS_capset, &header, data);
}

/// Lowers a limit: soft and hard.
void lower(int which, std::uint64_t to) {
  rlimit limit{};
  if (::getrlimit(static_cast<__rlimit_resource>(which), &limit) != 0) return;
  limit.rlim_max = std::min<rlim_t>(limit.rlim_max, to);
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_cur, limit.rlim_max);
  ::setrlimit(static_cast<__rlimit_resource>(which), &limit);
}

/// AddressSanitizer's shadow is private memory of terabytes: no limit holds it.
constexpr bool can_limit_memory() {
#if defined(__SANITIZE_ADDRESS__)
  return false;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
  return false;
#endif
#endif
  return true;
}

void add(std::string& list, const char* what) {
  list += (list.empty() ? "" : ", ") + std::string(what);
}

}  // namespace

std::uint64_t most_memory_bytes() {
  const auto present = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                       static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return std::max(present / 4, std::uint64_t{4} << 30);
}

seal_result seal_this_process(const std::string& folder,
                              const std::vector<std::string>& files) {
  seal_result r;
  lower(RLIMIT_FSIZE, most_file_bytes);
  if (can_limit_memory()) {
    lower(RLIMIT_DATA, most_memory_bytes());
  } else {
    add(r.missing, "its memory (AddressSanitizer)");
  }
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  drop_capabilities();
  if (!confine_writes(folder, files)) {
    add(r.missing, "where it writes (no Landlock here)");
  }
  r.listener = install_syscall_filter();
  if (r.listener < -1) {
    add(r.missing, "network and other processes (no seccomp here)");
  } else if (r.listener < 0) {
    add(r.missing, "how many threads it starts (no supervisor for seccomp)");
  }
  return r;
}

}  // namespace zeroulp::conformance::plugin
