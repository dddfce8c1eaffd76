"""Where training threads wait for each other."""

from __future__ import annotations

import sys

from numba import njit, types

from neuralrules._engine._kernels._compile import kernel
from neuralrules._engine._kernels._intrinsics import atomic_add, atomic_load

MAX_SPINS = 200_000  # a fraction of a millisecond
PAUSE_MICROSECONDS = 20

if sys.platform == "win32":

    @njit
    def pause(microseconds):
        """There is no short sleep to be had: keep spinning."""
else:
    pause = types.ExternalFunction("usleep", types.int32(types.uint32))


@kernel
def wait_for_all(arrivals, target):
    """Barrier: announce this thread, then wait for `target` arrivals in all.

    The others are mostly microseconds away. If they are not, another program has
    their core: sleep, so that the system can give them this one.
    """
    atomic_add(arrivals)
    spins = 0
    while atomic_load(arrivals) < target:
        spins += 1
        if spins > MAX_SPINS:
            pause(PAUSE_MICROSECONDS)
