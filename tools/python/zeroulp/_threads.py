"""How many threads a call takes."""

import ctypes

from ._arrays import whole
from ._library import call


def threads():
    """The most threads that a call takes."""
    count = ctypes.c_int32()
    call("zeroulp_threads_in_use", ctypes.byref(count))
    return count.value


def use_threads(count):
    """Sets that number for the process; 0: what OpenMP says."""
    call("zeroulp_use_threads", whole(count, "count", 0, 2**31 - 1))
