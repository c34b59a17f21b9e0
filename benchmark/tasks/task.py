"""A task: one data set, split by one seed, as every method gets it, and all that it is asked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

import numpy as np

from benchmark.tasks import frozen
from benchmark.tasks.asking import (
    ASKING,
    Words,
    families,
    kin,
    member,
    original_name,
)
from benchmark.tasks.datasets import DATASETS, NAS, DataSet, load_dataset
from benchmark.tasks.protocols import NAS_PROTOCOL, PROTOCOLS, Protocol
from benchmark.tasks.questions import Numbers, Questions
from benchmark.tasks.splits import Role, Roles, reserve, split_paper
from nar.base.errors import InvalidInputError
from nar.corpus import Card
from nar.encoding.collecting import Targets
from nar.graphs.graph import ComputationalGraph
from nar.labels.families import UNKNOWN

Held = Literal["test", "validation"]


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """What is given to a method, and what it is asked.

    Attributes:
        name: Data set and split.
        seed: Of the split, and of whatever the method draws.
        graphs: All architectures. None says what it is called.
        train: Shape (learned,), rows that may be learned from.
        targets: Of the learned rows, in their order.
        asked: Protocol -> questions about all rows.
    """

    name: str
    seed: int
    graphs: tuple[ComputationalGraph, ...]
    train: Numbers
    targets: Targets
    asked: Mapping[str, Questions]

    def learned(self) -> list[ComputationalGraph]:
        """The graphs that may be learned from."""
        return [self.graphs[row] for row in self.train]


@dataclass(frozen=True, slots=True)
class Aims:
    """What is aimed at when a split is learned.

    Attributes:
        families: Who is alike.
        blocks: The coarse class.
        decoders: Who is alike by what it is for; None takes the families.
        trunks: Who is alike by what it stands on; None takes the families.
    """

    families: Words
    blocks: Words
    decoders: Words | None = None
    trunks: Words | None = None


def _printed_families(cards: Sequence[Card]) -> list[str]:
    """The class that the paper reads from a name; who has none is like nobody."""
    return [
        card.labels.name if card.paper_family == UNKNOWN else card.paper_family for card in cards
    ]


def _printed_blocks(cards: Sequence[Card]) -> list[str]:
    return [card.paper_block for card in cards]


def _blocks(cards: Sequence[Card]) -> list[str]:
    return [card.block for card in cards]


def _trunks(cards: Sequence[Card]) -> list[str]:
    return [card.labels.trunk for card in cards]


_OF_CODE: Final = Aims(kin, _blocks, families, _trunks)
# Splits that are learned otherwise than by the defining code.
_AIMS: Final[Mapping[str, Aims]] = {"paper": Aims(_printed_families, _printed_blocks)}
_OF_NAS: Final = Aims(kin, kin)
NAS_SPLIT: Final = "paper"


def splits_of(data: str) -> tuple[str, ...]:
    """The splits of a data set."""
    return (NAS_SPLIT,) if data in NAS else frozen.SPLITS


def protocols_of(data: str, split: str) -> Mapping[str, Protocol]:
    """What is asked of who learned a split of a data set, by name."""
    known = {"nas": NAS_PROTOCOL} if data in NAS else PROTOCOLS
    return {name: each for name, each in known.items() if each.split == split}


def find_protocol(data: str, name: str) -> Protocol:
    """The protocol of a name, for a data set.

    Raises:
        InvalidInputError: There is none.
    """
    known = {"nas": NAS_PROTOCOL} if data in NAS else PROTOCOLS
    if name not in known:
        wanted = ", ".join(known)
        raise InvalidInputError("protocol", f"wanted one of {wanted} for {data}, came {name!r}")
    return known[name]


def load_task(
    data: str, split: str, seed: int, *, cache_directory: Path, held: Held = "test"
) -> Task:
    """Read a task.

    Args:
        data: One of `benchmark.tasks.datasets.DATASETS`.
        split: One of `splits_of` it.
        seed: One of `benchmark.tasks.frozen.SEEDS`.
        cache_directory: See `load_dataset`.
        held: Who asks: the test items; or, to select a model, those held back for that, while the
            test items only answer.

    Raises:
        InvalidInputError: No such data set, split of it, or seed.
    """
    if data not in DATASETS:
        raise InvalidInputError("data", f"wanted one of {', '.join(DATASETS)}, came {data!r}")
    if split not in splits_of(data):
        wanted = ", ".join(splits_of(data))
        raise InvalidInputError("split", f"wanted one of {wanted} for {data}, came {split!r}")
    if seed not in frozen.SEEDS:
        wanted = ", ".join(map(str, frozen.SEEDS))
        raise InvalidInputError("seed", f"wanted one of {wanted}, came {seed}")
    dataset = load_dataset(data, cache_directory)
    if data in NAS:
        members = [member(card) for card in dataset.cards]
        roles = split_paper(members, reserve(members, families_share=0), seed)
    else:
        roles = _with_asking(dataset.cards, split, seed)
    return make_task(dataset, split, roles, seed=seed, held=held)


def make_task(
    dataset: DataSet, split: str, roles: Roles, *, seed: int, held: Held = "test"
) -> Task:
    """A task of a data set whose roles are given.

    Protocols whose questions have no answer in it are left out: a small data set asks less.
    """
    cards = dataset.cards
    train = _learned(cards, split, roles)
    aims = _OF_NAS if dataset.name in NAS else _AIMS.get(split, _OF_CODE)
    asking = roles if held == "test" else _for_validation(cards, split, roles)
    return Task(
        f"{dataset.name}/{split}",
        seed,
        dataset.graphs,
        np.array(train, dtype=np.int64),
        _targets(aims, cards, train),
        dict(_asked(cards, asking, protocols_of(dataset.name, split))),
    )


def _learned(cards: Sequence[Card], split: str, roles: Roles) -> list[int]:
    """The rows that are learned from: of no design that asks, but under the paper's own protocol.

    The ids are frozen, and capture is not: two designs may have become one since they were drawn.
    """
    asked = {card.topology for card in cards if roles[card.labels.name] in ("validation", "test")}
    return [
        row
        for row, card in enumerate(cards)
        if roles[card.labels.name] == "train" and (split == "paper" or card.topology not in asked)
    ]


def _targets(aims: Aims, cards: Sequence[Card], train: Sequence[int]) -> Targets:
    def of(words: Words) -> list[str]:
        named = words(cards)
        return [named[row] for row in train]

    decoders, trunks = (aims.decoders or aims.families), (aims.trunks or aims.families)
    return Targets.of(*map(of, (aims.blocks, aims.families, decoders, trunks)))


def _asked(
    cards: Sequence[Card], roles: Roles, protocols: Mapping[str, Protocol]
) -> list[tuple[str, Questions]]:
    asked = []
    for name, protocol in protocols.items():
        questions = protocol.questions(cards, roles)
        if questions.asked().size:
            asked.append((name, questions))
    return asked


def _with_asking(cards: Sequence[Card], split: str, seed: int) -> dict[str, Role]:
    """The frozen roles, and those of models that only ask, by their originals.

    Under ``unseen`` a changed model asks with its original's family, for that is held out. Else it
    asks with every seed; with what selects a model if its original does in any split. Whose graph
    is that of a learned design does not ask: it is no changed model but a known one.
    """
    roles = dict(frozen.shipped_roles(split, seed))
    selecting = frozen.selecting()
    learned = {card.topology for card in cards if roles.get(card.labels.name) == "train"}
    for card in cards:
        if card.labels.source in ASKING:
            original = original_name(card)
            role: Role = "validation" if original in selecting else "test"
            if split == "unseen":
                role = roles.get(original, "gallery")
            asks = role in ("test", "validation") and card.topology not in learned
            roles[card.labels.name] = role if asks else "gallery"
    return roles


def _for_validation(cards: Sequence[Card], split: str, roles: Roles) -> dict[str, Role]:
    """What selects a model asks, and the test items only answer.

    Under ``unseen`` a decoder that is tested elsewhere does not ask, though its encoder selects,
    nor the other way round.
    """
    as_asked: dict[Role, Role] = {"validation": "test", "test": "gallery"}
    asking = {name: as_asked.get(role, role) for name, role in roles.items()}
    if split != "unseen":
        return asking
    tested = {
        family
        for card in cards
        if roles[card.labels.name] != "validation" and card.labels.source not in ASKING
        for family in (card.labels.family, card.labels.backbone)
        if family
    }
    for card in cards:
        if asking[card.labels.name] == "test" and not tested.isdisjoint(
            (card.labels.family, card.labels.backbone)
        ):
            asking[card.labels.name] = "gallery"
    return asking
