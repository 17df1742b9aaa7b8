// The parts of a plug-in's seal, by themselves: the filter of system calls, the
// environment, the folder, what /proc says. All of it together:
// program_data/plugin_seal.sh.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

#include "conformance/plugin/process/environment.hpp"
#include "conformance/plugin/process/own_folder.hpp"
#include "conformance/plugin/process/processes.hpp"
#include "conformance/plugin/process/syscall_filter.hpp"

namespace zeroulp::conformance::plugin {
namespace {

#if defined(__x86_64__)
constexpr std::uint32_t here = AUDIT_ARCH_X86_64;
#else
constexpr std::uint32_t here = AUDIT_ARCH_AARCH64;
#endif
constexpr pid_t self = 4242;
constexpr std::uint32_t allowed = SECCOMP_RET_ALLOW;
constexpr std::uint32_t asked = SECCOMP_RET_USER_NOTIF;
constexpr std::uint32_t refused = SECCOMP_RET_ERRNO | EPERM;
constexpr std::uint32_t absent = SECCOMP_RET_ERRNO | ENOSYS;

/// Runs the program on one call, as the kernel does.
std::uint32_t run(const std::vector<sock_filter>& code,
                  const seccomp_data& call) {
  std::uint32_t a = 0;
  for (std::size_t at = 0; at < code.size(); ++at) {
    const auto& [what, if_true, if_false, k] = code[at];
    switch (what) {
      case BPF_LD | BPF_W | BPF_ABS:
        std::memcpy(&a, reinterpret_cast<const char*>(&call) + k, sizeof a);
        break;
      case BPF_ALU | BPF_AND | BPF_K:
        a &= k;
        break;
      case BPF_JMP | BPF_JEQ | BPF_K:
        at += a == k ? if_true : if_false;
        break;
      case BPF_JMP | BPF_JGT | BPF_K:
        at += a > k ? if_true : if_false;
        break;
      case BPF_RET | BPF_K:
        return k;
      default:
        ADD_FAILURE() << "instruction " << what;
        return 0;
    }
  }
  ADD_FAILURE() << "the program has no end";
  return 0;
}

struct arguments {
  std::uint64_t first = 0, second = 0, third = 0;
};

std::uint32_t answer(long call, arguments with = {}, bool supervised = true,
                     std::uint32_t machine = here) {
  seccomp_data data{};
  data.nr = static_cast<int>(call);
  data.arch = machine;
  data.args[0] = with.first;
  data.args[1] = with.second;
  data.args[2] = with.third;
  return run(syscall_filter(self, supervised), data);
}

TEST(SyscallFilter, LetsOrdinaryCallsPass) {
  for (const long call : {SYS_read, SYS_write, SYS_mmap, SYS_futex, SYS_execve,
                          SYS_exit_group, SYS_memfd_create, SYS_sendmsg}) {
    EXPECT_EQ(answer(call), allowed) << call;
  }
}

TEST(SyscallFilter, RefusesTheNetworkOtherProcessesAndChangesOfFiles) {
  for (const long call :
       {SYS_socket, SYS_connect, SYS_accept4, SYS_ptrace, SYS_process_vm_writev,
        SYS_pidfd_send_signal, SYS_mount, SYS_unshare, SYS_fchmodat,
        SYS_truncate, SYS_utimensat, SYS_shmget, SYS_keyctl, SYS_bpf}) {
    EXPECT_EQ(answer(call), refused) << call;
  }
  constexpr long io_uring_setup = 425;
  EXPECT_EQ(answer(io_uring_setup), refused);
}

TEST(SyscallFilter, KnowsNoOtherMachineAndNoCallNewerThanItself) {
  constexpr long mseal = 462;
  EXPECT_EQ(answer(mseal), allowed);
  EXPECT_EQ(answer(mseal + 1), absent);
  EXPECT_EQ(answer(SYS_read | 0x40000000), absent);  // x32
  EXPECT_EQ(answer(SYS_read, {}, true, AUDIT_ARCH_I386), absent);
}

TEST(SyscallFilter, AsksAboutSignalsToOthers) {
  for (const long call : {SYS_kill, SYS_tgkill, SYS_rt_sigqueueinfo}) {
    EXPECT_EQ(answer(call, {self}), allowed);
    EXPECT_EQ(answer(call, {1}), asked);
    EXPECT_EQ(answer(call, {~std::uint64_t{0}}), asked);
    EXPECT_EQ(answer(call, {1}, false), refused);
  }
  EXPECT_EQ(answer(SYS_fcntl, {0, F_SETOWN, 1}), refused);
  EXPECT_EQ(answer(SYS_fcntl, {0, F_SETFL, 1}), allowed);
}

TEST(SyscallFilter, AsksAboutNewTasksAndRefusesNamespaces) {
  EXPECT_EQ(answer(SYS_clone, {CLONE_VM | CLONE_THREAD}), asked);
  EXPECT_EQ(answer(SYS_clone, {SIGCHLD}), asked);
  EXPECT_EQ(answer(SYS_clone, {SIGCHLD}, false), allowed);
  for (const int flag : {CLONE_NEWUSER, CLONE_NEWPID, CLONE_PARENT}) {
    const auto flags = static_cast<std::uint64_t>(flag | SIGCHLD);
    EXPECT_EQ(answer(SYS_clone, {flags}), refused) << flag;
  }
  constexpr long clone3 = 435;
  EXPECT_EQ(answer(clone3), absent);
}

TEST(SyscallFilter, RefusesToEmptyWhatIsNotOpenedForWriting) {
  EXPECT_EQ(answer(SYS_openat, {0, 0, O_RDONLY | O_TRUNC}), refused);
  EXPECT_EQ(answer(SYS_openat, {0, 0, O_ACCMODE | O_TRUNC}), refused);
  EXPECT_EQ(answer(SYS_openat, {0, 0, O_WRONLY | O_CREAT | O_TRUNC}), allowed);
  EXPECT_EQ(answer(SYS_openat, {0, 0, O_RDONLY}), allowed);
}

TEST(SyscallFilter, AllowsSocketsThatCannotBeLedElsewhere) {
  EXPECT_EQ(answer(SYS_socket, {AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC}),
            allowed);
  EXPECT_EQ(answer(SYS_socket, {AF_UNIX, SOCK_STREAM}), refused);
  EXPECT_EQ(answer(SYS_socket, {AF_INET, SOCK_SEQPACKET}), refused);
  EXPECT_EQ(answer(SYS_socket, {AF_INET, SOCK_STREAM}), refused);
  EXPECT_EQ(answer(SYS_socketpair, {AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC}),
            allowed);
  EXPECT_EQ(answer(SYS_socketpair, {AF_UNIX, SOCK_DGRAM}), refused);
}

TEST(PluginEnvironment, HoldsWhatProgramsNeedAndNoSecrets) {
  for (const char* name :
       {"PATH", "LD_LIBRARY_PATH", "LC_ALL", "PYTHONPATH",
        "CUDA_VISIBLE_DEVICES", "OMP_NUM_THREADS", "ZEROULP_ANYTHING"}) {
    EXPECT_TRUE(is_passed_on(name)) << name;
  }
  for (const char* name :
       {"AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "HOME", "SSH_AUTH_SOCK",
        "DBUS_SESSION_BUS_ADDRESS", "XPATH", ""}) {
    EXPECT_FALSE(is_passed_on(name)) << name;
  }
}

TEST(PluginEnvironment, ReplacesWhatItIsTold) {
  setenv("ZEROULP_OF_THIS_TEST", "theirs", 1);
  setenv("SECRET_OF_THIS_TEST", "s3cret", 1);
  for (const bool sealed : {true, false}) {
    int ours = 0, secrets = 0;
    for (const auto& e :
         environment_with({"ZEROULP_OF_THIS_TEST=ours"}, sealed)) {
      EXPECT_NE(e, "ZEROULP_OF_THIS_TEST=theirs");
      ours += e == "ZEROULP_OF_THIS_TEST=ours" ? 1 : 0;
      secrets += e == "SECRET_OF_THIS_TEST=s3cret" ? 1 : 0;
    }
    EXPECT_EQ(ours, 1);
    EXPECT_EQ(secrets, sealed ? 0 : 1);
  }
  unsetenv("ZEROULP_OF_THIS_TEST");
  unsetenv("SECRET_OF_THIS_TEST");
}

TEST(OwnFolder, IsRemovedWithWhateverIsInIt) {
  namespace fs = std::filesystem;
  const auto outside = fs::temp_directory_path() / "outside_own_folder";
  std::ofstream(outside) << "stays";
  fs::path path;
  {
    const own_folder folder;
    path = folder.path();
    EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_all);
    fs::create_directories(path / "a/b/c");
    std::ofstream(path / "a/b/file") << "x";
    fs::create_symlink(outside, path / "a/link");
    fs::create_directory_symlink(fs::temp_directory_path(), path / "a/up");
    fs::permissions(path / "a/b/c", fs::perms::none);
    fs::permissions(path / "a/b", fs::perms::none);
  }
  EXPECT_FALSE(fs::exists(path));
  EXPECT_TRUE(fs::exists(outside));
  fs::remove(outside);
}

TEST(Processes, AreThoseThatDescend) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    if (fork() != 0) ::pause();
    char byte = 0;
    _exit(static_cast<int>(::read(ends[0], &byte, 1)));
  }
  std::vector<process_entry> found;
  for (int tries = 0; found.size() < 2 && tries < 1000; ++tries) {
    usleep(1000);
    found = descendants_of(getpid());
  }
  ASSERT_EQ(found.size(), 2u);
  for (const auto& p : found) {
    EXPECT_TRUE(descends_from(p.id, getpid()));
    EXPECT_FALSE(descends_from(getpid(), p.id));
  }
  for (const auto& p : found) kill(p.id, SIGKILL);
  waitpid(child, nullptr, 0);
  close(ends[0]);
  close(ends[1]);
  EXPECT_EQ(thread_count(child), 0);
}

TEST(Processes, MayEndWhileTheyAreRead) {
  std::vector<pid_t> children(4);
  for (pid_t& child : children) {
    child = fork();
    if (child != 0) continue;
    for (;;) {
      const pid_t brief = fork();
      if (brief == 0) _exit(0);
      waitpid(brief, nullptr, 0);
    }
  }
  for (int i = 0; i < 2000; ++i) {
    EXPECT_NO_THROW(EXPECT_GE(descendants_of(getpid()).size(), 4u));
  }
  for (const pid_t child : children) {
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }
}

}  // namespace
}  // namespace zeroulp::conformance::plugin
