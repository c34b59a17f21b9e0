"""What `nar search --motif` does: it finds the motif types that are meant, and who has them."""

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Final

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from nar.answers.atlas import Atlas, read_atlas, shipped_atlas
from nar.answers.blocks import Operators, operators_of_blocks
from nar.answers.filter_checks import Held, check_values
from nar.answers.uses import Uses, read_uses
from nar.base.console import DEFAULT_WORK, show, stderr
from nar.base.errors import CorpusError, InvalidInputError
from nar.base.workspace import cache_directory
from nar.choices import CorpusChoice, IndexChoice
from nar.cli.lookup import looked_up
from nar.cli.motif_patterns import compiled
from nar.corpus import Card, iterate_cards
from nar.index.filters import EVERYTHING, Filter
from nar.motifs.partition import partition
from nar.views.display import human, in_brief

_CODE: Final = re.compile(r"[0-9a-f]{16}")
_NUMBERED: Final = re.compile(r"(\S+)#([1-9][0-9]*)")
_SHOWN: Final = 10


@dataclass(frozen=True, slots=True)
class Block:
    """A motif type that was asked for: its code, its operators, and how many use it how often."""

    code: str
    operators: tuple[str, ...]
    architectures: int
    occurrences: int


@dataclass(frozen=True, slots=True)
class User:
    """An architecture that contains some of the blocks, and how many of them it has."""

    name: str
    family: str
    task: str
    parameters: int
    occurrences: int


@dataclass(frozen=True, slots=True)
class Users:
    """Who contains what was asked for.

    Attributes:
        blocks: The motif types, those of most architectures first.
        users: Architectures of the atlas, those with most occurrences first.
        families: How many of them each family has, the most first.
    """

    blocks: tuple[Block, ...]
    users: tuple[User, ...]
    families: Mapping[str, int]


def search_blocks(
    name: str,
    motif: str,
    top_k: int,
    wanted: Filter,
    choice: IndexChoice,
    *,
    server: str | None,
    as_json: bool,
) -> None:
    """Show who contains a block.

    Raises:
        InvalidInputError: The block is none, or something else than the atlas is asked.
    """
    if name or not motif:
        raise InvalidInputError("search", "wanted either the name of a model or --motif")
    if server or choice.names_index or choice.work != DEFAULT_WORK:
        raise InvalidInputError(
            "motif", "blocks are counted in the atlas only: leave out --server, --uri and --work"
        )
    users = _users(motif, shipped_atlas(), wanted, CorpusChoice(choice.work))
    report = {
        "motif": motif,
        "architectures": len(users.users),
        "blocks": [asdict(block) for block in users.blocks],
        "families": users.families,
        "users": [asdict(user) for user in users.users[:top_k]],
    }
    show(report, lambda: _view(motif, users, top_k), as_json=as_json)


def _users(motif: str, atlas: Atlas, wanted: Filter, corpus: CorpusChoice) -> Users:
    uses = read_uses(atlas)
    if uses is None:
        raise CorpusError("nobody has counted the blocks of this atlas; `nar atlas draw` does")
    with stderr.status("reading the blocks of the atlas"):
        operators = operators_of_blocks(atlas, uses, cache_directory())
    stderr.print(f"asking the atlas of NAR, {len(operators):,} motif types", style="dim")
    cards = list(iterate_cards(atlas.corpus))
    return counted(
        _meant(motif, operators, corpus), operators, uses, cards, _passing(atlas, wanted)
    )


