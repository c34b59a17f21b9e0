"""What designs are made of, as filters ask for it: a file of cards by exact fingerprint.

A card takes longer to read from a graph than a search takes, so the cards of a corpus are read once
(`nar corpus cards`) and kept beside it, a word a field. An index needs no column for them: a
condition on a card is one on the fingerprints of the networks that have it.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Final

from nar.base.errors import CorpusError
from nar.base.files import write_whole
from nar.base.workspace import package_path
from nar.index.filters import CARD_WORDS

FILE: Final = "cards.parquet"
# Names another file, for an index of a corpus of one's own.
VARIABLE: Final = "NAR_CARDS"
# In the place of a word that was not read.
NOT_READ: Final = ""
_MAKE: Final = (
    "read the cards of a corpus that was captured with details by `nar corpus cards --corpus DIR "
    f"FILE`, and name the file in {VARIABLE}"
)


@dataclass(frozen=True, slots=True)
class Cards:
    """Words of the cards of known networks.

    Attributes:
        exacts: Exact fingerprints, each once.
        words: For each field, the word of each network; `NOT_READ` where it was not read.
    """

    exacts: tuple[str, ...]
    words: Mapping[str, tuple[str, ...]]

    def having(self, field: str, wanted: Iterable[str]) -> tuple[str, ...]:
        """Fingerprints of the networks that have any of the words in a field.

        Example:
            >>> Cards(("a", "b"), {"norm": ("rms", "layer")}).having("norm", ["rms"])
            ('a',)
        """
        sought = frozenset(wanted)
        pairs = zip(self.exacts, self.words[field], strict=True)
        return tuple(exact for exact, word in pairs if word in sought)


def cards_file() -> Path:
    """The file of the cards that filters ask."""
    named = os.environ.get(VARIABLE)
    return Path(named) if named else package_path("data", FILE)


def known_cards() -> Cards:
    """The cards that filters ask; they are read with the first question.

    Raises:
        CorpusError: There are none; says how they are made.
    """
    path = cards_file()
    if not path.is_file():
        raise CorpusError(f"no cards of known designs at {path}: {_MAKE}")
    return read_cards(path)


@cache
def read_cards(path: Path) -> Cards:
    """The cards of a file.

    Raises:
        CorpusError: It holds no cards.
    """
    # Not read by a search without such a condition.
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table: pa.Table = pq.ParquetFile(path).read(use_threads=False)
        exacts = tuple(each.hex() for each in table.column("exact").to_pylist())
        words = {field: tuple(table.column(field).to_pylist()) for field in CARD_WORDS}
    except (OSError, pa.ArrowException, KeyError, AttributeError) as error:
        raise CorpusError(f"{path} holds no cards: {error}; {_MAKE}") from error
    return Cards(exacts, words)


def write_cards(path: Path, rows: Mapping[str, Sequence[str]]) -> None:
    """Write cards whole or not at all.

    Args:
        path: The file.
        rows: For each exact fingerprint, a word for each field of `CARD_WORDS`.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = dict(zip(CARD_WORDS, zip(*rows.values(), strict=True), strict=True)) if rows else {}
    digests = [bytes.fromhex(exact) for exact in rows]
    table = pa.table({
        "exact": pa.array(digests, pa.binary(32)),
        **{field: pa.array(columns.get(field, ()), pa.string()) for field in CARD_WORDS},
    })  # fmt: skip
    # The highest level of zstd without `--ultra`: written once, and carried by every wheel.
    write = partial(pq.write_table, table, compression="zstd", compression_level=19)
    write_whole(path, write)
