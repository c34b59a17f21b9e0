"""A process that reads one file from outside, or compares large models, and may be wrong or slow.

It runs nothing that the file brings along: of ONNX the protobuf is read, of an exported program its
JSON, and a configuration builds a class of transformers on the meta device.
"""

import json
import os
import pickle
import resource
import sys
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any, Final

from nar.base.children import answer_parent, task_of_parent
from nar.base.errors import InvalidInputError, NarError
from nar.graphs.architecture import Architecture
from nar.wire.graphs import encode_graph

Task = Mapping[str, Any]

# Chosen: address space of the process. Most of it is what torch and its libraries map.
_MAX_MAPPED_BYTES: Final = 12 * 1024**3
# Of the memory that the server and this process have together. Measured with the shipped atlas: the
# server and its index take 0.8 of the 3 GiB of its container, and 0.2 are what torch takes here.
_MEMORY_SHARE: Final = 0.5
# Chosen: a bound that holds even where the server is gone, which itself waits for 100 s.
_MAX_CPU_S: Final = 120
# Chosen: for each file that is written. A graph is far smaller, and no upload may fill the disk.
_MAX_WRITTEN_BYTES: Final = 512 * 1024**2


def main() -> None:
    """Do what the parent wants, and write the answer where it says."""
    # A person waits for this process: with a lower priority it would get a hundredth of a machine
    # that has ten busy processes a core, and would not finish in time.
    task, _ = task_of_parent(niceness=0)
    bound(resource.RLIMIT_AS, _MAX_MAPPED_BYTES)
    bound(resource.RLIMIT_DATA, int(_MEMORY_SHARE * memory_bytes()))
    bound(resource.RLIMIT_CPU, _MAX_CPU_S)
    bound(resource.RLIMIT_FSIZE, _MAX_WRITTEN_BYTES)
    try:
        # What a library prints is no part of the answer.
        with redirect_stdout(sys.stderr):
            answer = _KINDS[task["kind"]](task)
    except InvalidInputError as error:
        answer_parent({"fault": error.reason, "field": error.field or "body"})
    except NarError as error:
        # The parent's name for the file says nothing to the user who sent it.
        answer_parent({"fault": str(error).replace(f"{task.get('path')}: ", ""), "field": "name"})
    except MemoryError:
        answer_parent({"fault": "it takes more memory than one may", "field": "body"})
    else:
        Path(task["answer"]).write_bytes(answer)
        answer_parent({})


def _file(task: Task) -> bytes:
    # torch and its libraries, which a comparison does not need.
    from nar.own import capture_architecture

    item = capture_architecture(task["path"]).architecture
    return encode_graph(item.graph).SerializeToString()


def _comparison(task: Task) -> bytes:
    """The report of two models, as JSON."""
    from nar.web.catalogue import sent
    from nar.web.model_views import comparison

    # Our own parent wrote it a moment ago, into a directory of its own.
    sides = pickle.loads(Path(task["sides"]).read_bytes())
    bounds = task["bounds"]
    found = [each if isinstance(each, Architecture) else sent(each, **bounds) for each in sides]
    first, second = found
    return json.dumps(comparison(first, second, task["max_nodes"])).encode()


_KINDS: Final[Mapping[str, Callable[[Task], bytes]]] = {"file": _file, "comparison": _comparison}


def bound(kind: int, most: int) -> None:
    """Limit a resource of this process, without raising the limit that it already has."""
    _, hard = resource.getrlimit(kind)
    most = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(kind, (most, most))


def memory_bytes(
    groups: Path = Path("/sys/fs/cgroup"), own: Path = Path("/proc/self/cgroup")
) -> int:
    """The memory that this process may use: of the machine, or of its control groups, if less.

    Args:
        groups: Where control groups are mounted, of version 1 or 2.
        own: The file that names the groups of this process.
    """
    bounds = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for line in own.read_text().splitlines() if own.exists() else ():
        _, controllers, path = line.split(":", 2)
        if controllers in ("", "memory"):
            name = "memory.limit_in_bytes" if controllers else "memory.max"
            group = Path(path.lstrip("/"))
            # A group has no more than the groups around it; in a container the path may be hidden.
            for each in (group, *group.parents):
                bounds += _bounds_in(groups / controllers / each / name)
    return min(bounds)


def _bounds_in(file: Path) -> list[int]:
    text = file.read_text().strip() if file.exists() else "max"
    return [] if text == "max" else [int(text)]


if __name__ == "__main__":
    main()
