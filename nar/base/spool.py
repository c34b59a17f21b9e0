"""Arrays that are laid end to end on disk while they are made, and read from there."""

import mmap
from tempfile import TemporaryFile
from typing import Any, Final
from weakref import finalize

import numpy as np
from numpy.typing import DTypeLike, NDArray

_PREFIX: Final = "nar-spool-"


class Spool:
    """Arrays of one type, laid end to end in a file that has no name.

    Memory holds none of them: what is read of the file is the system's to keep or to give up, so
    that they may be larger than memory. The file lies where `tempfile` puts files (``TMPDIR``), and
    is gone with whoever reads it last.

    Args:
        dtype: Of every item.

    Example:
        >>> spool = Spool(np.int64)
        >>> spool.append(np.array([1, 2]))
        >>> spool.append(np.array([3]))
        >>> spool.array()
        array([1, 2, 3])
    """

    def __init__(self, dtype: DTypeLike) -> None:
        self._dtype = np.dtype(dtype)
        self._file = TemporaryFile(prefix=_PREFIX)  # noqa: SIM115 - open until it is read
        finalize(self, self._file.close)

    def append(self, array: NDArray[Any]) -> None:
        """Lay an array behind the others.

        Args:
            array: Shape (items,), of values that the type holds.

        Raises:
            OSError: The disk is full.
        """
        self._file.write(np.ascontiguousarray(array, dtype=self._dtype).tobytes())

    def array(self) -> NDArray[Any]:
        """Everything so far, read-only: shape (items,). Nothing can be appended after it."""
        with self._file as file:
            file.flush()
            if not file.tell():  # A file without content cannot be mapped.
                return np.empty(0, dtype=self._dtype)
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        return np.frombuffer(mapped, dtype=self._dtype)
