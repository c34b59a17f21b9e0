"""Frozen ids: which architectures the benchmark is made of, and the role of each in every split.

The file is part of the repository, so that every method, now and later, is asked the same
questions. ``python -m benchmark freeze TARGET`` draws it anew from the shipped corpus: a decision.
"""

from collections.abc import Iterator, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from benchmark.editing.attempts import model_names as changed_names
from benchmark.rewriting.attempts import model_names as rewritten_names
from benchmark.tasks.asking import member
from benchmark.tasks.splits import (
    Member,
    Reserved,
    Role,
    Roles,
    capped,
    reserve,
    split_copies,
    split_distinct,
    split_paper,
    split_unseen,
)
from nar.base.errors import CorpusError
from nar.base.files import write_whole
from nar.base.workspace import package_path
from nar.corpus import Card, Corpus, shipped_corpus
from nar.labels.lineage import twins

SEEDS: Final = (0, 1, 2, 3, 4)
SPLITS: Final = ("paper", "distinct", "unseen", "copies")
FILE: Final = "real.parquet"


def draw(cards: Sequence[Card]) -> pa.Table:
    """The members of the benchmark and their roles: a column a split and seed, a row a member."""
    members = [member(card) for card in without_aliases(cards)]
    chosen = capped(members, always=_asked_by_name())
    reserved = reserve(chosen, [group.members for group in twins()])
    names = [each.name for each in chosen]
    columns: dict[str, list[str]] = {"name": names}
    for split in SPLITS:
        for seed in SEEDS:
            roles = _roles(split, chosen, reserved, seed)
            columns[column(split, seed)] = [roles[name] for name in names]
    return pa.table(columns)


def without_aliases(cards: Sequence[Card]) -> Iterator[Card]:
    """One card for each network of a source: names of the very same one are no others."""
    seen: set[tuple[str, str]] = set()
    asked = _asked_by_name()
    for card in sorted(cards, key=lambda card: (card.labels.name not in asked, card.labels.name)):
        network = (card.labels.source, card.exact)
        if network not in seen:
            yield card
        seen.add(network)


def _asked_by_name() -> frozenset[str]:
    """Twins, and models that are written otherwise or changed."""
    members = (name for group in twins() for name in group.members)
    return frozenset(members).union(rewritten_names(), changed_names())


def _roles(split: str, members: Sequence[Member], reserved: Reserved, seed: int) -> dict[str, Role]:
    if split == "copies":
        groups = {group.members: group.implementations for group in twins()}
        rewritten = frozenset(rewritten_names())
        return split_copies(members, reserved, seed, groups=groups, rewritten=rewritten)
    draws = {"paper": split_paper, "distinct": split_distinct, "unseen": split_unseen}
    return draws[split](members, reserved, seed)


def column(split: str, seed: int) -> str:
    """Name of the column that holds the roles of a split."""
    return f"{split}_{seed}"


def read(path: Path | None = None) -> pa.Table:
    """The frozen table; without a path, the one of the package.

    Raises:
        CorpusError: It is missing or no such table.
    """
    if path is None:
        path = package_path("data", FILE, package="benchmark")
    wanted = {"name", *(column(split, seed) for split in SPLITS for seed in SEEDS)}
    try:
        table = pq.read_table(path)
    except (OSError, pa.ArrowInvalid) as error:
        raise CorpusError(f"{path} holds no frozen splits: {error}") from error
    missing = wanted - set(table.column_names)
    if missing:
        raise CorpusError(f"{path} holds no frozen splits: it lacks {', '.join(sorted(missing))}")
    return table


def roles_of(table: pa.Table, split: str, seed: int) -> Roles:
    """The role of each name in one split."""
    names = table.column("name").to_pylist()
    return dict(zip(names, table.column(column(split, seed)).to_pylist(), strict=True))


@cache
def shipped_roles(split: str, seed: int) -> Roles:
    """The same of the table of the package."""
    return roles_of(read(), split, seed)


@cache
def selecting() -> frozenset[str]:
    """Names that select a model in some split: they ask in no test."""
    return frozenset(
        name
        for split in SPLITS
        for name, role in shipped_roles(split, SEEDS[0]).items()
        if role == "validation"
    )


def freeze(target: Path, corpus: Path | None = None) -> str:
    """Draw the benchmark and its splits from a corpus, the shipped one unless told; says how many.

    Raises:
        CorpusError: The corpus is missing or damaged.
    """
    cards = list(Corpus(corpus or shipped_corpus()).cards())
    table = draw(cards)
    target.parent.mkdir(parents=True, exist_ok=True)
    write_whole(target, partial(pq.write_table, table, compression="zstd"))
    return f"{table.num_rows:,} of {len(cards):,} architectures, in {target}"
