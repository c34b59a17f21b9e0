"""How well files of weights are recognised: models of the corpus under what people do to weights.

Nothing of a graph is compared: the weights of each model are built without data, changed, and
looked for among the signatures that NAR ships.
"""

import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from benchmark.reporting.markdown import keep_page, markdown_table
from nar.answers.recognition import Relation, recognition
from nar.corpus.signatures import Signatures
from nar.graphs.weights import Shape, weights_of

PAGE: Final = "recognised.md"
Shapes = Mapping[str, Shape]
# What wrappers and other programs put before names.
_PREFIXES: Final = (
    "module.", "model.", "net.", "_orig_mod.", "model.diffusion_model.", "student.backbone.",
    "encoder_q.", "x1.y2.", "base_model.model.",
)  # fmt: skip
_CLASSES: Final = (2, 3, 7, 10, 37, 100, 101, 200, 555)
_RANKS: Final = (4, 8, 16, 64)
# Chosen: models of the page whose right name was not first; further ones are counted.
_SHOWN: Final = 25


# Tier of a draw -> what its models are called on the page.
DRAWS: Final = {"named": "named models", "": "models of the whole corpus"}
_INTRODUCTION: Final = (
    "The weights of models of the corpus, drawn by a seed, are built without data, changed as "
    "people change them, and looked for among those of {size} architectures by the names and "
    "shapes of their weights alone: `nar search model.safetensors`. A name is right where its "
    "weights have the shapes of the model that was changed: of two models that differ in an "
    "activation alone, each is right. "
    "**Said as it is**: a prefix or a merged adapter gives the same shapes, a half is a part, "
    "another head or vocabulary is another head. **One answer to a part** may name several "
    "architectures, where each has all of its weights and they differ in a head alone, in at most "
    "a twentieth of their weights: the part cannot tell them apart. The models that are drawn are "
    "in the signatures: nothing is said here of models that NAR does not know."
)


def _prefixed(shapes: Shapes, chance: random.Random) -> Shapes:
    prefix = chance.choice(_PREFIXES)
    return {prefix + name: shape for name, shape in shapes.items()}


def _half(shapes: Shapes, chance: random.Random) -> Shapes:
    """The first or the second half, as one of two shards has it."""
    rows = list(shapes.items())
    middle = len(rows) // 2
    return dict(rows[:middle] if chance.random() < 1 / 2 else rows[middle:])


