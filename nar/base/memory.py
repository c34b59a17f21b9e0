"""Memory that was needed for a while: allocators keep it unless they are told to give it back."""

import ctypes
import gc
from typing import Final

import pyarrow as pa

# Of glibc's malloc.h, M_ARENA_MAX and M_MMAP_THRESHOLD, and what they are set to. What is larger
# goes back to the system as soon as it is free; without a word the threshold grows to 32 MiB.
_CHOICES: Final = {-8: 2, -3: 2**20}


def give_back() -> None:
    """Give what nobody uses any more to the system: after much was read that is no longer held."""
    gc.collect()
    pa.default_memory_pool().release_unused()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # of glibc
    if trim:
        trim(0)


def share_memory() -> None:
    """Let all threads take memory from the same two arenas; only before they begin.

    By default glibc gives a thread an arena of its own, up to eight for every core, and what is
    freed in one of them none of the others uses.
    """
    choose = getattr(ctypes.CDLL(None), "mallopt", None)  # of glibc
    if choose:
        for parameter, value in _CHOICES.items():
            choose(parameter, value)
