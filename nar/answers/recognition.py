"""Recognition: which architecture a file of weights is of, by the shapes and names of the weights.

Graphs are not compared: a file of weights has none. Each answer says so.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from nar.base.errors import InvalidInputError
from nar.base.weight_files import weight_shapes
from nar.corpus.signatures import Match, Signatures, shipped_signatures
from nar.graphs.weights import Shape, Weights, weights_of

# Chosen: models that are named; a model has up to some tens of copies.
_SHOWN: Final = 4
# Shares of weights from which on a file is another model's with another head, or a part of a
# model. Chosen: a head or a vocabulary is a weight or two with a bias of some tens.
_ALIKE: Final = 0.8
_PART: Final = 0.98  # a part of a model lacks no weight of its own, whatever its head is
# Chosen: from half of the weights on, two models have most of a body in common.
_NEAR: Final = 0.5
# Chosen: models of one family have nearly all kinds of names.
_NAMED: Final = 0.9
# Chosen: fewer weights than a block has are in many models by chance.
_FEWEST: Final = 8
# How the weights of a file stand to those of the nearest architecture.
Relation = Literal["same", "head", "part", "near", "named", "unlike", "few"]
_COMPARED: Final = "the shapes and names of weights were compared, not graphs"


@dataclass(frozen=True, slots=True)
class Recognition:
    """What the weights of a file say.

    Attributes:
        relation: How they stand to those of the nearest architecture.
        matches: The nearest architectures, the nearest first.
        weights: Those of the file.
        sizes: Sizes that follow from them: ``12 layers, width 768``.
    """

    relation: Relation
    matches: Sequence[Match]
    weights: Weights
    sizes: str

    def text(self, name: str) -> str:
        """What is said, as a clause.

        Args:
            name: The nearest architecture, as it should be called.
        """
        total, adapter = sum(self.weights.counts.values()), self.weights.adapter
        what = f"{total:,} weight{'s' * (total != 1)}"
        if adapter is not None and adapter.is_alone:
            what = f"an adapter alone, {adapter}, of {what}"
        elif adapter is not None:
            what = f"{what} and an adapter, {adapter}"
        return f"{what}, {self._relation(name)} ({self.sizes}); {_COMPARED}"

    def _relation(self, name: str) -> str:
        if self.relation == "few":
            return "too few to say whose they are"
        if not self.matches:
            return "like those of no known architecture"
        best = self.matches[0]
        others = [each for each in best.models if each != name]
        more = f" (and {', '.join(others[:_SHOWN])})" if others else ""
        share = f"{100 * best.of_file:.0f}%"
        return {
            "same": f"the same shapes as {name}{more}",
            "head": f"{name}{more} with another head or vocabulary: {_changes(best)}",
            "part": f"a part of {name}{more}, {100 * best.of_model:.0f}% of its weights",
            "near": f"near {name}, which has {share} of their shapes",
            "named": f"named as in {name}, in other sizes",
            "unlike": f"like those of no known architecture; {name} has {share} of their shapes",
        }[self.relation]


def recognition(shapes: Mapping[str, Shape], signatures: Signatures) -> Recognition:
    """Which architecture some weights are of.

    Args:
        shapes: Shape of each weight by its name.
        signatures: Of the known architectures.
    """
    weights = weights_of(shapes)
    matches = signatures.nearest(weights) if weights.counts else []
    is_enough = sum(weights.counts.values()) >= _FEWEST
    relation = _relation(matches) if is_enough else "few"
    return Recognition(relation, matches, weights, sizes_text(shapes))


def _relation(matches: Sequence[Match]) -> Relation:
    if not matches:
        return "unlike"
    best = matches[0]
    if best.is_same:
        return "same"
    if min(best.of_file, best.of_model) >= _ALIKE and _has_other_head(best):
        return "head"
    if best.of_file >= _PART:
        return "part"
    if best.of_file >= _NEAR:
        return "near"
    return "named" if best.names >= _NAMED else "unlike"


def _has_other_head(match: Match) -> bool:
    """Whether shapes differ in their first extent alone, as heads and vocabularies do."""
    missing = Counter(shape[1:] for shape in match.missing for _ in range(match.missing[shape]))
    other = Counter(shape[1:] for shape in match.other for _ in range(match.other[shape]))
    return missing == other


def _changes(match: Match) -> str:
    by_rest = defaultdict[Shape, list[Shape]](list)
    for shape in match.missing:
        by_rest[shape[1:]].append(shape)
    pairs = [(shape, by_rest[shape[1:]][0]) for shape in match.other if by_rest[shape[1:]]]
    shown = sorted(pairs, key=lambda pair: -len(pair[0]))[:_SHOWN]
    return ", ".join(f"{_text(new)} in place of {_text(old)}" for new, old in shown)


def _text(shape: Shape) -> str:
    return "x".join(map(str, shape))


# A layer by its number: of a stack, or of a stage that is numbered itself.
_LAYER: Final = re.compile(r"^(.*?)\.(\d+)\.(?:(blocks?|layers?)\.(\d+)\.)?")


def sizes_text(shapes: Mapping[str, Shape]) -> str:
    """The sizes of a configuration that follow from names and shapes of weights.

    Example:
        >>> sizes_text({"wte.weight": (100, 8), "h.0.fc.weight": (8, 8), "h.1.fc.weight": (8, 8)})
        '2 layers, width 8, vocabulary 100'
        >>> sizes_text({f"layer{stage}.{layer}.w": (9,) for stage in (1, 2) for layer in (0, 1)})
        'stages of 2, 2 layers'
    """
    extents = Counter(shape[-1] for shape in shapes.values() if len(shape) == 2)
    tables = [
        shape[0]
        for name, shape in shapes.items()
        if len(shape) == 2 and re.search(r"(word|tok|wte|embed_tokens|shared)", name)
    ]
    said = (
        _layers_text(_stack_lengths(shapes)),
        f"width {extents.most_common(1)[0][0]}" if extents else "",
        f"vocabulary {max(tables)}" if tables else "",
    )
    return ", ".join(filter(None, said)) or "no sizes follow"


def _stack_lengths(names: Iterable[str]) -> list[int]:
    """How many layers the largest stack has, or each of its stages, in the order of their names."""
    stacks = defaultdict[str, set[str]](set)
    for name in names:
        if found := _LAYER.match(name):
            before, number, inside, layer = found.groups()
            stacks[f"{before}.{number}" if inside else before].add(layer or number)
    stages = defaultdict[str, list[int]](list)
    for before in sorted(stacks, key=_by_number):
        stages[before.rstrip("0123456789")].append(len(stacks[before]))
    return max(stages.values(), key=sum, default=[])


def _by_number(stage: str) -> tuple[str, int]:
    """Stages in the order of their numbers: the second before the tenth."""
    name = stage.rstrip("0123456789")
    return name, int(stage[len(name) :] or 0)


def _layers_text(lengths: Sequence[int]) -> str:
    if len(lengths) < 2:
        return "".join(f"{length} layer{'s' * (length > 1)}" for length in lengths)
    return f"stages of {', '.join(map(str, lengths))} layers"


def recognise_file(path: Path) -> Recognition:
    """Which architecture a file of weights is of.

    Args:
        path: A file of safetensors, a checkpoint of PyTorch, or an index of shards.

    Raises:
        InvalidInputError: It cannot be read, or NAR came without signatures.
    """
    try:
        shapes = weight_shapes(path)
    except (OSError, ValueError) as error:
        raise InvalidInputError(str(path), str(error)) from error
    signatures = shipped_signatures()
    if signatures is None:
        raise InvalidInputError(
            str(path), f"it holds {len(shapes)} weights, and NAR came without signatures to compare"
        )
    return recognition(shapes, signatures)
