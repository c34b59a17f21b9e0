"""Weights: the names and shapes of a model's weights, in the form in which they are compared.

Files name the same weights in many ways: wrappers put words before the names, adapters stand beside
the weights that they change, repeated layers bear numbers. What is left here is the same for all.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

Shape = tuple[int, ...]
# Words that wrappers put into a name, wherever they stand.
_WRAPPERS: Final = frozenset({
    "_checkpoint_wrapped_module", "_forward_module", "_fsdp_wrapped_module", "_orig_mod",
    "base_layer", "base_model",
})  # fmt: skip
# Ends of the two factors of an adapter: the first reads the input of the layer, the second writes.
_FACTORS: Final = (("lora_A", "lora_B"), ("lora_down", "lora_up"), ("lora.down", "lora.up"))
# What stands beside factors, and is no weight of the base.
_BESIDE: Final = re.compile(r"\.(alpha|dora_scale|lora_magnitude_vector)(\.|$)")
_NUMBERS: Final = re.compile(r"\d+")
# Parts of a name that are compared. Two are the layer and its weight: any prefix is before them.
_COMPARED: Final = 2
# Chosen: no model has a hundred thousand layers.
_MAX_DIGITS: Final = 5
# Shapes that are kept parsed: the corpus that ships has 18,463 in its two million lines.
_KEPT: Final = 32_768


@dataclass(frozen=True, slots=True)
class Adapter:
    """An unmerged adapter of low rank that a file holds, with or without its base.

    Attributes:
        rank: The inner width of most of its factors.
        on: The layers that it changes: ``query``, ``value``.
        is_alone: Whether the weights that it changes are not in the file.
    """

    rank: int
    on: tuple[str, ...]
    is_alone: bool

    def __str__(self) -> str:
        return f"LoRA r={self.rank} on {', '.join(self.on)}"


@dataclass(frozen=True, slots=True)
class Weights:
    """The weights of a model.

    Attributes:
        counts: How many weights have a kind of name and a shape. The kind is the last two parts of
            the name, with ``#`` for each number: ``conv#.weight``.
        depth: One more than the largest number that is a part of a name, such as that of the last
            layer; 0 without numbers. A part of a model may have fewer layers, and not more.
        adapter: See `Adapter`; None where there is none.
    """

    counts: Mapping[tuple[str, Shape], int]
    depth: int = 0
    adapter: Adapter | None = None

    @property
    def shapes(self) -> Counter[Shape]:
        """How many weights have each shape."""
        shapes: Counter[Shape] = Counter()
        for (_, shape), count in self.counts.items():
            shapes[shape] += count
        return shapes

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds of names."""
        return frozenset(kind for kind, _ in self.counts)

    def lines(self) -> list[str]:
        """The depth, and one text for each kind and shape: ``conv#.weight 64x3x7x7 1``.

        Example:
            >>> weights_of({"a.0.fc.weight": (2, 3), "a.1.fc.weight": (2, 3)}).lines()
            ['2', 'fc.weight 2x3 2']
        """
        rows = sorted((kind, shape, count) for (kind, shape), count in self.counts.items())
        texts = (f"{kind} {'x'.join(map(str, shape))} {count}" for kind, shape, count in rows)
        return [str(self.depth), *texts]

    @classmethod
    def of_lines(cls, lines: Sequence[str]) -> "Weights":
        """The weights that `lines` has written.

        Raises:
            ValueError: A line is none of its lines.
        """
        depth, *texts = lines
        rows = [text.rsplit(" ", 2) for text in texts]
        counts = {(kind, _shape_of(shape)): int(count) for kind, shape, count in rows}
        return cls(counts, int(depth))


@lru_cache(_KEPT)
def _shape_of(text: str) -> Shape:
    return tuple(map(int, text.split("x")))


def weights_of(shapes: Mapping[str, Shape]) -> Weights:
    """The weights of a model or a file, without what wrappers and adapters add to them.

    Scalars are left out, such as counts of batches: they tell nothing apart.

    Args:
        shapes: Shape of each weight by its name.
    """
    plain, adapter = _without_adapter(shapes)
    counts = Counter((_kind(name), tuple(shape)) for name, shape in plain.items() if shape)
    numbers = (int(part) for name in plain for part in name.split(".") if _is_number(part))
    return Weights(dict(counts), 1 + max(numbers, default=-1), adapter)


def _is_number(part: str) -> bool:
    """Whether a part of a name counts layers; longer digits are hashes or times."""
    return part.isascii() and part.isdigit() and len(part) <= _MAX_DIGITS


def _kind(name: str) -> str:
    parts = [part for part in name.split(".") if part not in _WRAPPERS]
    return _NUMBERS.sub("#", ".".join(parts[-_COMPARED:]))


def _without_adapter(shapes: Mapping[str, Shape]) -> tuple[Mapping[str, Shape], Adapter | None]:
    """The weights of the base, and the adapter beside them or alone.

    Of an adapter that is alone the shapes of the changed weights are left: those of its products.
    """
    factors = [name for name in shapes if any(part in name for pair in _FACTORS for part in pair)]
    if not factors:
        return shapes, None
    products = dict(_products(shapes, factors))
    rest = {
        name: shape
        for name, shape in shapes.items()
        if name not in set(factors) and not _BESIDE.search(name)
    }
    is_alone = not rest
    ranks = Counter(rank for _, rank in products.values())
    rank = ranks.most_common(1)[0][0] if ranks else min(min(shapes[each]) for each in factors)
    adapter = Adapter(rank, tuple(sorted({_layer(each) for each in factors})), is_alone)
    if is_alone:
        rest = {f"{layer}.weight": shape for layer, (shape, _) in products.items()}
    return rest, adapter


def _products(
    shapes: Mapping[str, Shape], factors: Iterable[str]
) -> Iterable[tuple[str, tuple[Shape, int]]]:
    """The layer that each pair of factors changes, with the shape of its weight, and the rank."""
    for name in factors:
        for first, second in _FACTORS:
            other = name.replace(first, second)
            if first in name and len(shapes[name]) >= 2 and len(shapes.get(other, ())) >= 2:
                rank, *inner = shapes[name]
                layer = name.partition(f".{first}")[0]
                yield layer, ((shapes[other][0], *inner), rank)


def _layer(name: str) -> str:
    """The layer that a factor belongs to."""
    before = min(name.find(f".{part}") for pair in _FACTORS for part in pair if part in name)
    words = [part for part in name[: max(before, 0)].split(".") if not part.isdigit()]
    return words[-1] if words else name
