"""Is what is new also far? ``nar benchmark novelty --results results``.

Designs of families held out whole are told from held-out designs of the families that were learned
from, by nothing but the distance to the nearest learned design. The area under the ROC curve is the
chance that a new family's design is the farther of two.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from nar.corpus import Card
from nar.evaluation.benchmark import frozen
from nar.evaluation.benchmark.datasets import REAL, DataSet, load_dataset
from nar.evaluation.benchmark.protocols import Roles
from nar.evaluation.benchmark.splits import Role
from nar.evaluation.benchmark.tasks import PROTOCOLS, Task, make_task
from nar.evaluation.methods.registry import find_method
from nar.evaluation.reporting.markdown import markdown_table
from nar.evaluation.scoring.ranking import CHUNK_ROWS, Matrix, unit_rows
from nar.evaluation.scoring.roc import Area, Asked, pooled

METHODS: Final = ("size", "operators", "codes-1-presence", "default-no-unknown", "default")
_SAID: Final = (
    "A fifth of the families is held out whole, and of the others a tenth of the designs; neither "
    "is learned from. Area under the ROC curve: the chance that a design of a held-out family is "
    "farther from the nearest learned design than one of a family that was learned from (0.5: no "
    "better than a coin). {:,} new and {:,} known designs over {} seeds; 95%: bootstrap over whole "
    "families, 1,000 draws."
)
_COMMAND: Final = "nar benchmark novelty --results results"


def novelty_roles(unseen: Roles, distinct: Roles) -> dict[str, Role]:
    """Two frozen splits in one: the first holds out families, the other designs of the rest."""
    both: dict[tuple[Role, Role], Role] = {
        ("train", "train"): "train",
        ("train", "test"): "validation",
    }
    return {
        name: "test" if role == "test" else both.get((role, distinct[name]), "gallery")
        for name, role in unseen.items()
    }


def asked_of(cards: Sequence[Card], roles: Roles) -> Asked:
    """One architecture of each design that was not learned from: the first by name.

    It is new, or of a family that was learned from.
    """
    learned = [card for card in cards if roles[card.labels.name] == "train"]
    designs = {card.topology for card in learned}
    families = {card.labels.family for card in learned}
    first: dict[str, int] = {}
    for row in sorted(range(len(cards)), key=lambda row: cards[row].labels.name):
        card = cards[row]
        role, is_known = roles[card.labels.name], card.labels.family in families
        is_asked = role == "test" or (role == "validation" and is_known)
        if is_asked and card.topology not in designs:
            first.setdefault(card.topology, row)
    rows = sorted(first.values())
    is_new = np.array([roles[cards[row].labels.name] == "test" for row in rows], dtype=np.bool_)
    return Asked(
        np.array(rows, dtype=np.int64),
        is_new,
        tuple(cards[row].labels.family for row in rows),
    )


def distances(
    vectors: Matrix, rows: NDArray[np.int64], learned: NDArray[np.int64]
) -> NDArray[np.float64]:
    """1 - cosine of each row to the nearest learned one."""
    unit = unit_rows(vectors)
    others = unit[learned].T
    nearest = []
    for part in np.split(rows, range(CHUNK_ROWS, len(rows), CHUNK_ROWS)):
        scores = unit[part] @ others
        dense = scores if isinstance(scores, np.ndarray) else scores.toarray()
        nearest.append(dense.max(axis=1))
    return 1 - np.concatenate(nearest).astype(np.float64)


def measure(method: str, dataset: DataSet, seeds: Sequence[int] = frozen.SEEDS) -> Area:
    """Learn, embed and compare, with every seed."""
    table = frozen.read()
    measured: list[tuple[NDArray[np.float64], Asked]] = []
    for seed in seeds:
        roles = novelty_roles(
            frozen.roles_of(table, "unseen", seed), frozen.roles_of(table, "distinct", seed)
        )
        task = make_task("real/novelty", dataset, PROTOCOLS["family"], roles, seed=seed)
        measured.append(_measured(method, task, asked_of(dataset.cards, roles)))
    return pooled(method, measured)


def _measured(method: str, task: Task, asked: Asked) -> tuple[NDArray[np.float64], Asked]:
    return distances(find_method(method).embed(task), asked.rows, task.train), asked


def as_markdown(areas: Sequence[Area]) -> str:
    """The table with what it means and how to make it again."""
    titles = [find_method(each.method).title for each in areas]
    lines = [
        [title, f"{each.mean:.3f}", f"{each.low:.3f} to {each.high:.3f}"]
        for title, each in zip(titles, areas, strict=True)
    ]
    said = _SAID.format(areas[-1].new, areas[-1].known, len(frozen.SEEDS))
    title = "# Novelty: is what is new also far?"
    table = markdown_table(("method", "area", "95%"), lines)
    return "\n\n".join([title, f"```sh\n{_COMMAND}\n```", said, table]) + "\n"


def write_novelty(results: Path, cache_directory: Path, methods: Sequence[str] = METHODS) -> None:
    """Measure how well distance tells new families from known ones, and write the table.

    Args:
        results: Directory that gets ``novelty.md`` and ``novelty.json``.
        cache_directory: See `nar.evaluation.benchmark.datasets.load_dataset`.
        methods: Names of methods.
    """
    dataset = load_dataset(REAL, cache_directory)
    areas = [measure(method, dataset) for method in methods]
    results.mkdir(parents=True, exist_ok=True)
    told: Mapping[str, object] = {"command": _COMMAND, "areas": [asdict(each) for each in areas]}
    (results / "novelty.json").write_text(json.dumps(told, indent=2) + "\n")
    (results / "novelty.md").write_text(as_markdown(areas))
