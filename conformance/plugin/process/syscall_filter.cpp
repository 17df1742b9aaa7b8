// The seccomp filter of a sealed plug-in, as a BPF program.

#include "conformance/plugin/process/syscall_filter.hpp"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "conformance/plugin/refused_calls.hpp"

namespace zeroulp::conformance::plugin {
namespace {

#if defined(__x86_64__)
constexpr std::uint32_t machine = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t machine = AUDIT_ARCH_AARCH64;
#else
constexpr std::uint32_t machine = 0;
#endif

constexpr std::uint32_t allow = SECCOMP_RET_ALLOW;
constexpr std::uint32_t ask = SECCOMP_RET_USER_NOTIF;
constexpr std::uint32_t refuse = SECCOMP_RET_ERRNO | EPERM;
constexpr std::uint32_t absent = SECCOMP_RET_ERRNO | ENOSYS;

/// Rules in order: the first that matches decides.
class program {
 public:
  program() {
    load(offsetof(seccomp_data, arch));
    jump(BPF_JEQ, machine, 1, 0);
    give(absent);
    load_number();
    jump(BPF_JGT, newest_call, 0, 1);
    give(absent);
  }

  void rule(long call, std::uint32_t action) {
    jump(BPF_JEQ, static_cast<std::uint32_t>(call), 0, 1);
    give(action);
  }

  /// Matches if the low word of an argument, after `mask`, is `value`.
  void rule_if(long call, unsigned argument, std::uint32_t mask,
               std::uint32_t value, std::uint32_t action) {
    with_argument(call, argument, mask);
    jump(BPF_JEQ, value, 0, 1);
    give(action);
    load_number();
  }
  void rule_unless(long call, unsigned argument, std::uint32_t mask,
                   std::uint32_t value, std::uint32_t action) {
    with_argument(call, argument, mask);
    jump(BPF_JEQ, value, 1, 0);
    give(action);
    load_number();
  }

  std::vector<sock_filter> finish() {
    give(allow);
    return std::move(code_);
  }

 private:
  void with_argument(long call, unsigned argument, std::uint32_t mask) {
    // For other calls, skips what follows, up to load_number().
    jump(BPF_JEQ, static_cast<std::uint32_t>(call), 0, 5);
    // Both machines are little-endian: the low word comes first.
    load(static_cast<std::uint32_t>(offsetof(seccomp_data, args) +
                                    argument * sizeof(std::uint64_t)));
    code_.push_back({BPF_ALU | BPF_AND | BPF_K, 0, 0, mask});
  }
  void load(std::size_t offset) {
    code_.push_back(
        {BPF_LD | BPF_W | BPF_ABS, 0, 0, static_cast<std::uint32_t>(offset)});
  }
  void load_number() { load(offsetof(seccomp_data, nr)); }
  void jump(int how, std::uint32_t value, int if_true, int if_false) {
    code_.push_back({static_cast<std::uint16_t>(BPF_JMP | how | BPF_K),
                     static_cast<std::uint8_t>(if_true),
                     static_cast<std::uint8_t>(if_false), value});
  }
  void give(std::uint32_t action) {
    code_.push_back({BPF_RET | BPF_K, 0, 0, action});
  }

