"""Prints what this kernel can seal with: `LANDLOCK SECCOMP`, the version of
Landlock (0: none) and supervised, alone or none. Asks the kernel itself."""

import ctypes
import os

call = ctypes.CDLL(None, use_errno=True).syscall
SECCOMP = {"x86_64": 317, "aarch64": 277}.get(os.uname().machine, -1)
PIDFD_GETFD, CREATE_RULESET, VERSION = 438, 444, 1
SET_FILTER, LISTEN, NO_NEW_PRIVS = 1, 8, 38


class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("code", ctypes.c_char_p)]


# One instruction: allow.
filter_ = Program(1, b"\x06\0\0\0\0\0\xff\x7f")


def can_filter(flags):
    child = os.fork()
    if child == 0:
        ctypes.CDLL(None).prctl(NO_NEW_PRIVS, 1, 0, 0, 0)
        status = call(SECCOMP, SET_FILTER, flags, ctypes.byref(filter_))
        os._exit(status < 0)
    return os.waitpid(child, 0)[1] == 0


landlock = max(0, call(CREATE_RULESET, None, 0, VERSION))
ENOSYS = 38
call(PIDFD_GETFD, -1, -1, 0)
is_new = ctypes.get_errno() != ENOSYS
if is_new and can_filter(LISTEN):
    seccomp = "supervised"
else:
    seccomp = "alone" if can_filter(0) else "none"
print(landlock, seccomp)