def counted(
    codes: Sequence[int],
    operators: Operators,
    uses: Uses,
    cards: Sequence[Card],
    passing: Collection[str] | None,
) -> Users:
    """Count who contains some motif types.

    Args:
        codes: Of the motif types, each once.
        operators: Of every motif type.
        uses: Who contains which.
        cards: Of the architectures, in the order of the rows.
        passing: Names that may be shown; None for all.
    """
    shown = np.array([passing is None or card.labels.name in passing for card in cards])
    totals = np.zeros(len(cards), dtype=np.int64)
    blocks = []
    for code in codes:
        rows, counts = uses.of(code)
        kept = shown[rows]
        if kept.any():
            totals[rows[kept]] += counts[kept]
            sums = (int(kept.sum()), int(counts[kept].sum()))
            blocks.append(Block(f"{code:016x}", operators.get(code, ()), *sums))
    blocks.sort(key=lambda block: (-block.architectures, len(block.operators), block.code))
    users = [_user(cards[row], int(totals[row])) for row in np.flatnonzero(totals).tolist()]
    users.sort(key=lambda user: (-user.occurrences, user.name))
    families = Counter(user.family for user in users)
    return Users(tuple(blocks), tuple(users), dict(families.most_common()))


def _user(card: Card, occurrences: int) -> User:
    labels = card.labels
    return User(labels.name, labels.family, labels.task, card.parameters, occurrences)


def _passing(atlas: Atlas, wanted: Filter) -> Collection[str] | None:
    """Names that pass a filter; None where it lets everything pass."""
    if wanted == EVERYTHING:
        return None
    index = read_atlas(atlas).index
    check_values(Held(index), wanted)
    return {entry.name for entry in index.page("", index.count(), wanted)}


def _meant(motif: str, operators: Operators, corpus: CorpusChoice) -> list[int]:
    """Codes of the motif types that a text means."""
    if _CODE.fullmatch(motif):
        return [int(motif, 16)]
    numbered = _NUMBERED.fullmatch(motif)
    if numbered:
        return [_numbered(numbered[1], int(numbered[2]), corpus)]
    pattern = compiled(motif)
    return [code for code, names in operators.items() if pattern.search(" ".join(names))]


def _numbered(name: str, number: int, corpus: CorpusChoice) -> int:
    [item] = looked_up(corpus, [name])
    codes = partition(item.graph).by_share()
    if number > len(codes):
        reason = f"{name} has {len(codes)} motif types, as `nar motifs` shows; came #{number}"
        raise InvalidInputError("motif", reason)
    return codes[number - 1]


def _view(motif: str, users: Users, top_k: int) -> RenderableType:
    if not users.users:
        return Text(f"No architecture that the options ask for contains {motif}.", "yellow")
    times = sum(user.occurrences for user in users.users)
    families = ", ".join(f"{name} {n:,}" for name, n in list(users.families.items())[:_SHOWN])
    head = f"{len(users.users):,} architectures contain {motif}, {times:,} times in all."
    return Group(
        Text(head, "bold"),
        Text(f"Families: {families}"),
        _blocks(users.blocks),
        _names(users, top_k),
    )


def _blocks(blocks: Sequence[Block]) -> Table:
    more = f", the first {_SHOWN} of {len(blocks):,}" if len(blocks) > _SHOWN else ""
    table = _table(f"Blocks{more}", ("architectures", "times"))
    for column in ("code", "operators"):
        table.add_column(column, overflow="fold")
    for block in blocks[:_SHOWN]:
        numbers = (f"{block.architectures:,}", f"{block.occurrences:,}")
        table.add_row(*numbers, block.code, in_brief(block.operators))
    return table


def _names(users: Users, top_k: int) -> Table:
    table = _table("Architectures with most of them", ("times", "params"))
    for column in ("name", "family", "task"):
        table.add_column(column, overflow="fold")
    for user in users.users[:top_k]:
        numbers = (f"{user.occurrences:,}", human(user.parameters))
        table.add_row(*numbers, user.name, user.family, user.task)
    return table


def _table(title: str, numbers: Sequence[str]) -> Table:
    table = Table(title=title, title_style="bold", title_justify="left", box=SIMPLE_HEAD)
    for name in numbers:
        table.add_column(name, justify="right", no_wrap=True)
    return table
