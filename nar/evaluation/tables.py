"""Tables of results, as Markdown and as JSON, from the cells of a set."""

import csv
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.resources import files
from pathlib import Path
from statistics import fmean
from typing import Any, Final

from nar.errors import CorpusError
from nar.evaluation.cells import Cell, CellResult, read_cell
from nar.evaluation.datasets import REAL
from nar.evaluation.differences import Difference, difference
from nar.evaluation.evaluate import KS, Evaluation, Score, summarise
from nar.evaluation.frozen import SEEDS
from nar.evaluation.methods import Method, find_method
from nar.evaluation.sets import CellSet, find_set

METRICS: Final = tuple(f"{name}@{k}" for name in ("mrr", "map", "ndcg") for k in KS)
HEADLINE: Final = "map@20"
_COLUMNS: Final = (*map(str.upper, METRICS), "MAP@20, 95%", "MAP@20, macro", "dim", "seconds")
DEFINITIONS: Final = (
    "Every query ranks all that may answer, never itself, by cosine to six decimals; ties by name.",
    "MRR@k: 1 / rank of the first relevant architecture within k, else 0. MAP@k: sum of precision "
    "at relevant ranks up to k, divided by min(R, k), where R is how many are relevant. NDCG@k: "
    "linear gain, log2 discount, ideal cut at k.",
    "A number is a mean over queries and over seeds, which weigh the same; a seed draws the split "
    "and whatever the method draws. Macro: every family weighs the same.",
    "95%: bootstrap over whole families (1,000 draws, seed 0). Bold: best of its column.",
    "dim: length of the vectors. seconds: wall time of learning and embedding, mean over seeds.",
)
PRINTED: Final = (
    "Rows marked `printed` quote the paper's Table {}: other data, other splits. Its published "
    "code cannot run end to end, and its evaluator makes every architecture relevant to every "
    "query; so all other rows are our own implementations, under one protocol."
)
_COPIES: Final = "A tenth of each family asks; everything else answers, copies of a design too."
_KIN: Final = "Relevant: the family by the defining code; of composed models also the encoder's."
_DESIGNS: Final = "A design stands once among the queries and answers."
# Who asks, who answers, what is relevant: by protocol of the real data, and for all NAS data.
ASKED: Final = {
    "paper": f"{_COPIES} Relevant: the class that the paper's rules read from the name; who has "
    "none does not ask.",
    "family": f"{_COPIES} {_KIN}",
    "distinct": f"A tenth of the designs of each family asks, and is not learned from. {_DESIGNS} "
    f"{_KIN}",
    "unseen": f"A fifth of the families asks; nothing is learned of these. {_DESIGNS} {_KIN}",
    "twins": "Designs that several libraries implement ask, and are not learned from; all "
    "architectures of other libraries answer. Relevant: the same design.",
    "nas": "DARTS networks in ten classes, in nas-k each k edits from the centre of its class. A "
    "tenth of each class asks; everything else answers. Relevant: the same class.",
}
_PRINTED_DATA: Final = {REAL: "real", "nas-4": "nas"}


@dataclass(frozen=True, slots=True)
class Row:
    """A method on one task, all seeds together.

    Attributes:
        method: What was run.
        evaluation: What it reached.
        difference: Of MAP@20, to the reference; None for the reference itself.
        dim: Length of the vectors.
        learned: Architectures that were learned from, mean over seeds.
        seconds: Wall time, mean over seeds.
    """

    method: Method
    evaluation: Evaluation
    difference: Difference | None
    dim: int
    learned: float
    seconds: float

    def numbers(self) -> list[float]:
        """What bold is for: every mean, then the macro mean of MAP@20."""
        scores = self.evaluation.scores
        return [*(scores[name].mean for name in METRICS), scores[HEADLINE].macro]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        method = self.method
        named = {"method": method.name, "title": method.title, "learns": method.learns}
        cost = {"dim": self.dim, "learned": self.learned, "seconds": self.seconds}
        apart = asdict(self.difference) if self.difference else None
        return {**named, **self.evaluation.to_dict(), **cost, "difference": apart}