def _some(shapes: Shapes, chance: random.Random) -> Shapes:
    """Half of the weights, drawn."""
    rows = list(shapes.items())
    return dict(chance.sample(rows, len(rows) // 2))


def _other_head(shapes: Shapes, chance: random.Random) -> Shapes:
    """The last layer with weights of two axes writes another number of classes."""
    last = [name for name, shape in shapes.items() if len(shape) == 2][-1:] or list(shapes)[-1:]
    layer, classes = last[0].rpartition(".")[0], chance.choice(_CLASSES)
    return {
        name: (classes, *shape[1:]) if shape and name.rpartition(".")[0] == layer else shape
        for name, shape in shapes.items()
    }


def _other_vocabulary(shapes: Shapes, chance: random.Random) -> Shapes:
    """The largest table has another number of rows, and so has what reads it back."""
    tables = [name for name, shape in shapes.items() if len(shape) == 2]
    if not tables:
        return _other_head(shapes, chance)
    rows = shapes[max(tables, key=lambda name: shapes[name][0])][0]
    other = chance.randint(100, 300_000)
    return {
        name: (other, *shape[1:]) if shape[:1] == (rows,) else shape
        for name, shape in shapes.items()
    }


def _linears(shapes: Shapes, chance: random.Random) -> list[str]:
    """The layers of one or two kinds, such as the queries and values of all blocks."""
    layers = [
        name.removesuffix(".weight")
        for name, shape in shapes.items()
        if len(shape) == 2 and name.endswith(".weight")
    ]
    kinds = sorted({layer.rpartition(".")[2] for layer in layers})
    chosen = chance.sample(kinds, min(2, len(kinds)))
    return [layer for layer in layers if layer.rpartition(".")[2] in chosen]


def _factors(shapes: Shapes, layers: Sequence[str], rank: int) -> dict[str, Shape]:
    factors: dict[str, Shape] = {}
    for layer in layers:
        rows, columns = shapes[f"{layer}.weight"]
        factors[f"base_model.model.{layer}.lora_A.default.weight"] = (rank, columns)
        factors[f"base_model.model.{layer}.lora_B.default.weight"] = (rows, rank)
    return factors


def _adapted(shapes: Shapes, chance: random.Random, *, is_alone: bool = False) -> Shapes:
    """With an adapter of low rank that is not merged, or the adapter alone."""
    layers = _linears(shapes, chance)
    factors = _factors(shapes, layers, chance.choice(_RANKS))
    if is_alone:
        return factors
    adapted = set(layers)
    base = {f"base_model.model.{_wrapped(name, adapted)}": shape for name, shape in shapes.items()}
    return base | factors


def _wrapped(name: str, adapted: set[str]) -> str:
    layer, _, weight = name.rpartition(".")
    return f"{layer}.base_layer.{weight}" if layer in adapted else name


def _merged(shapes: Shapes, _chance: random.Random) -> Shapes:
    """An adapter that is merged leaves the weights as they were."""
    return {f"base_model.model.{name}": shape for name, shape in shapes.items()}


@dataclass(frozen=True, slots=True)
class Change:
    """What is done to the weights of a model.

    Attributes:
        name: What it is called.
        apply: Makes the changed shapes.
        relation: What should be said of them.
        is_counted: Whether it is in the sum.
    """

    name: str
    apply: Callable[[Shapes, random.Random], Shapes]
    relation: Relation
    is_counted: bool = True


CHANGES: Final = (
    Change("another prefix", _prefixed, "same"),
    Change("first or second half", _half, "part"),
    Change("half, drawn", _some, "part"),
    Change("another head", _other_head, "head"),
    Change("another vocabulary", _other_vocabulary, "head"),
    Change("merged LoRA", _merged, "same"),
    Change("unmerged LoRA", _adapted, "same"),
    Change("LoRA alone", partial(_adapted, is_alone=True), "part", is_counted=False),
)


@dataclass(frozen=True, slots=True)
class Asked:
    """One question.

    Attributes:
        model: The model whose weights were changed.
        change: What was done to them.
        place: Place of the first right answer, from 1; 0 where none of five is right.
        first: The first answer.
        relation: What was said of it.
    """

    model: str
    change: Change
    place: int
    first: str
    relation: str


def names_in(order: Sequence[tuple[str, str]], tier: str, seed: int) -> list[str]:
    """The names of one tier of a corpus, in the order of a seed.

    Args:
        order: Name and tier of each architecture.
        tier: Named, swept, composed; empty for all.
        seed: Shuffles them.
    """
    names = sorted(name for name, own in order if tier in ("", own))
    random.Random(seed).shuffle(names)
    return names


def distinct(built: Iterable[tuple[str, Shapes]], models: int) -> dict[str, Shapes]:
    """The first models whose weights have different shapes.

    Args:
        built: Shape of each weight by its name, for each model.
        models: How many at most.
    """
    chosen: dict[tuple[Shape, ...], tuple[str, Shapes]] = {}
    for name, shapes in built:
        chosen.setdefault(tuple(sorted(shapes.values())), (name, shapes))
        if len(chosen) == models:
            break
    return dict(chosen.values())


def ask(models: Mapping[str, Shapes], signatures: Signatures, seed: int = 0) -> list[Asked]:
    """Change the weights of each model in each way, and look for them.

    Args:
        models: Shape of each weight by its name, for each model of the signatures.
        signatures: What is asked.
        seed: Draws prefixes, halves, sizes and layers.
    """
    chance, asked = random.Random(seed), []
    for model, shapes in models.items():
        right = {
            name
            for match in signatures.nearest(weights_of(shapes), 50)
            if match.is_same
            for name in match.models
        }
        for change in CHANGES:
            changed = change.apply(shapes, chance)
            if not changed:
                continue
            found = recognition(changed, signatures)
            hits = [bool(right & set(match.models)) for match in found.matches]
            place = hits.index(True) + 1 if any(hits) else 0
            first = found.matches[0].models[0] if found.matches else "-"
            asked.append(Asked(model, change, place, first, found.relation))
    return asked


def as_markdown(asked: Mapping[str, Sequence[Asked]], size: int) -> str:
    """The page of what was found.

    Args:
        asked: What was asked of the models of each draw; a draw is named as its models are.
        size: Architectures that are known.
    """
    sections = [section for models, one in asked.items() for section in _of_draw(models, one)]
    command = "```sh\npython -m benchmark recognised --results results\n```"
    text = _INTRODUCTION.format(size=f"{size:,}")
    return "\n\n".join(["# Which architecture a file of weights is of", text, command, *sections])


def _of_draw(models: str, asked: Sequence[Asked]) -> list[str]:
    head = ["weights", "questions", "right first", "right in five", "said as it is"]
    rows = [[each.name, *_shares([one for one in asked if one.change == each])] for each in CHANGES]
    counted = [one for one in asked if one.change.is_counted]
    rows.append(["all but LoRA alone", *_shares(counted)])
    wrong = [one for one in counted if one.place != 1]
    of_pairs = Counter((one.model, one.first) for one in wrong)
    missed = [[model, first, str(times)] for (model, first), times in of_pairs.most_common(_SHOWN)]
    return [
        f"## {len({one.model for one in asked})} {models}",
        markdown_table(head, rows),
        f"Of {len(counted):,} questions {len(wrong)} were not right at first; the pairs that came "
        "most often:",
        markdown_table(["model", "came first", "times"], missed) + "\n",
    ]


def _shares(asked: Sequence[Asked]) -> list[str]:
    total = max(len(asked), 1)
    first = sum(one.place == 1 for one in asked) / total
    in_five = sum(one.place > 0 for one in asked) / total
    said = sum(one.relation == one.change.relation for one in asked) / total
    return [str(len(asked)), f"{first:.3f}", f"{in_five:.3f}", f"{said:.3f}"]


def write_page(results: Path, text: str) -> None:
    """Write the page."""
    keep_page(results, PAGE, text)
