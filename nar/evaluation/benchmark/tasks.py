"""A task: one data set under one protocol and seed, as every method gets it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

import numpy as np

from nar.corpus import Card
from nar.encoding.targets import Targets
from nar.errors import InvalidInputError
from nar.evaluation.benchmark import frozen
from nar.evaluation.benchmark.datasets import DATASETS, NAS, REAL, REWRITES, DataSet, load_dataset
from nar.evaluation.benchmark.protocols import (
    Roles,
    decoder_questions,
    distinct_questions,
    family_questions,
    kin,
    member,
    paper_questions,
    rewrite_questions,
    rewrite_roles,
    rewritten_design_questions,
    twin_questions,
)
from nar.evaluation.benchmark.questions import Numbers, Questions
from nar.evaluation.benchmark.splits import Role, split_paper
from nar.graph import ComputationalGraph
from nar.labels.paper_labels import UNKNOWN
from nar.labels.twins import twins

Held = Literal["test", "validation"]
Words = Callable[[Sequence[Card]], Sequence[str]]
Ask = Callable[[Sequence[Card], Roles], Questions]


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """What is given to a method, and what it is asked.

    Attributes:
        name: Data set and protocol.
        seed: Of the split, and of whatever the method draws.
        graphs: All architectures. None says what it is called.
        train: Shape (learned,), rows that may be learned from.
        targets: Of the learned rows, in their order.
        asked: About all rows.
    """

    name: str
    seed: int
    graphs: tuple[ComputationalGraph, ...]
    train: Numbers
    targets: Targets
    asked: Questions

    def learned(self) -> list[ComputationalGraph]:
        """The graphs that may be learned from."""
        return [self.graphs[row] for row in self.train]


@dataclass(frozen=True, slots=True)
class Protocol:
    """How a data set is split, what is learned, and what is asked.

    Attributes:
        split: Column of the frozen roles; rewrites are split by what they are.
        families: Who is alike when learning.
        blocks: The coarse class when learning.
        ask: The questions.
    """

    split: str
    families: Words
    blocks: Words
    ask: Ask


def _printed_families(cards: Sequence[Card]) -> list[str]:
    """The class that the paper reads from a name; who has none is like nobody."""
    return [
        card.labels.name if card.paper_family == UNKNOWN else card.paper_family for card in cards
    ]


def _printed_blocks(cards: Sequence[Card]) -> list[str]:
    return [card.paper_block for card in cards]


def _blocks(cards: Sequence[Card]) -> list[str]:
    return [card.block for card in cards]


def _ask_twins(cards: Sequence[Card], roles: Roles) -> Questions:
    asking = [group for group in twins() if any(roles.get(m) == "test" for m in group.members)]
    return twin_questions(cards, asking)


PROTOCOLS: Final[Mapping[str, Protocol]] = {
    "paper": Protocol("paper", _printed_families, _printed_blocks, paper_questions),
    "family": Protocol("paper", kin, _blocks, family_questions),
    "distinct": Protocol("distinct", kin, _blocks, distinct_questions),
    "unseen": Protocol("unseen", kin, _blocks, distinct_questions),
    "twins": Protocol("twins", kin, _blocks, _ask_twins),
    "distinct-decoder": Protocol("distinct", kin, _blocks, decoder_questions),
    "unseen-decoder": Protocol("unseen", kin, _blocks, decoder_questions),
    REWRITES: Protocol(REWRITES, kin, _blocks, rewrite_questions),
    "rewrites-design": Protocol(REWRITES, kin, _blocks, rewritten_design_questions),
}
# The networks of the NAS space have no names to read and no families but the ten classes.
_OF_CLASSES: Final = Protocol("paper", kin, kin, family_questions)


def protocols_of(data: str) -> tuple[str, ...]:
    """The protocols that a data set is asked under."""
    if data in NAS:
        return ("paper",)
    are_rewritten = data == REWRITES
    return tuple(
        name for name, each in PROTOCOLS.items() if (each.split == REWRITES) == are_rewritten
    )


def load_task(
    data: str, protocol: str, seed: int, *, cache_directory: Path, held: Held = "test"
) -> Task:
    """Read a task.

    Args:
        data: One of `nar.evaluation.benchmark.datasets.DATASETS`.
        protocol: One of `protocols_of` it.
        seed: One of `nar.evaluation.benchmark.frozen.SEEDS`.
        cache_directory: See `load_dataset`.
        held: Who asks: the test items; or, to select a model, those held back for that, while the
            test items only answer.

    Raises:
        InvalidInputError: No such data set, protocol of it, or seed.
    """
    if data not in DATASETS:
        raise InvalidInputError("data", f"wanted one of {', '.join(DATASETS)}, came {data!r}")
    if protocol not in protocols_of(data):
        wanted = ", ".join(protocols_of(data))
        raise InvalidInputError("protocol", f"wanted one of {wanted} for {data}, came {protocol!r}")
    if seed not in frozen.SEEDS:
        wanted = ", ".join(map(str, frozen.SEEDS))
        raise InvalidInputError("seed", f"wanted one of {wanted}, came {seed}")
    dataset = load_dataset(data, cache_directory)
    chosen = _OF_CLASSES if data in NAS else PROTOCOLS[protocol]
    roles = _roles(dataset, chosen.split, seed)
    return make_task(f"{data}/{protocol}", dataset, chosen, roles, seed=seed, held=held)


def make_task(
    name: str, dataset: DataSet, protocol: Protocol, roles: Roles, *, seed: int, held: Held = "test"
) -> Task:
    """A task of a data set whose roles are given."""
    cards = dataset.cards
    train = [row for row, card in enumerate(cards) if roles[card.labels.name] == "train"]
    words = (protocol.blocks(cards), protocol.families(cards))
    return Task(
        name,
        seed,
        dataset.graphs,
        np.array(train, dtype=np.int64),
        Targets.of(*([each[row] for row in train] for each in words)),
        protocol.ask(cards, roles if held == "test" else _for_validation(roles)),
    )


def _roles(dataset: DataSet, split: str, seed: int) -> Roles:
    if dataset.name == REAL:
        return frozen.roles_of(frozen.read(), split, seed)
    if dataset.name == REWRITES:
        return rewrite_roles(dataset.cards)
    return split_paper([member(card) for card in dataset.cards], seed)


def _for_validation(roles: Roles) -> dict[str, Role]:
    as_asked: dict[Role, Role] = {"validation": "test", "test": "gallery"}
    return {name: as_asked.get(role, role) for name, role in roles.items()}
