"""A process that reads one file from outside, or compares large models, and may be wrong or slow.

It runs nothing that the file brings along: of ONNX the protobuf is read, of an exported program its
JSON, and a configuration builds a class of transformers on the meta device.
"""

import json
import sys
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any, Final

from nar.base.children import answer_parent, bound_this_process, task_of_parent
from nar.base.errors import InvalidInputError, NarError
from nar.base.extras import missing_in
from nar.wire.graphs import encode_graph

Task = Mapping[str, Any]


def main() -> None:
    """Do what the parent wants, and write the answer where it says."""
    # A person waits for this process: with a lower priority it would get a hundredth of a machine
    # that has ten busy processes a core, and would not finish in time.
    task, _ = task_of_parent(niceness=0)
    bound_this_process()
    try:
        # What a library prints is no part of the answer.
        with redirect_stdout(sys.stderr):
            answer = _KINDS[task["kind"]](task)
    except InvalidInputError as error:
        answer_parent({"fault": error.reason, "field": error.field or "body"})
    except ModuleNotFoundError as error:
        answer_parent({"fault": str(missing_in(error) or error), "field": "name"})
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
    from nar.web.catalogue import sides_of_json
    from nar.web.model_views import comparison

    first, second = sides_of_json(Path(task["sides"]).read_bytes(), **task["bounds"])
    return json.dumps(comparison(first, second, task["max_nodes"])).encode()


_KINDS: Final[Mapping[str, Callable[[Task], bytes]]] = {"file": _file, "comparison": _comparison}


if __name__ == "__main__":
    main()
