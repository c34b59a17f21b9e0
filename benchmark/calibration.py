"""What novelty is measured by: ``python -m benchmark calibrate --results results``.

The designs of a corpus are near copies of each other; what people bring is not. So the shipped
atlas compares a query with three groups of the benchmark, a third each:

- new designs of known families: held out under the protocol `novelty`, by its cells of NAR default;
- edits of known models, and parts of them: they ask the atlas itself.

Designs of families never seen, of the same cells, tell what a high novelty is worth.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from benchmark.novelty import asked_with_distances
from benchmark.reporting.markdown import markdown_table
from benchmark.scoring.ranking import unit_rows
from benchmark.tasks import frozen
from benchmark.tasks.asking import EDITS, PARTS
from benchmark.tasks.datasets import REAL, DataSet, load_dataset
from nar.answers.atlas import AtlasContent, keep_atlas_novelty, read_atlas, shipped_atlas
from nar.answers.novelty import Novelty

Distances = NDArray[np.float64]

METHOD: Final = "default"
NEW_DESIGNS: Final = "new designs of known families"
NEW_FAMILIES: Final = "designs of families never seen"
# A group counts by so many quantiles, however many designs it has.
_QUANTILES: Final = 333
_CHUNK_ROWS: Final = 512
_SHARES: Final = (50, 75, 90, 95)
_TITLE: Final = "# What a novelty is worth"
_COMMAND: Final = "python -m benchmark calibrate --results results"
_INTRODUCTION: Final = (
    "The novelty of an answer says how many of a hundred designs of known families have a nearer "
    "relative. A third of these are held-out designs, a third edits of known models, a third parts "
    "of them. The last row is no part of the measure: how new do designs read of whose family "
    "nothing was learned? Held-out designs ask encoders that were trained without them (the cells "
    "of NAR default, `unseen`, five seeds); edits and parts ask the shipped atlas, which has their "
    "originals."
)


def held_out_distances(
    directory: Path, seeds: Sequence[int] = frozen.SEEDS
) -> dict[str, Distances]:
    """How far held-out designs are from what was learned, by the cells of NAR default.

    Raises:
        CorpusError: A cell is missing or damaged.
    """
    pairs = [asked_with_distances(METHOD, directory, seed) for seed in seeds]
    distances = np.concatenate([farther for farther, _ in pairs])
    is_new = np.concatenate([asked.is_new for _, asked in pairs])
    return {NEW_DESIGNS: distances[~is_new], NEW_FAMILIES: distances[is_new]}


def changed_distances(content: AtlasContent, dataset: DataSet) -> dict[str, Distances]:
    """How far changed models are from the nearest architecture of an atlas.

    A change whose design the atlas has is none.
    """
    known = {row.topology for row in content.rows}
    every = np.stack([row.embedding for row in content.rows])
    embedder = content.embedder
    distances = {}
    for source in (EDITS, PARTS):
        graphs = [
            graph
            for card, graph in zip(dataset.cards, dataset.graphs, strict=True)
            if card.labels.source == source and card.topology not in known
        ]
        asking = unit_rows(embedder.embed(graphs) * embedder.weights("design"))
        distances[f"{source} of known models"] = _nearest(np.asarray(asking), every)
    return distances


def _nearest(asking: NDArray[np.float32], every: NDArray[np.float32]) -> Distances:
    parts = np.array_split(asking, -(-len(asking) // _CHUNK_ROWS))
    nearest = np.concatenate([(part @ every.T).max(axis=1) for part in parts])
    return 1 - nearest.astype(np.float64)


def pooled(groups: Mapping[str, Distances]) -> Novelty:
    """The distances of all groups as one measure; every group counts the same.

    Example:
        >>> both = pooled({"near": np.array([0.1]), "far": np.array([0.2, 0.4])})
        >>> both.percentile(0.85), both.percentile(0.5)
        (50.0, 100.0)
    """
    levels = (np.arange(_QUANTILES) + 0.5) / _QUANTILES
    quantiles = [np.quantile(each, levels) for each in groups.values()]
    return Novelty(np.sort(np.concatenate(quantiles)).astype(np.float32))


def calibrate_atlas(directory: Path, results: Path) -> None:
    """Measure the shipped atlas by the benchmark, and keep that beside its vectors.

    Args:
        directory: Of the evaluation.
        results: Directory that gets ``calibration.md``: what the novelty of each group is.

    Raises:
        CorpusError: A cell of NAR default is missing, or there is no atlas.
    """
    atlas = shipped_atlas()
    content = read_atlas(atlas)
    held_out = held_out_distances(directory)
    new_families = held_out.pop(NEW_FAMILIES)
    groups = {**held_out, **changed_distances(content, load_dataset(REAL, directory))}
    novelty = pooled(groups)
    keep_atlas_novelty(atlas, novelty, encoder=content.embedder.fingerprint)
    blocks = [_TITLE, f"```sh\n{_COMMAND}\n```", _INTRODUCTION]
    blocks.append(_table(novelty, {**groups, NEW_FAMILIES: new_families}))
    results.mkdir(parents=True, exist_ok=True)
    (results / "calibration.md").write_text("\n\n".join(blocks) + "\n")


def _table(novelty: Novelty, groups: Mapping[str, Distances]) -> str:
    lines = []
    for name, distances in groups.items():
        reached = np.array([novelty.percentile(1 - each) for each in distances])
        shares = (f"{(reached >= least).mean():.2f}" for least in _SHARES)
        lines.append([name, f"{len(reached):,}", f"{np.median(reached):.0f}", *shares])
    header = ("who asks", "designs", "median novelty", *(f"{least} or more" for least in _SHARES))
    return markdown_table(header, lines)
