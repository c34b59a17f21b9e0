"""Tables of results, as Markdown and as JSON, from the cells of a set."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Final

from nar.corpus import shipped_corpus
from nar.corpus.manifest import Manifest
from nar.evaluation.benchmark.asking import ASKING
from nar.evaluation.benchmark.tasks import find_protocol
from nar.evaluation.cells import Cell, CellResult
from nar.evaluation.methods.registry import find_method
from nar.evaluation.reporting.markdown import result_blocks
from nar.evaluation.reporting.printed import printed_rows
from nar.evaluation.reporting.rows import rows_of
from nar.evaluation.reporting.sets import CellSet, find_set
from nar.evaluation.scoring.evaluate import Evaluation

DEFINITIONS: Final = (
    "Every query ranks all that may answer, never itself, by cosine to six decimals; ties by name.",
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


def write_table(
    directory: Path,
    name: str,
    chosen: CellSet,
    found: Found,
    ceilings: Mapping[tuple[str, str], Evaluation],
) -> None:
    """Pool the seeds of a set, and write what they say as ``{name}.md`` and ``{name}.json``.

    Args:
        directory: Gets the files.
        name: Of the set.
        chosen: The set, with the methods that were run.
        found: What came of their cells under every protocol.
        ceilings: What a perfect ranking reaches, by data and protocol.

    Raises:
        InvalidInputError: There is no such set, or its methods were not asked the same.
    """
    command = f"python -m cluster.evaluate {name} --results results"
    definitions = [*DEFINITIONS, *([PRINTED.format(chosen.printed)] if chosen.printed else [])]
    listed = "\n".join(f"- {each}" for each in definitions)
    blocks, parts = [f"# {chosen.title}", f"```sh\n{command}\n```", listed], []
    not_run = [each for each in find_set(name).methods if each not in chosen.methods]
    if not_run:
        titles = ", ".join(find_method(each).title for each in not_run)
        blocks.append(f"Not run yet: {titles}.")
    for data, protocol in chosen.tasks:
        about = find_protocol(data, protocol)
        reached = reached_by(chosen, found, data, protocol)
        rows = rows_of(reached, about.headline, by_kind=has_kinds(protocol))
        printed = printed_rows(chosen.printed, data)
        ceiling = ceilings[data, protocol]
        layout = result_blocks(about.headline, rows, printed, ceiling)
        blocks += [f"## {data}, {protocol}", about.said, *layout]
        part = {
            "data": data,
            "protocol": protocol,
            "asked": about.said,
            "ceiling": ceiling.to_dict(),
        }
        quoted = [asdict(row) for row in printed]
        parts.append({**part, "rows": [row.to_dict() for row in rows], "printed": quoted})
    corpus = Manifest.read(shipped_corpus()).digest
    told = {"name": name, "title": chosen.title, "command": command, "corpus": corpus}
    whole = {**told, "not_run": not_run, "definitions": definitions, "parts": parts}
    directory.mkdir(parents=True, exist_ok=True)
    (directory / f"{name}.json").write_text(json.dumps(whole, indent=2) + "\n")
    (directory / f"{name}.md").write_text("\n\n".join(blocks) + "\n")


def reached_by(chosen: CellSet, found: Found, data: str, protocol: str) -> list[list[CellResult]]:
    """What each method reached on a task, with each seed that it was run with."""
    cells = (chosen.cells_of(data, protocol, method) for method in chosen.methods)
    return [
        [found[each, protocol] for each in seeds if (each, protocol) in found] for seeds in cells
    ]


def has_kinds(protocol: str) -> bool:
    """Whether changed models ask under a protocol: they are told apart by how they were changed."""
    return protocol.partition("-")[0] in ASKING
