"""What the commands of `nar corpus` do: read one corpus, show the answer as tables or as JSON."""

import sys
from collections.abc import Iterator, Sequence, Set
from dataclasses import asdict
from difflib import get_close_matches
from itertools import chain
from pathlib import Path
from typing import Any

from nar.base.console import show, show_rows, stderr, stdout
from nar.base.errors import CorpusError, InvalidInputError
from nar.base.files import write_whole
from nar.base.workspace import job
from nar.choices import CorpusChoice
from nar.corpus import Corpus, Location
from nar.corpus.comparison import compare
from nar.corpus.manifest import Manifest
from nar.corpus.rewriting import pack, renew
from nar.corpus.summary import summarise
from nar.labels.lineage import twins
from nar.views import corpus as views
from nar.views.plots import write_plots


def stats(corpus: CorpusChoice, *, plots: Path | None, as_json: bool) -> None:
    """Show a corpus in numbers, and draw it on request."""
    directory = corpus.directory()
    manifest = Manifest.read(directory)
    numbers = summarise(directory)
    result = {**manifest.model_dump(mode="json"), "summary": asdict(numbers)}
    show(result, lambda: views.stats_view(manifest, numbers), as_json=as_json)
    if plots is not None:
        for path in write_plots(plots, directory, numbers, manifest.sources):
            stderr.print(f"wrote {path}", style="dim")


def listing(corpus: CorpusChoice, *, families: Sequence[str], as_json: bool) -> None:
    """Show every architecture of a corpus, or of some families; in a pipe, as lines with tabs.

    One shard at a time is in memory.

    Raises:
        InvalidInputError: The corpus lacks a family.
    """
    directory = corpus.directory()
    if families:
        _check_families(families, set(chain.from_iterable(_columns(directory, ["family"]))))
    if as_json:
        cards = Corpus(directory).cards()
        wanted = (card for card in cards if not families or card.labels.family in families)
        show_rows("architectures", map(views.card_report, wanted))
        return
    family = views.LISTED.index("family")
    listed = _columns(directory, views.LISTED)
    rows = (row for row in listed if not families or row[family] in families)
    if not stdout.is_terminal:
        sys.stdout.writelines(f"{line}\n" for line in views.listed_lines(rows))
        return
    for table in views.listed_tables(rows):
        stdout.print(table)


def _columns(directory: Location, columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    for table in Corpus(directory).shard_columns(columns):
        yield from zip(*(column.to_pylist() for column in table.columns), strict=True)


def _check_families(families: Sequence[str], known: Set[str]) -> None:
    for family in families:
        if family not in known:
            near = get_close_matches(family, sorted(known), n=3)
            hint = f"did you mean {', '.join(near)}?" if near else "`nar corpus list` shows them"
            raise InvalidInputError("family", f"the corpus has none called {family!r}; {hint}")


def show_one(corpus: CorpusChoice, name: str, *, as_json: bool) -> None:
    """Show one architecture of a corpus."""
    subject = views.portrait(Corpus(corpus.directory()).find(name), _published_twins(name))
    show(views.portrait_report(subject), lambda: views.portrait_view(subject), as_json=as_json)


def compare_corpora(older: Location, newer: CorpusChoice, *, as_json: bool) -> None:
    """Show what changed from one corpus to another."""
    compared = compare(older, newer.directory())
    show(asdict(compared), lambda: views.comparison_view(compared), as_json=as_json)


def pack_corpus(corpus: CorpusChoice, target: Path, *, as_json: bool) -> None:
    """Write a corpus in as few bytes as possible, with its datasheet."""
    _finish(pack(corpus.directory(), target), target, as_json=as_json)


def renew_corpus(corpus: CorpusChoice, target: Path, *, as_json: bool) -> None:
    """Write a corpus in today's columns, with its datasheet."""
    _finish(renew(corpus.directory(), target), target, as_json=as_json)


def read_cards(corpus: CorpusChoice, target: Path, *, as_json: bool) -> None:
    """Write the words of the cards of a corpus, which filters ask.

    Raises:
        CorpusError: The corpus has no details, of which most of a card is read.
    """
    from nar.answers.design_card import card_words
    from nar.index.cards import write_cards

    rows: dict[str, tuple[str, ...]] = {}
    detailed = 0
    with stderr.status("reading cards"):
        for _, shard in Corpus(corpus.directory()).shards(with_details=True):
            detailed += sum(item.details is not None for item in shard)
            # Networks of one exact fingerprint have one card.
            new = {item.exact: item for item in shard if item.exact not in rows}
            rows |= {exact: card_words(item) for exact, item in new.items()}
    if not detailed:
        raise CorpusError(
            "the corpus has no details, of which a card is read: capture it again with "
            f"{job('extract')}"
        )
    write_cards(target, rows)
    size = target.stat().st_size
    result = {"cards": str(target), "rows": len(rows), "bytes": size}
    show(result, lambda: f"{len(rows):,} cards, {size:,} bytes, in {target}", as_json=as_json)


def read_codes(corpus: CorpusChoice, target: Path, *, as_json: bool) -> None:
    """Write the exact codes of a corpus, by which hits by copy are ranked once more."""
    from nar.answers.known_codes import write_known_codes

    shards = Corpus(corpus.directory()).shards()
    with stderr.status("reading codes"):
        networks = write_known_codes(target, (item for _, items in shards for item in items))
    size = target.stat().st_size
    result = {"codes": str(target), "networks": networks, "bytes": size}
    text = f"codes of {networks:,} networks, {size:,} bytes, in {target}"
    show(result, lambda: text, as_json=as_json)


def _finish(written: Manifest, target: Path, *, as_json: bool) -> None:
    """Write the datasheet of a corpus that was just written, and say how large it is."""
    # It names the licences of all sources, whose libraries take seconds to import.
    from nar.corpus.datasheet import datasheet

    text = datasheet(written)
    write_whole(target / "DATASHEET.md", lambda part: part.write_text(text, encoding="utf-8"))
    size = sum(path.stat().st_size for path in target.iterdir())
    rows = sum(entry.rows for entry in written.shards)
    result = {"corpus": str(target), "rows": rows, "bytes": size, "shards": len(written.shards)}
    show(result, lambda: f"{rows:,} architectures, {size:,} bytes, in {target}", as_json=as_json)


def _published_twins(name: str) -> tuple[str, ...]:
    groups = (group.implementations for group in twins())
    return tuple(dict.fromkeys(chain.from_iterable(each for each in groups if name in each)))
