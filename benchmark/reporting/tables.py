"""Tables of results, as Markdown and as JSON, from the cells of a set."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from benchmark.cells import Cell, CellResult
from benchmark.methods.registry import find_method
from benchmark.reporting.markdown import result_blocks
from benchmark.reporting.rows import PrintedRow, Row, printed_rows, rows_of
from benchmark.reporting.sets import CellSet, find_set
from benchmark.scoring.evaluate import Evaluation
from benchmark.tasks.asking import ASKING
from benchmark.tasks.task import find_protocol
from nar.base.errors import CorpusError
from nar.corpus import shipped_corpus
from nar.corpus.manifest import Manifest

DEFINITIONS: Final = (
    "Every query ranks all that may answer, never itself, by cosine to six decimals; ties by name. "
    "What a design was made from NAR ranks in a second stage, which reads graphs and lineage.",
    "MRR@k: 1 / rank of the first relevant architecture within k, else 0. MAP@k: sum of precision "
    "at relevant ranks up to k, divided by min(R, k), where R is how many are relevant. NDCG@k: "
    "linear gain, log2 discount, ideal cut at k. SUCCESS@k: whether one of the first k is relevant "
    "(first right: k = 1). FAMILIES@k: whether one of the first k families is relevant.",
    "A number is a mean over queries and over seeds, which weigh the same; a seed draws the split "
    "and whatever the method draws. Macro: every family weighs the same.",
    "95%: bootstrap over whole families and whole seeds together (1,000 draws, seed 0); it means "
    "little where fewer than 20 families ask. Bold: best of its column.",
    "Ceiling: what a perfect ranking reaches that knows what is right, but cannot tell equal "
    "graphs apart, as no encoder can.",
    "Without labels, idf, the spread of sizes and the list of attributes that occur are taken over "
    "all architectures, those that ask among them.",
    "dim: length of the vectors. seconds: wall time of learning and embedding, mean over seeds.",
)
PRINTED: Final = (
    "Rows marked `printed` quote the paper's Table {}: other data, other splits. Its published "
    "code cannot run end to end, and its evaluator makes every architecture relevant to every "
    "query; so all other rows are our own implementations, under one protocol."
)

Found = Mapping[tuple[Cell, str], CellResult]


@dataclass(frozen=True, slots=True)
class Part:
    """What a table says of one task.

    Attributes:
        data: Of the task.
        protocol: Of the task.
        ceiling: What a perfect ranking reaches.
        rows: A method each.
    """

    data: str
    protocol: str
    ceiling: Evaluation
    rows: Sequence[Row]

    def blocks(self, printed: Sequence[PrintedRow]) -> list[str]:
        """In Markdown."""
        about = find_protocol(self.data, self.protocol)
        layout = result_blocks(about.headline, self.rows, printed, self.ceiling)
        return [f"## {self.data}, {self.protocol}", about.said, *layout]

    def to_dict(self, printed: Sequence[PrintedRow]) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {
            "data": self.data,
            "protocol": self.protocol,
            "asked": find_protocol(self.data, self.protocol).said,
            "ceiling": self.ceiling.to_dict(),
            "rows": [row.to_dict() for row in self.rows],
            "printed": [asdict(row) for row in printed],
        }


def write_table(
    directory: Path,
    name: str,
    chosen: CellSet,
    found: Found,
    ceilings: Mapping[tuple[str, str], Evaluation],
) -> None:
    """Pool the seeds of a set, and write what they say as ``{name}.md`` and ``{name}.json``.

    Args:
        directory: Gets the files. Tasks of the set that are not among the chosen ones stay as the
            files say there, where they were asked as today.
        name: Of the set.
        chosen: The set, with the methods that were run and the tasks that are written.
        found: What came of their cells under every protocol.
        ceilings: What a perfect ranking reaches today, by data and protocol, on all tasks.

    Raises:
        InvalidInputError: There is no such set, or its methods were not asked the same.
        CorpusError: A part that is to stay is not there, or other questions were asked for it.
    """
    command = f"python -m benchmark run {name} --results results"
    definitions = [*DEFINITIONS, *([PRINTED.format(chosen.printed)] if chosen.printed else [])]
    listed = "\n".join(f"- {each}" for each in definitions)
    whole = find_set(name)
    parts = [
        _part(chosen, found, *task, ceiling)
        if task in chosen.tasks
        else _kept(directory, name, *task, ceiling)
        for task, ceiling in ((task, ceilings[task]) for task in whole.tasks)
    ]
    run = set.intersection(*({row.method.name for row in part.rows} for part in parts))
    not_run = [each for each in whole.methods if each not in run]
    blocks = [f"# {chosen.title}", f"```sh\n{command}\n```", listed]
    if not_run:
        titles = ", ".join(find_method(each).title for each in not_run)
        blocks.append(f"Not run yet: {titles}.")
    quoted = [printed_rows(chosen.printed, part.data) for part in parts]
    for part, printed in zip(parts, quoted, strict=True):
        blocks += part.blocks(printed)
    told = {
        "name": name,
        "title": chosen.title,
        "command": command,
        "corpus": Manifest.read(shipped_corpus()).digest,
        "not_run": not_run,
        "definitions": definitions,
        "parts": [part.to_dict(printed) for part, printed in zip(parts, quoted, strict=True)],
    }
    directory.mkdir(parents=True, exist_ok=True)
    (directory / f"{name}.json").write_text(json.dumps(told, indent=2) + "\n")
    (directory / f"{name}.md").write_text("\n\n".join(blocks) + "\n")


def _part(chosen: CellSet, found: Found, data: str, protocol: str, ceiling: Evaluation) -> Part:
    reached = reached_by(chosen, found, data, protocol)
    headline = find_protocol(data, protocol).headline
    rows = rows_of(reached, headline, by_kind=has_kinds(protocol))
    return Part(data, protocol, ceiling, rows)


def _kept(directory: Path, table: str, data: str, protocol: str, ceiling: Evaluation) -> Part:
    told = read_part(directory, table, data, protocol)
    if told is None or told["ceiling"] != ceiling.to_dict():
        raise CorpusError(
            f"{directory / table}.json holds no answers to what {data}, {protocol} asks today; "
            f"run its split as well: {find_protocol(data, protocol).split}"
        )
    return Part(data, protocol, ceiling, [Row.from_dict(row) for row in told["rows"]])


def read_part(directory: Path, table: str, data: str, protocol: str) -> Mapping[str, Any] | None:
    """What a table of results says of a task, as JSON; None if there is no such table."""
    path = directory / f"{table}.json"
    parts = json.loads(path.read_text())["parts"] if path.exists() else []
    wanted = (data, protocol)
    return next((part for part in parts if (part["data"], part["protocol"]) == wanted), None)


def reached_by(chosen: CellSet, found: Found, data: str, protocol: str) -> list[list[CellResult]]:
    """What each method reached on a task, with each seed that it was run with."""
    cells = (chosen.cells_of(data, protocol, method) for method in chosen.methods)
    return [
        [found[each, protocol] for each in seeds if (each, protocol) in found] for seeds in cells
    ]


def has_kinds(protocol: str) -> bool:
    """Whether changed models ask under a protocol: they are told apart by how they were changed."""
    return protocol.partition("-")[0] in ASKING
