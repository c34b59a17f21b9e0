"""The process that captures: bounded in memory, tidied up after every model."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from resource import getpagesize

from cluster.actors import WorkerLostError
from cluster.resources import bound_memory
from nar.base.asking import Asking
from nar.base.errors import CaptureError
from nar.capture.forward.dispatch import one_line
from nar.own import capture_architecture
from nar.zoo import ZooCapture

_STATM = Path("/proc/self/statm")
# How torch's allocators, C++ and threads report what Python raises as a MemoryError.
_OUT_OF_MEMORY = ("not enough memory", "can't allocate memory", "bad_alloc", "Cannot allocate")


@dataclass(frozen=True, slots=True)
class WorkerCapture:
    """A capture, and the size of the process that made it.

    Attributes:
        capture: The capture of the requested model.
        resident_bytes: Memory of the process after the capture.
    """

    capture: ZooCapture
    resident_bytes: int


class CaptureWorker:
    """Captures models; lives long, because importing a model library takes seconds.

    Args:
        memory_limit_bytes: Private memory that the process may have; None sets no bound.
    """

    def __init__(self, memory_limit_bytes: int | None) -> None:
        self._memory_limit_bytes = memory_limit_bytes
        bound_memory(memory_limit_bytes)

    def capture(self, name: str, asking: Asking) -> WorkerCapture:
        """Capture a model.

        Args:
            name: Its spec.
            asking: What the user states of it.

        Raises:
            WorkerLostError: The model wanted more memory than the process may have.
            CaptureError: The model could not be captured.
        """
        with uncollected():
            capture = self._capture(name, asking)
        return WorkerCapture(capture, resident_bytes())

    def _capture(self, name: str, asking: Asking) -> ZooCapture:
        try:
            return capture_architecture(name, asking)
        except SystemExit as error:
            raise CaptureError(name, "-", one_line(error)) from None
        except Exception as error:
            if self._memory_limit_bytes is not None and is_out_of_memory(error):
                raise self._memory_error() from None
            raise

    def _memory_error(self) -> WorkerLostError:
        limit_gb = (self._memory_limit_bytes or 0) / 1e9
        return WorkerLostError("memory", f"needed more memory than its limit of {limit_gb:g} GB")


@contextmanager
def uncollected() -> Iterator[None]:
    """No garbage collection inside, one after: a forward makes objects and hardly any cycle."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.collect()
        # Objects alive between two models stay alive (libraries, tables, caches): never walk them
        # again.
        gc.freeze()


def is_out_of_memory(error: BaseException | None) -> bool:
    """Whether an error, or a cause of it, says that memory ran out."""
    while error is not None:
        if isinstance(error, MemoryError) or any(word in str(error) for word in _OUT_OF_MEMORY):
            return True
        error = error.__cause__ or error.__context__
    return False


def resident_bytes() -> int:
    """Memory of this process that is in RAM; 0 where the system does not say."""
    return int(_STATM.read_text().split()[1]) * getpagesize() if _STATM.exists() else 0
