"""What libraries are told before they are imported: they read it once, from the environment."""

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


def tell_libraries() -> None:
    """Say it, unless whoever started this process has said something else."""
    for name, value in _TOLD.items():
        os.environ.setdefault(name, value)
