"""NAR for assistants: a server of the Model Context Protocol with four tools over the atlas.

It speaks over standard input and output to the program that has started it, and opens no port.
Questions come from a language model: names are looked up or captured, and a file of the user is
read only if that runs none of its code, unless the one who starts the server lets it run.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from typing import Annotated, Final

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations
from pydantic import Field

from nar import ask
from nar.answers.naming import named
from nar.answers.query import Answer
from nar.base.asking import NOTHING_STATED, Asking
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
        description="A known name such as timm:resnet50 or resnet50, the path of an .onnx or .pt2 "
        "file or of a config.json, or hf:ORG/NAME for a cached configuration; where the server "
        "runs code, path/to/file.py:Class as well."
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
_INSTRUCTIONS: Final = (
    "Known neural architectures by their structure: what a model is, what it is closest to, where "
    "two differ, which blocks it repeats. Scores are cosines; 1.0 is the same network or a copy."
)


def search_report(name: str, answer: Answer) -> Report:
    """What an assistant gets of an answer: every field but the ones that `LEFT_OUT` names.

    Args:
        name: Name of the model.
        answer: The answer.
    """
    rows = one_row_a_network(answer.hits, len(answer.hits), name)
    report = answer_report(name, answer, rows)
    del report["explanations"]
    return {**report, **report.pop("evidence")}


@dataclass(frozen=True, slots=True)
class Tools:
    """What an assistant may call; each public method is a tool, and its text describes it.

    Attributes:
        code: What the code of the user's Python files may do; None where none of it is run.
    """

    code: Asking | None = None

    def search(
        self,
        model: Name,
        top_k: Count = 10,
        by: By = "design",
        max_parameters: int | None = None,
        inputs: Inputs = None,
    ) -> Report:
        """Find the known architectures nearest to a model, and whether it is known itself.

        `by` is what they share: the whole design, the family (what it is for), the trunk (what it
        stands on), or most of the structure (copy: what it is a copy, change or part of). `novelty`
        is how many of 100 designs of known families have a nearer relative. `bodies` are models
        that are the same but for the head or the embedding, which `differs` names. `changes` is how
        what is most like it becomes it, `coverage` how much of it stands in no known architecture.
        `assumed` is how a class was built and called, as far as nobody said. `unread` is what its
        graph lacks.
        """
        wanted = Filter(parameters=Range(maximum=max_parameters))
        relatives = ask.search(*self._model(model, inputs), top_k=top_k, wanted=wanted, by=by)
        return search_report(relatives.name, relatives.answer)

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
        """Say what an architecture is: family, task, parameters, FLOPs, operators, fingerprints."""
        asked = ask.asked_of(*self._model(model, inputs))
        return {
            **reports.architecture(asked.architecture, {}),
            "assumed": reports.assumed(asked.assumed),
            "unread": reports.unread(asked.unread),
        }

    def all(self) -> tuple[Callable[..., Report], ...]:
        """The tools."""
        return self.search, self.diff, self.motifs, self.describe

    def _model(self, name: str, inputs: Sequence[str] | None) -> tuple[str, Asking]:
        """The name of a model, and what is stated of it.

        Raises:
            InvalidInputError: The name means a Python file, which would be run.
        """
        if ".py:" in named(name, shipped_corpus()).name and self.code is None:
            reason = (
                "wanted a known name, or a file that is only read; a Python file would be run: "
                "a server that was started by `nar mcp --run-code` does it"
            )
            raise InvalidInputError("model", reason)
        # The name as it came: its notes are part of the answer.
        return name, replace(self.code or NOTHING_STATED, inputs=tuple(inputs or ()))


def mcp_server(code: Asking | None = None) -> MCPServer:
    """The server; ``run()`` answers on standard input and output until that ends.

    Args:
        code: What the code of the user's Python files may do; None where none of it is run.
    """
    server = MCPServer("nar", instructions=_INSTRUCTIONS, version=version(), log_level="WARNING")
    reads_only = code is None or not code.allowed
    annotations = ToolAnnotations(readOnlyHint=reads_only, openWorldHint=not reads_only)
    for tool in Tools(code).all():
        server.add_tool(_with_tool_errors(tool), annotations=annotations)
    return server


def _with_tool_errors(tool: Callable[..., Report]) -> Callable[..., Report]:
    """A tool whose errors tell the assistant what was wanted, what came, and the way out."""

    @wraps(tool)
    def run(*arguments: object, **named: object) -> Report:
        try:
            return tool(*arguments, **named)
        except NarError as error:
            raise ToolError(str(error)) from error

    return run
