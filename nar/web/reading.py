"""A process that reads one file from outside, and may be wrong, slow or greedy without harm.

It runs nothing that the file brings along: of ONNX the protobuf is read, of an exported program its
JSON, and a configuration builds a class of transformers on the meta device.
"""

import resource
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Final

from nar.base.children import answer_parent, task_of_parent
from nar.base.errors import NarError
from nar.own import capture_architecture
from nar.wire.graphs import encode_graph

# Chosen: address space of the process. Most of it is what torch and its libraries map.
_MAX_MEMORY_BYTES: Final = 12 * 1024**3
# Chosen: a bound that holds even where the server is gone, which itself waits for 100 s.
_MAX_CPU_S: Final = 120
# Chosen: for each file that is written. A graph is far smaller, and no upload may fill the disk.
_MAX_WRITTEN_BYTES: Final = 512 * 1024**2


def main() -> None:
    """Read the file that the parent names, and write its graph beside it."""
    # A person waits for this process: with a lower priority it would get a hundredth of a machine
    # that has ten busy processes a core, and would not finish in time.
    task, _ = task_of_parent(niceness=0)
    bound(resource.RLIMIT_AS, _MAX_MEMORY_BYTES)
    bound(resource.RLIMIT_CPU, _MAX_CPU_S)
    bound(resource.RLIMIT_FSIZE, _MAX_WRITTEN_BYTES)
    try:
        # What a library prints is no part of the answer.
        with redirect_stdout(sys.stderr):
            item = capture_architecture(task["path"]).architecture
    except NarError as error:
        # The parent's name for the file says nothing to the user who sent it.
        answer_parent({"fault": str(error).replace(f"{task['path']}: ", "")})
    except MemoryError:
        answer_parent({"fault": "it takes more memory than one file may"})
    else:
        Path(task["answer"]).write_bytes(encode_graph(item.graph).SerializeToString())
        answer_parent({})


def bound(kind: int, most: int) -> None:
    """Limit a resource of this process, without raising the limit that it already has."""
    _, hard = resource.getrlimit(kind)
    most = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(kind, (most, most))


if __name__ == "__main__":
    main()
