"""What libraries are told before they are imported: they read it once, from the environment."""

import os
from typing import Final

_TOLD: Final = {
    # Pydantic looks for plugins in every distribution that is installed; NAR's settings have none.
    "PYDANTIC_DISABLE_PLUGINS": "__all__",
    # The threads of OpenBLAS sleep once they have waited for 2**4 clock ticks. By default each of
    # them keeps a core busy for 30 ms after a product of 2 ms, and whoever else wants it waits.
    "OPENBLAS_THREAD_TIMEOUT": "4",
}


def tell_libraries() -> None:
    """Say it, unless whoever started this process has said something else."""
    for name, value in _TOLD.items():
        os.environ.setdefault(name, value)
