"""Memory that was needed for a while: allocators keep it unless they are told to give it back."""

import ctypes
import gc

import pyarrow as pa


def give_back() -> None:
    """Give what nobody uses any more to the system: after much was read that is no longer held."""
    gc.collect()
    pa.default_memory_pool().release_unused()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # of glibc
    if trim:
        trim(0)
