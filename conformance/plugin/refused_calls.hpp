// Defines the system calls, and the arguments of calls, that a sealed plug-in
// is refused. Internal: syscall_filter.cpp builds its program from them.

#ifndef ZEROULP_CONFORMANCE_PLUGIN_REFUSED_CALLS_HPP_
#define ZEROULP_CONFORMANCE_PLUGIN_REFUSED_CALLS_HPP_

#include <asm/ioctls.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/sockios.h>
#include <sched.h>
#include <sys/syscall.h>

#include <cstdint>

namespace zeroulp::conformance::plugin {

// Call numbers that are the same on every machine, and newer than some C
// libraries.
inline constexpr std::uint32_t clone3_call = 435;
inline constexpr std::uint32_t openat2_call = 437;
inline constexpr std::uint32_t fchmodat2_call = 452;
inline constexpr std::uint32_t newest_call = 462;  ///< mseal; also cuts off x32

/// Calls that no compute kernel needs.
inline constexpr long refused_calls[] = {
    // Sockets of others; add_sockets says which sockets may be made.
    SYS_connect,
    SYS_accept,
    SYS_accept4,
    // Other processes.
    SYS_ptrace,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_kcmp,
    SYS_pidfd_send_signal,
    438 /* pidfd_getfd */,
    440 /* process_madvise */,
    448 /* process_mrelease */,
    SYS_migrate_pages,
    SYS_perf_event_open,
    // Memory, messages and keys that processes share by name.
    SYS_shmget,
    SYS_shmat,
    SYS_shmctl,
    SYS_semget,
    SYS_semop,
    SYS_semctl,
    SYS_semtimedop,
    SYS_msgget,
    SYS_msgsnd,
    SYS_msgrcv,
    SYS_msgctl,
    SYS_mq_open,
    SYS_mq_unlink,
    SYS_add_key,
    SYS_request_key,
    SYS_keyctl,
    // Changes to a file without opening it for writing.
    SYS_truncate,
    SYS_fchmod,
    SYS_fchmodat,
    fchmodat2_call,
    SYS_fchown,
    SYS_fchownat,
    SYS_utimensat,
    SYS_setxattr,
    SYS_lsetxattr,
    SYS_fsetxattr,
    SYS_removexattr,
    SYS_lremovexattr,
    SYS_fremovexattr,
    SYS_open_by_handle_at,
#if defined(__x86_64__)
    SYS_chmod,
    SYS_chown,
    SYS_lchown,
    SYS_utime,
    SYS_utimes,
    SYS_futimesat,
#endif
    // Calls that filters do not see.
    425 /* io_uring_setup */,
    426 /* io_uring_enter */,
    427 /* io_uring_register */,
    SYS_bpf,
    SYS_userfaultfd,
    // The system.
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    SYS_chroot,
    SYS_unshare,
    SYS_setns,
    428 /* open_tree */,
    429 /* move_mount */,
    430 /* fsopen */,
    431 /* fsconfig */,
    432 /* fsmount */,
    433 /* fspick */,
    442 /* mount_setattr */,
    SYS_swapon,
    SYS_swapoff,
    SYS_reboot,
    SYS_kexec_load,
    SYS_kexec_file_load,
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_acct,
    SYS_quotactl,
    443 /* quotactl_fd */,
    SYS_sethostname,
    SYS_setdomainname,
    SYS_settimeofday,
    SYS_clock_settime,
    SYS_clock_adjtime,
    SYS_adjtimex,
    SYS_syslog,
    SYS_vhangup,
#if defined(__x86_64__)
    SYS_iopl,
    SYS_ioperm,
#endif
};

/// Namespaces, in which a process has rights that it lacks outside, and
/// siblings, which would not be its descendants.
inline constexpr std::uint32_t refused_clone_flags =
    CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC |
    CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET | CLONE_PARENT;

/// Requests that need no file open for writing: file attributes, terminal
/// input, and the receiver of signals.
inline constexpr std::uint32_t refused_ioctls[] = {
    static_cast<std::uint32_t>(FS_IOC_SETFLAGS),
    static_cast<std::uint32_t>(FS_IOC32_SETFLAGS),
    static_cast<std::uint32_t>(FS_IOC_FSSETXATTR),
    TIOCSTI,
    0x541C /* TIOCLINUX */,
    FIOSETOWN,
    SIOCSPGRP};
inline constexpr std::uint32_t refused_fcntls[] = {F_SETOWN, F_SETOWN_EX,
                                                   F_SETSIG};

}  // namespace zeroulp::conformance::plugin

#endif  // ZEROULP_CONFORMANCE_PLUGIN_REFUSED_CALLS_HPP_