  std::vector<sock_filter> code_;
};

constexpr std::uint32_t whole = ~std::uint32_t{0};

void add_signals(program& p, pid_t self, bool supervised) {
  for (const long call : {SYS_kill, SYS_tkill, SYS_tgkill, SYS_rt_sigqueueinfo,
                          SYS_rt_tgsigqueueinfo}) {
    p.rule_if(call, 0, whole, static_cast<std::uint32_t>(self), allow);
    p.rule(call, supervised ? ask : refuse);
  }
  for (const auto command : refused_fcntls) {
    p.rule_if(SYS_fcntl, 1, whole, command, refuse);
  }
}

/// clone3 is absent, as a filter cannot read its flags; callers then use clone.
void add_processes(program& p, bool supervised) {
  p.rule(clone3_call, absent);
  p.rule_unless(SYS_clone, 0, refused_clone_flags, 0, refuse);
  p.rule(SYS_clone, supervised ? ask : allow);
#if defined(__x86_64__)
  p.rule(SYS_fork, supervised ? ask : allow);
  p.rule(SYS_vfork, supervised ? ask : allow);
#endif
  // Limits of its own process alone; it can only lower them.
  p.rule_unless(SYS_prlimit64, 0, whole, 0, refuse);
  // The scheduling of its own threads, not of others.
  for (const long call : {SYS_sched_setaffinity, SYS_sched_setscheduler,
                          SYS_sched_setparam, SYS_sched_setattr}) {
    p.rule_unless(call, 0, whole, 0, refuse);
  }
  for (const long call : {SYS_setpriority, SYS_ioprio_set}) {
    p.rule_unless(call, 1, whole, 0, refuse);
  }
}

/// A kernel whose Landlock cannot govern truncation (ABI below 3) would let a
/// file that is opened for reading be emptied.
void add_files(program& p) {
  p.rule(openat2_call, absent);
  for (const auto mode : {std::uint32_t{O_RDONLY}, std::uint32_t{O_ACCMODE}}) {
    constexpr std::uint32_t mask = O_TRUNC | O_ACCMODE;
    p.rule_if(SYS_openat, 2, mask, O_TRUNC | mode, refuse);
#if defined(__x86_64__)
    p.rule_if(SYS_open, 1, mask, O_TRUNC | mode, refuse);
#endif
  }
  for (const auto request : refused_ioctls) {
    p.rule_if(SYS_ioctl, 1, whole, request, refuse);
  }
}

/// CUDA does not start without a local socket that listens. A SOCK_SEQPACKET
/// socket leads nowhere unless it is connected. Socket pairs are two-way pipes,
/// but for those that can be directed elsewhere.
void add_sockets(program& p) {
  constexpr std::uint32_t type = 0xf;
  p.rule_unless(SYS_socket, 0, whole, AF_UNIX, refuse);
  p.rule_unless(SYS_socket, 1, type, SOCK_SEQPACKET, refuse);
  p.rule_if(SYS_socketpair, 1, type, SOCK_STREAM, allow);
  p.rule_if(SYS_socketpair, 1, type, SOCK_SEQPACKET, allow);
  p.rule(SYS_socketpair, refuse);
}

/// Linux 5.6, which has this call, lets a supervisor continue a call.
bool can_supervise() {
  constexpr long pidfd_getfd_call = 438;
  return syscall(pidfd_getfd_call, -1, -1, 0) == 0 || errno != ENOSYS;
}

long set_filter(const std::vector<sock_filter>& code, unsigned flags) {
  const sock_fprog program{static_cast<unsigned short>(code.size()),
                           const_cast<sock_filter*>(code.data())};
  return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
}

}  // namespace

std::vector<sock_filter> syscall_filter(pid_t self, bool supervised) {
  program p;
  for (const long call : refused_calls) p.rule(call, refuse);
  add_signals(p, self, supervised);
  add_processes(p, supervised);
  add_files(p);
  add_sockets(p);
  return p.finish();
}

int install_syscall_filter() {
  constexpr int none = -2;
  if (machine == 0) {
    errno = ENOSYS;
    return none;
  }
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return none;
  const long listener = !can_supervise()
                            ? -1
                            : set_filter(syscall_filter(getpid(), true),
                                         SECCOMP_FILTER_FLAG_NEW_LISTENER);
  if (listener >= 0) return static_cast<int>(listener);
  // An older kernel, or a container whose own supervisor already listens.
  return set_filter(syscall_filter(getpid(), false), 0) == 0 ? -1 : none;
}

}  // namespace zeroulp::conformance::plugin
