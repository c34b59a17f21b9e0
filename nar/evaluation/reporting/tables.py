"""Tables of results, as Markdown and as JSON, from the cells of a set."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Final

from nar.corpus import shipped_corpus
from nar.corpus.manifest import Manifest
from nar.evaluation.benchmark.datasets import NAS, REWRITES
from nar.evaluation.cells import Cell, CellResult
from nar.evaluation.reporting.markdown import result_blocks
from nar.evaluation.reporting.printed import printed_rows
from nar.evaluation.reporting.rows import rows_of
from nar.evaluation.reporting.sets import find_set

DEFINITIONS: Final = (
    "Every query ranks all that may answer, never itself, by cosine to six decimals; ties by name.",
    "MRR@k: 1 / rank of the first relevant architecture within k, else 0. MAP@k: sum of precision "
    "at relevant ranks up to k, divided by min(R, k), where R is how many are relevant. NDCG@k: "
    "linear gain, log2 discount, ideal cut at k. Recall@1: whether the first is relevant.",
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
_DECODER: Final = "but of composed models the decoder alone counts, not what it stands on."
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
    "distinct-decoder": f"As `distinct`, {_DECODER}",
    "unseen-decoder": f"As `unseen`, {_DECODER}",
    REWRITES: "Models that were written otherwise ask (`results/rewritten_graphs.md` says how), "
    "and their designs are not learned from; all real architectures answer. Relevant: the "
    "original.",
    "rewrites-design": "As `rewrites`, but what has the original's design is as good, of whatever "
    "size: twice the width of one network is often another that exists.",
    "nas": "DARTS networks in ten classes, in nas-k each k edits from the centre of its class. A "
    "tenth of each class asks; everything else answers. Relevant: the same class.",
}


def write_table(directory: Path, name: str, results: Mapping[Cell, CellResult]) -> None:
    """Pool the seeds of a set, and write what they say as ``{name}.md`` and ``{name}.json``.

    Args:
        directory: Gets the files.
        name: Of the set.
        results: What came of every cell of it.

    Raises:
        InvalidInputError: There is no such set, or its methods were not asked the same.
    """
    chosen = find_set(name)
    command = f"python -m cluster.evaluate {name} --results results"
    definitions = [*DEFINITIONS, *([PRINTED.format(chosen.printed)] if chosen.printed else [])]
    listed = "\n".join(f"- {each}" for each in definitions)
    blocks, parts = [f"# {chosen.title}", f"```sh\n{command}\n```", listed], []
    for data, protocol in chosen.tasks:
        asked = ASKED["nas" if data in NAS else protocol]
        cells = [chosen.cells_of(data, protocol, method) for method in chosen.methods]
        rows = rows_of([[results[cell] for cell in seeds] for seeds in cells], protocol)
        printed = printed_rows(chosen.printed, data)
        blocks += [f"## {data}, {protocol}", asked, *result_blocks(protocol, rows, printed)]
        part = {"data": data, "protocol": protocol, "asked": asked}
        quoted = [asdict(row) for row in printed]
        parts.append({**part, "rows": [row.to_dict() for row in rows], "printed": quoted})
    corpus = Manifest.read(shipped_corpus()).digest
    told = {"name": name, "title": chosen.title, "command": command, "corpus": corpus}
    whole = {**told, "definitions": definitions, "parts": parts}
    directory.mkdir(parents=True, exist_ok=True)
    (directory / f"{name}.json").write_text(json.dumps(whole, indent=2) + "\n")
    (directory / f"{name}.md").write_text("\n\n".join(blocks) + "\n")