def write_table(directory: Path, name: str, paths: Sequence[Path]) -> None:
    """Pool the seeds of a set, and write what they say as ``{name}.md`` and ``{name}.json``.

    Raises:
        InvalidInputError: There is no such set, or its methods were not asked the same.
        CorpusError: Cells are missing or damaged.
    """
    chosen = find_set(name)
    found = _read(name, chosen, paths)
    command = f"python -m cluster.evaluate {name} --results results"
    definitions = [*DEFINITIONS, *([PRINTED.format(chosen.printed)] if chosen.printed else [])]
    listed = "\n".join(f"- {each}" for each in definitions)
    blocks, parts = [f"# {chosen.title}", f"```sh\n{command}\n```", listed], []
    for data, protocol in chosen.tasks:
        asked = ASKED[protocol if data == REAL else "nas"]
        cells = [[Cell(data, protocol, m, seed) for seed in SEEDS] for m in chosen.methods]
        rows = _rows([[found[cell] for cell in seeds] for seeds in cells])
        printed = printed_rows(chosen.printed, data)
        blocks += [f"## {data}, {protocol}", asked, *_blocks(rows, printed)]
        part = {"data": data, "protocol": protocol, "asked": asked}
        quoted = [{"title": title, "scores": scores} for title, scores in printed.items()]
        parts.append({**part, "rows": [row.to_dict() for row in rows], "printed": quoted})
    whole = {"name": name, "title": chosen.title, "command": command, "definitions": definitions}
    directory.mkdir(parents=True, exist_ok=True)
    (directory / f"{name}.json").write_text(json.dumps({**whole, "parts": parts}, indent=2) + "\n")
    (directory / f"{name}.md").write_text("\n\n".join(blocks) + "\n")


def printed_rows(table: int | None, data: str) -> dict[str, dict[str, float]]:
    """Scores by title of each row that a table of the paper has on a data set; most have none."""
    wanted = (str(table), _PRINTED_DATA.get(data))
    with files("nar.evaluation").joinpath("data", "printed.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if (row["table"], row["dataset"]) == wanted]
    return {
        f"printed: {row['row'].replace('_', ' ').upper()}": {m: float(row[m]) for m in METRICS}
        for row in rows
    }


def _read(name: str, chosen: CellSet, paths: Sequence[Path]) -> dict[Cell, CellResult]:
    """What came of every cell of a set."""
    found = {result.cell: result for result in map(read_cell, filter(Path.exists, paths))}
    missing = [str(cell) for cell in chosen.cells() if cell not in found]
    if missing:
        which = f"{name} lacks {len(missing)} cells, {', '.join(missing)}"
        raise CorpusError(f"{which}; run them with `python -m cluster.evaluate {name}`")
    return found


def _rows(methods: Sequence[Sequence[CellResult]]) -> list[Row]:
    """A row a method; all are compared with the last."""
    scored = [[seed.scored for seed in seeds] for seeds in methods]
    apart = [*(difference(mine, scored[-1], HEADLINE) for mine in scored[:-1]), None]
    return list(map(_row, methods, apart))


def _row(seeds: Sequence[CellResult], apart: Difference | None) -> Row:
    whole = summarise([seed.scored for seed in seeds])
    learned, seconds = fmean(s.learned for s in seeds), fmean(s.seconds for s in seeds)
    method = find_method(seeds[0].cell.method)
    return Row(method, whole, apart, max(s.dim for s in seeds), learned, seconds)


def _blocks(rows: Sequence[Row], printed: Mapping[str, Mapping[str, float]]) -> list[str]:
    """Who asked, the table, the best that learns nothing, the differences."""
    whole, reference = rows[-1].evaluation, rows[-1].method.title
    asked = f"{whole.queries:,} queries of {whole.clusters:,} families over {whole.seeds} seeds"
    idle = {r.method.title: r.evaluation.scores[HEADLINE].mean for r in rows if not r.method.learns}
    best = max(idle, key=lambda title: idle[title], default=None)
    quoted = [[title, *map(_shown, scores.values())] for title, scores in printed.items()]
    return [
        f"{asked}; {whole.gallery:,} may answer.",
        _markdown(("method", *_COLUMNS), [*_lines(rows), *quoted]),
        f"Best that learns nothing, by MAP@20: {f'{best}, {idle[best]:.3f}' if best else 'none'}.",
        f"Differences: MAP@20 less that of {reference}, query by query; none: 95% includes 0.",
        _markdown(
            ("method", "difference", "95%"),
            [
                [row.method.title, "none" if d.is_none else f"{d.mean:+.3f}", _interval(d)]
                for row in rows
                if (d := row.difference)
            ],
        ),
    ]


def _lines(rows: Sequence[Row]) -> Iterator[list[str]]:
    """Rows of the table, the best of each column in bold."""
    best = [_shown(max(column)) for column in zip(*(row.numbers() for row in rows), strict=True)]
    for row in rows:
        shown = zip(map(_shown, row.numbers()), best, strict=True)
        *means, macro = (f"**{text}**" if text == most else text for text, most in shown)
        interval = _interval(row.evaluation.scores[HEADLINE])
        yield [row.method.title, *means, interval, macro, f"{row.dim:,}", f"{row.seconds:,.1f}"]


def _markdown(header: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """A table; short lines end with empty columns."""
    filled = [[*line, *[""] * (len(header) - len(line))] for line in lines]
    every = [header, ["---"] * len(header), *filled]
    return "\n".join(f"| {' | '.join(line)} |" for line in every)


def _shown(number: float) -> str:
    return f"{number:.3f}"


def _interval(ends: Score | Difference) -> str:
    return f"{ends.low:.3f} to {ends.high:.3f}"
