"""Details: what capture saw of a model beside its graph, for a page, a design card and errors.

Widths, heads and masks, and the names of modules. They stay out of fingerprints and vectors: two
sizes of one design have other widths and one graph.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

# Columns of `Details.numbers`; see `OperatorDetails` for what each holds.
NUMBERS: Final = (
    "input_width",
    "output_width",
    "heads",
    "key_value_heads",
    "head_size",
    "mask",
    "window",
)
Mask = Literal["none", "causal", "constant", "learned", "computed"]
MASKS: Final[tuple[Mask, ...]] = ("none", "causal", "constant", "learned", "computed")
NOT_READ: Final = -1  # no size is below zero


@dataclass(frozen=True, slots=True)
class OperatorDetails:
    """What capture saw of one operator; None where it was not read.

    Attributes:
        path: The module that ran it: ``layers.3.self_attn.q_proj``; empty for the model itself.
        input_width: Of a layer with weights, the channels or features that it reads; of an
            embedding, its rows.
        output_width: Channels or features of its result.
        heads: Of attention, the heads of the query.
        key_value_heads: Of attention, the heads of key and value.
        head_size: Of attention, the width of the query and the key of one head.
        mask: Of attention. ``none``: every query reads every key. ``causal``: keys before it and
            its own. ``constant``: which keys is fixed, or stated with the input. ``learned``:
            weights are added to the scores, as positions are. ``computed``: what is added depends
            on the data.
        window: Of attention, how many keys a query may read at most, as its module states it; 0
            where all. Where a window looks both ways, some modules state one side.
    """

    path: str | None = None
    input_width: int | None = None
    output_width: int | None = None
    heads: int | None = None
    key_value_heads: int | None = None
    head_size: int | None = None
    mask: Mask | None = None
    window: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Details:
    """What capture saw of a model beside its graph. Nodes are those of the canonical graph.

    Attributes:
        numbers: Shape (nodes, len(NUMBERS)), int32, `NOT_READ` where a number was not read; a mask
            is its place in `MASKS`.
        paths: Distinct paths of modules, in the order of the nodes.
        places: Shape (nodes,), int32, the place of each node's path among ``paths``, or `NOT_READ`.
        inputs: Each input of the call that was captured: ``input_ids int 1x16``. The name is left
            out where there is none; the kind is ``float``, ``complex``, ``int`` or ``bool``; an
            extent that is not known is 0. Extents are those of the example.
        outputs: Each result, in the same form.
        unread: What could not be read of the model, as `nar.graphs.assumed.Unread.kinds` has it.

    Example:
        >>> from nar.capture import capture_module
        >>> import torch
        >>> details = capture_module(torch.nn.Linear(8, 2), torch.zeros(1, 8)).details
        >>> details.of(1).input_width, details.of(1).output_width, details.inputs
        (8, 2, ('input float 1x8',))
    """

    numbers: NDArray[np.int32]
    paths: tuple[str, ...]
    places: NDArray[np.int32]
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()

    @property
    def nodes(self) -> int:
        """Number of operators."""
        return len(self.places)

    def of(self, node: int) -> OperatorDetails:
        """What was seen of one operator."""
        place = int(self.places[node])
        read = dict(zip(NUMBERS, (int(number) for number in self.numbers[node]), strict=True))
        known = {name: None if number == NOT_READ else number for name, number in read.items()}
        mask = known.pop("mask")
        return OperatorDetails(
            path=None if place == NOT_READ else self.paths[place],
            mask=None if mask is None else MASKS[mask],
            **known,
        )

    def without_sizes(self) -> "Details":
        """What is true of the same design at any width: masks, paths and what was not read."""
        numbers = np.full_like(self.numbers, NOT_READ)
        kept = [NUMBERS.index(name) for name in ("mask", "window")]
        numbers[:, kept] = self.numbers[:, kept]
        return replace(self, numbers=numbers, inputs=(), outputs=())

    def __iter__(self) -> Iterator[OperatorDetails]:
        """What was seen of each operator, in the order of the graph."""
        return (self.of(node) for node in range(self.nodes))

    def __eq__(self, other: object) -> bool:
        """Same content for the same numbering."""
        return (
            isinstance(other, Details)
            and np.array_equal(self.numbers, other.numbers)
            and np.array_equal(self.places, other.places)
            and (self.paths, self.inputs, self.outputs, self.unread)
            == (other.paths, other.inputs, other.outputs, other.unread)
        )
