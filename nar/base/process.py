"""This process: what its libraries are told before they are imported, and memory given back."""

import ctypes
import gc
import os
from typing import Final

_TOLD: Final = {
    # Pydantic looks for plugins in every distribution that is installed; NAR's settings have none.
    "PYDANTIC_DISABLE_PLUGINS": "__all__",
    # One product on one core. Threads of OpenBLAS that wait for each other keep their cores busy,
    # and whoever else wants one waits: a server answers more with one thread a product.
    "OPENBLAS_NUM_THREADS": "1",
    # What Arrow's own allocator has freed nobody else uses: 17 MB of a server. Told later, its
    # readers of files go on as they began.
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    # What it prints beside the error that it raises is a second telling, and no line of JSON in the
    # log of a server.
    "GRPC_VERBOSITY": "NONE",
}
# Of glibc's malloc.h, M_ARENA_MAX and M_MMAP_THRESHOLD, and what they are set to. What is larger
# goes back to the system as soon as it is free; without a word the threshold grows to 32 MiB.
_CHOICES: Final = {-8: 2, -3: 2**20}


def tell_libraries() -> None:
    """Say it, unless whoever started this process has said something else."""
    for name, value in _TOLD.items():
        os.environ.setdefault(name, value)


def give_back() -> None:
    """Give what nobody uses any more to the system: after much was read that is no longer held."""
    # Most commands read no Parquet by the time they are told what follows.
    import pyarrow as pa

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
