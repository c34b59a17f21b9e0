"""NAR for assistants: a server of the Model Context Protocol with four tools over the atlas.

It speaks over standard input and output to the program that has started it, and opens no port.
Questions come from a language model: names are looked up or captured, and a file of the user is
read only if that runs none of its code, unless whoever starts the server lets it run. Files lie
below the folders that the server was given, and are read in a process of their own, with bounds.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from functools import wraps
from pathlib import Path
from threading import Event, Timer
from typing import Annotated, Any, Final

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations
from pydantic import Field

from nar import ask
from nar.answers.naming import is_code, named
from nar.answers.query import Answer
from nar.answers.supported import Closest
from nar.base.asking import NOTHING_STATED, Asking
from nar.base.children import Child, answer_parent, bound_this_process, task_of_parent
from nar.base.errors import InvalidInputError, NarError
from nar.base.workspace import version
from nar.corpus import shipped_corpus
from nar.graphs.by import By
from nar.index.filters import Filter, Range
from nar.views import reports
from nar.views.answer import Report, answer_report, one_row_a_network

Name = Annotated[
    str,
    Field(
        description="A known name such as timm:resnet50 or resnet50, the path of an .onnx, .tflite "
        "or .pt2 file or of a config.json, or hf:ORG/NAME for a cached configuration; where the "
        "server runs code, path/to/file.py:Class as well."
    ),
]
Count = Annotated[int, Field(ge=1, le=100, description="Number of relatives.")]
Inputs = Annotated[
    list[str] | None,
    Field(
        description="Inputs of path/to/file.py:Class, such as x=1x3x224x224 or ids=1x128:int64; "
        "without them they are found, and `assumed` has them."
    ),
]
Engine = Annotated[
    str | None,
    Field(
        description="An engine, such as vllm or llama.cpp: relatives are only what it supports, "
        "and the closest is said. One that is not known is refused with the list of engines."
    ),
]
# Chosen: as long as an assistant waits for a tool, and as the page waits for a file.
_MAX_S: Final = 100.0
_INSTRUCTIONS: Final = (
    "Known neural architectures by their structure: what a model is, what it is closest to, where "
    "two differ, which blocks it repeats. Scores are cosines; 1.0 is the same network or a copy."
)


def search_report(name: str, answer: Answer, closest: Closest | None = None) -> Report:
    """What an assistant gets of an answer: every field but the ones that `LEFT_OUT` names.

    Args:
        name: Name of the model.
        answer: The answer.
        closest: What an engine supports, where that was asked for.
    """
    rows = one_row_a_network(answer.hits, len(answer.hits), name)
    report = answer_report(name, answer, rows, closest)
    del report["explanations"]
    return {**report, **report.pop("evidence")}


@dataclass(frozen=True, slots=True)
class Tools:
    """What an assistant may call; each public method is a tool, and its text describes it.

    Attributes:
        code: What the code of the user's Python files may do; None where none of it is run.
        roots: Folders below which files may lie.
    """

    code: Asking | None = None
    roots: tuple[Path, ...] = ()

    def search(
        self,
        model: Name,
        top_k: Count = 10,
        by: By | None = None,
        max_parameters: int | None = None,
        inputs: Inputs = None,
        among: Engine = None,
    ) -> Report:
        """Find the known architectures nearest to a model, and whether it is known itself.

        `by` is what they share: the whole design, the family (what it is for), the trunk (what it
        stands on), or most of the structure (copy: what it is a copy, change or part of): without
        it the design, and copy where `among` is an engine. `supported` is then the closest that it
        supports, what differs, and a text for an issue of the engine. `novelty`
        is how many of 100 designs of known families have a nearer relative. `bodies` are models
        that are the same but for the head or the embedding, which `differs` names. `changes` is how
        what is most like it becomes it, `coverage` how much of it stands in no known architecture.
        `assumed` is how a class was built and called, as far as nobody said. `unread` is what its
        graph lacks.
        """
        wanted = Filter(parameters=Range(maximum=max_parameters))
        relatives = ask.search(
            *self._model(model, inputs), top_k=top_k, wanted=wanted, by=by, among=among
        )
        return search_report(relatives.name, relatives.answer, relatives.closest)

    def diff(self, first: Name, second: Name, inputs: Inputs = None) -> Report:
        """Say how two architectures differ, in a sentence: sizes, operators, edits, motifs."""
        one, stated = self._model(first, inputs)
        other, _ = self._model(second, inputs)
        compared = ask.diff(one, other, stated)
        return {"text": repr(compared), "motifs": compared.rows()}

    def motifs(self, model: Name, inputs: Inputs = None) -> Report:
        """List the blocks that an architecture repeats, with their operators and counts."""
        found = ask.motifs_of(*self._model(model, inputs))
        return reports.motifs(found.name, found.cut)

    def describe(self, model: Name, inputs: Inputs = None) -> Report:
        """Say what an architecture is and is made of.

        Family, task, parameters, FLOPs, operators and fingerprints; `card` is its kind, depth,
        block, norm, activation, MLP, attention, positions and both ends: null where a field was not
        read or does not apply. `card.text` says it in a sentence.
        """
        asked = ask.asked_of(*self._model(model, inputs))
        item = asked.architecture
        return {
            **reports.architecture(item, {}),
            "card": reports.card(item.labels.name, ask.describe(item).card),
            "assumed": reports.assumed(asked.assumed),
            "unread": reports.unread(asked.unread),
        }

    def all(self) -> tuple[Callable[..., Report], ...]:
        """The tools."""
        return self.search, self.diff, self.motifs, self.describe

    def _model(self, name: str, inputs: Sequence[str] | None) -> tuple[str, Asking]:
        """The name of a model, and what is stated of it.

        Raises:
            InvalidInputError: The name means a Python file, which would be run, or another folder.
        """
        check_place(name, self.roots)
        if is_code(named(name, shipped_corpus()).name) and self.code is None:
            reason = (
                "wanted a known name, or a file that is only read; this program would be run: "
                "a server that was started by `nar mcp --run-code` does it"
            )
            raise InvalidInputError("model", reason)
        # The name as it came: its notes are part of the answer.
        return name, replace(
            self.code or NOTHING_STATED, inputs=tuple(inputs or ()), runs=self.code is not None
        )


def file_of(name: str) -> Path | None:
    """The file or folder that a name means, links followed; None for a name of another kind.

    Example:
        >>> file_of("timm:resnet50") is None, file_of("/").is_dir()
        (True, True)
    """
    stem, is_code, _ = name.partition(".py:")
    path = Path(f"{stem}.py" if is_code else name).expanduser()
    return path.resolve() if name and path.exists() else None


def check_place(name: str, roots: Sequence[Path]) -> None:
    """See that a name, if it means a file, means a file that may be asked about.

    Raises:
        InvalidInputError: The file lies elsewhere.
    """
    path = file_of(name)
    if path is None or any(path.is_relative_to(root) for root in roots):
        return
    told = ", ".join(map(str, roots)) or "none"
    raise InvalidInputError(
        "model",
        f"wanted a file below the folders of this server ({told}), came {path}: a server that was "
        "started by `nar mcp --root FOLDER` reads there, too",
    )


def mcp_server(code: Asking | None = None, roots: Sequence[Path] = ()) -> MCPServer:
    """The server; ``run()`` answers on standard input and output until that ends.

    Args:
        code: What the code of the user's Python files may do; None where none of it is run.
        roots: Folders below which the files lie that may be asked about; without, where it runs.
    """
    server = MCPServer("nar", instructions=_INSTRUCTIONS, version=version(), log_level="WARNING")
    reads_only = code is None or not code.allowed
    annotations = ToolAnnotations(readOnlyHint=reads_only, openWorldHint=not reads_only)
    resolved = tuple(Path(root).expanduser().resolve() for root in roots or (Path.cwd(),))
    for tool in Tools(code, resolved).all():
        server.add_tool(_with_tool_errors(_apart(tool, resolved)), annotations=annotations)
    return server


def _apart(tool: Callable[..., Report], roots: Sequence[Path]) -> Callable[..., Report]:
    """A tool that leaves files to a process beside, which may be wrong, slow or greedy.

    Python files are run under a guard of their own, in further processes.
    """

    @wraps(tool)
    def run(**named: Any) -> Report:  # noqa: ANN401
        models = [str(named[name]) for name in ("model", "first", "second") if name in named]
        for each in models:
            check_place(each, roots)
        is_data = [file_of(each) is not None and ".py" not in each for each in models]
        if not any(is_data) or any(".py:" in each for each in models):
            return tool(**named)
        task = {"tool": tool.__name__, "named": named, "roots": list(map(str, roots))}
        return _answered(task)

    return run


def _answered(task: Mapping[str, object]) -> Report:
    ending = Event()
    clock = Timer(_MAX_S, ending.set)
    child = Child(__name__, task)
    clock.start()
    try:
        answered = child.answer(ending)
    finally:
        clock.cancel()
        child.close()
    # A child that is to end may still answer, seconds after its time was over.
    if answered is None or ending.is_set():
        why = f"took longer than {_MAX_S:.0f} s" if ending.is_set() else "ended its reader"
        raise NarError(f"the file {why}; `nar search FILE` in a shell has no limits")
    if "fault" in answered:
        raise NarError(answered["fault"])
    report: Report = answered["report"]
    return report


def main() -> None:
    """Answer one question about a file, for the server that has started this process."""
    # An assistant waits for it, and a person for the assistant.
    task, _ = task_of_parent(niceness=0)
    bound_this_process()
    tools = Tools(roots=tuple(map(Path, task["roots"])))
    try:
        # What a library prints is no part of the answer.
        with redirect_stdout(sys.stderr):
            report = getattr(tools, task["tool"])(**task["named"])
    except NarError as error:
        answer_parent({"fault": str(error)})
    except MemoryError:
        answer_parent({"fault": "the file takes more memory than one may"})
    else:
        answer_parent({"report": report})


def _with_tool_errors(tool: Callable[..., Report]) -> Callable[..., Report]:
    """A tool whose errors tell the assistant what was wanted, what came, and the way out."""

    @wraps(tool)
    def run(*arguments: object, **named: object) -> Report:
        try:
            return tool(*arguments, **named)
        except NarError as error:
            raise ToolError(str(error)) from error

    return run


if __name__ == "__main__":
    main()
