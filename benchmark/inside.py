"""What it is worth that named models hold models of other families.

``python -m benchmark inside --results results``. Under ``unseen`` a family is held out with all
that is composed on one of its members. A named model may hold a model of another family, too: a
language model in one of images and texts. It is held out with its own family alone, so that an
encoder may learn blocks of families that it is asked about. Here the encoder learns once more
without those.
The other way round, a model that asks may hold a family that was learned: the backbone of a
detector. What such queries reach is set beside the others.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from benchmark.methods.registry import find_method
from benchmark.reporting.markdown import markdown_table
from benchmark.scoring.evaluate import score
from benchmark.scoring.metrics import Values
from benchmark.scoring.ranking import rank
from benchmark.tasks.datasets import REAL, DataSet, load_dataset
from benchmark.tasks.frozen import SEEDS
from benchmark.tasks.task import Task, load_task
from nar.corpus import Card
from nar.labels.families import family_of
from nar.zoo.sources.timm import timm_family
from nar.zoo.sources.transformers.configs import default_config, parts

METHOD: Final = "default"
SPLIT: Final = "unseen"
PROTOCOL: Final = "unseen-named"
METRIC: Final = "map@20"
_LIBRARY: Final = "transformers"
# Settings that name a model of timm, by the type of the configuration.
_OF_TIMM: Final = {"timm_backbone": "backbone", "timm_wrapper": "architecture"}
_COMMAND: Final = "python -m benchmark inside --results results"


@dataclass(frozen=True, slots=True, eq=False)
class InsideOfSeed:
    """Held-out families inside learned models, for one seed.

    Attributes:
        families: Held-out families that a learned model holds.
        models: How many learned models hold one.
        asks: Shape (queries,), whether a query is of a held-out family that a learned model holds.
        on_learned: Shape (queries,), whether a query holds a family that was learned.
        learned: Shape (queries,), what each reaches as the benchmark learns.
        left_out: The same where models that hold such families are not learned.
    """

    families: frozenset[str]
    models: int
    asks: NDArray[np.bool_]
    on_learned: NDArray[np.bool_]
    learned: Values
    left_out: Values


def families_inside(model_type: str) -> frozenset[str]:
    """Families of the models that a type of transformers holds, by its settings.

    Example:
        >>> sorted(families_inside("llava"))
        ['clip', 'llama']
    """
    own = family_of(_LIBRARY, model_type)
    return frozenset(_families_of(parts(default_config(model_type)))) - {own}


def write_inside(directory: Path, cache_directory: Path) -> None:
    """Learn every seed twice, and write the page.

    Args:
        directory: Gets ``inside.md``.
        cache_directory: See `benchmark.tasks.datasets.load_dataset`.
    """
    dataset = load_dataset(REAL, cache_directory)
    held = _held_by(dataset)
    seeds = [_measured(dataset, held, seed, cache_directory) for seed in SEEDS]
    (directory / "inside.md").write_text(_page(seeds), encoding="utf-8")


def _families_of(configs: Iterator[Any]) -> Iterator[str]:
    for config in configs:
        kind = config.model_type
        if kind in _OF_TIMM:
            yield timm_family(getattr(config, _OF_TIMM[kind]))
        elif kind:
            yield family_of(_LIBRARY, kind)


def _held_by(dataset: DataSet) -> Mapping[int, frozenset[str]]:
    """Families inside each named model that holds one, by its row."""
    of_type: dict[str, frozenset[str]] = {}
    held: dict[int, frozenset[str]] = {}
    for row, card in enumerate(dataset.cards):
        if card.labels.source == _LIBRARY:
            name = _model_type(card)
            if name not in of_type:
                of_type[name] = families_inside(name)
            held[row] = of_type[name] - {card.labels.family}
    return {row: families for row, families in held.items() if families}


def _model_type(card: Card) -> str:
    """``llava`` of ``transformers:llava/LlavaModel@llava-1.5-7b-hf``."""
    return card.labels.name.partition(":")[2].partition("/")[0]


def _measured(
    dataset: DataSet, held: Mapping[int, frozenset[str]], seed: int, cache_directory: Path
) -> InsideOfSeed:
    task = load_task(REAL, SPLIT, seed, cache_directory=cache_directory)
    asked = task.asked[PROTOCOL]
    asking = {asked.cluster[item] for item in asked.asked()}
    holders = [row for row in task.train.tolist() if held.get(row, frozenset()) & asking]
    families = frozenset().union(*(held[row] for row in holders)) & asking
    learned, left_out = (_reached(each) for each in (task, _without(task, holders)))
    is_inside = np.array([asked.cluster[item] in families for item in asked.asked()])
    on_learned = _on_learned(dataset, held, task)
    return InsideOfSeed(families, len(holders), is_inside, on_learned, learned, left_out)


def _on_learned(
    dataset: DataSet, held: Mapping[int, frozenset[str]], task: Task
) -> NDArray[np.bool_]:
    """Whether each query holds a family that was learned, alone or in a composed model."""
    labels = [card.labels for card in dataset.cards]
    seen = {half for row in task.train for half in (labels[row].family, labels[row].backbone)}
    inside = [
        held.get(item, frozenset()) | {labels[item].backbone}
        for item in task.asked[PROTOCOL].asked().tolist()
    ]
    return np.array([bool((families - {""}) & seen) for families in inside])


def _without(task: Task, rows: Collection[int]) -> Task:
    """The same task, with some rows not learned from."""
    kept = np.flatnonzero(~np.isin(task.train, list(rows)))
    return replace(task, train=task.train[kept], targets=task.targets.take(kept))


def _reached(task: Task) -> Values:
    """What every query reaches: shape (queries,)."""
    method, asked = find_method(METHOD), task.asked[PROTOCOL]
    vectors = method.embed(task)
    return score(rank(vectors, asked, method.weights(asked.by)), asked).values[METRIC]


def _page(seeds: Sequence[InsideOfSeed]) -> str:
    return f"""# Models that hold a model of another family

