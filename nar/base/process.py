"""This process: settings of its libraries and of all its threads, and memory given back."""

import ctypes
import gc
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Final

# Variables that a program gives its libraries before it imports them: what its user has set counts,
# as in ``os.environ.update(ENVIRONMENT | os.environ)``.
ENVIRONMENT: Final = {
    # Pydantic looks for plugins in every distribution that is installed; NAR's settings have none.
    "PYDANTIC_DISABLE_PLUGINS": "__all__",
    # One product runs on one core. Threads of OpenBLAS that wait for each other keep their cores
    # busy, and other threads wait: a server answers more calls with one thread a product.
    "OPENBLAS_NUM_THREADS": "1",
    # Nobody else can use memory that Arrow's own allocator has freed: 17 MB of a server. If this is
    # set later, Arrow's readers of files keep the allocator with which they began.
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    # gRPC prints each error that it also raises, and its lines are no JSON in the log of a server.
    "GRPC_VERBOSITY": "NONE",
}
# M_ARENA_MAX and M_MMAP_THRESHOLD of glibc's malloc.h -> chosen values: 2 arenas, 1 MiB. A larger
# block goes back to the system as soon as it is free; unless it is set, the threshold grows to 32
# MiB.
_CHOICES: Final = {-8: 2, -3: 2**20}


def give_back() -> None:
    """Give unused memory back to the system, after much was read that is no longer needed."""
    # Imported here, because most commands read no Parquet.
    import pyarrow as pa

    gc.collect()
    pa.default_memory_pool().release_unused()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # of glibc
    if trim:
        trim(0)


def share_memory() -> None:
    """Let all threads take memory from the same two arenas; call it before threads begin.

    By default glibc gives a thread an arena of its own, up to eight for every core, and memory
    that is freed in one arena is of no use to threads of another.
    """
    choose = getattr(ctypes.CDLL(None), "mallopt", None)  # of glibc
    if choose:
        for parameter, value in _CHOICES.items():
            choose(parameter, value)


def raise_in_thread(thread: threading.Thread, error: type[BaseException]) -> None:
    """Raise an error in another thread as soon as that runs Python; code in C goes on till then."""
    identity = ctypes.c_ulong(thread.ident or 0)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(identity, ctypes.py_object(error))


class ProcessWide:
    """A setting of the whole process: made by the first of several threads, undone by the last.

    Args:
        make: Makes the context; called each time when nobody is inside.
    """

    def __init__(self, make: Callable[[], AbstractContextManager[None]]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._users = 0
        self._context: AbstractContextManager[None] = make()

    def __enter__(self) -> None:
        with self._lock:
            if not self._users:
                self._context = self._make()
                self._context.__enter__()
            self._users += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._users -= 1
            if not self._users:
                self._context.__exit__(None, None, None)