```sh
{_COMMAND}
```

Under `unseen` a named model that holds a model of another family (by the settings of transformers:
the language model of LLaVA, the backbone of DETR) is held out with its own family alone. NAR
default, MAP@20 of `{PROTOCOL}`: as the benchmark learns, and with those of the learned models left
out that hold a family which asks.

{_left_out(seeds)}

The other way round: models that ask, whose own family is held out, and that hold a family which was
learned, such as a detector on a known backbone. As the benchmark learns:

{_beside_the_others(seeds)}
"""


def _left_out(seeds: Sequence[InsideOfSeed]) -> str:
    header = ["seed", "families", "models", "queries"]
    for of in ("of these families", "of others", "all"):
        header += [f"{of}, learned", "left out"]
    counts = [[str(len(one.families)), str(one.models), f"{one.asks.sum():,}"] for one in seeds]
    means = [
        [
            _mean(values[rows])
            for rows in (one.asks, ~one.asks, slice(None))
            for values in (one.learned, one.left_out)
        ]
        for one in seeds
    ]
    return _by_seed(header, counts, means)


def _beside_the_others(seeds: Sequence[InsideOfSeed]) -> str:
    header = ["seed", "queries", "of them hold a learned family", "they reach", "the others"]
    counts = [[f"{one.asks.size:,}", f"{one.on_learned.sum():,}"] for one in seeds]
    means = [
        [_mean(one.learned[rows]) for rows in (one.on_learned, ~one.on_learned)] for one in seeds
    ]
    return _by_seed(header, counts, means)


def _by_seed(
    header: Sequence[str], counts: Sequence[Sequence[str]], means: Sequence[Sequence[str]]
) -> str:
    """A table with a row a seed, and a last one with the mean of each column of means."""
    rows = [
        [str(seed), *counted, *mean]
        for seed, counted, mean in zip(SEEDS, counts, means, strict=True)
    ]
    every = [_mean([float(value) for value in column]) for column in zip(*means, strict=True)]
    return markdown_table(header, [*rows, ["mean", *("" for _ in counts[0]), *every]])


def _mean(values: Sequence[float] | Values) -> str:
    return f"{np.mean(values):.3f}"
