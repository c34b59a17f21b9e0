"""What the commands of `nar corpus` do: read one corpus, show the answer as tables or as JSON."""

from collections.abc import Sequence, Set
from dataclasses import asdict
from difflib import get_close_matches
from itertools import chain
from pathlib import Path

from nar.cli import corpus_display, reports
from nar.cli.difference import Difference, difference
from nar.cli.lookup import Place, looked_up
from nar.cli.plots import write_plots
from nar.cli.portrait import Portrait, portrait
from nar.cli.setting import show
from nar.console import stderr
from nar.corpus import Card, find, iterate_cards
from nar.corpus.datasheet import datasheet
from nar.corpus.manifest import Manifest
from nar.corpus.packing import pack
from nar.corpus.summary import Summary, summarise
from nar.errors import InvalidInputError
from nar.labels.twins import twins


def stats(place: Place, *, plots: Path | None, as_json: bool) -> None:
    """Show a corpus in numbers, and draw it on request."""
    directory = place.directory()
    found = Manifest.read(directory)
    cards = list(iterate_cards(directory))
    numbers = summarise(cards)
    counted = {"totals": numbers.totals.model_dump(mode="json")}
    result = {**found.model_dump(mode="json"), **counted, "summary": _without_totals(numbers)}
    show(result, lambda: corpus_display.stats(found, numbers), as_json=as_json)
    if plots is not None:
        for path in write_plots(plots, cards, found.sources):
            stderr.print(f"wrote {path}", style="dim")


def listing(place: Place, *, families: Sequence[str], as_json: bool) -> None:
    """Show every architecture of a corpus, or of some families.

    Raises:
        InvalidInputError: The corpus has nothing of a family.
    """
    everything = list(iterate_cards(place.directory()))
    _check_families(families, {card.labels.family for card in everything})
    cards = [card for card in everything if not families or card.labels.family in families]
    rows = [_card(card) for card in cards]
    show({"architectures": rows}, lambda: corpus_display.cards(cards), as_json=as_json)


def _check_families(families: Sequence[str], known: Set[str]) -> None:
    for family in families:
        if family not in known:
            near = get_close_matches(family, sorted(known), n=3)
            hint = f"did you mean {', '.join(near)}?" if near else "`nar corpus list` shows them"
            raise InvalidInputError("family", f"the corpus has none called {family!r}; {hint}")


def show_one(place: Place, name: str, *, as_json: bool) -> None:
    """Show one architecture of a corpus."""
    found = portrait(find(place.directory(), name), _published_twins(name))
    show(_portrait(found), lambda: corpus_display.portrait(found), as_json=as_json)


def diff(place: Place, first: str, second: str, *, as_json: bool) -> None:
    """Show what two architectures share; what the corpus does not have is captured."""
    found = difference(*looked_up(place, (first, second)))
    show(_difference(found), lambda: corpus_display.difference(found), as_json=as_json)


def pack_corpus(place: Place, target: Path, *, as_json: bool) -> None:
    """Write a corpus anew in as few bytes as it takes, with its datasheet."""
    packed = pack(place.directory(), target)
    (target / "DATASHEET.md").write_text(datasheet(packed), encoding="utf-8")
    size = sum(path.stat().st_size for path in target.iterdir())
    rows = sum(entry.rows for entry in packed.shards)
    result = {"corpus": str(target), "rows": rows, "bytes": size, "shards": len(packed.shards)}
    show(result, lambda: f"{rows:,} architectures, {size:,} bytes, in {target}", as_json=as_json)


def _published_twins(name: str) -> tuple[str, ...]:
    members = (group.members for group in twins() if name in group.members)
    return tuple(dict.fromkeys(chain.from_iterable(members)))


def _without_totals(numbers: Summary) -> reports.Report:
    return {name: value for name, value in asdict(numbers).items() if name != "totals"}


def _card(card: Card) -> reports.Report:
    row = asdict(card)
    return {**row.pop("labels"), **row}


def _portrait(found: Portrait) -> reports.Report:
    return {
        **_card(found.card),
        "aliases": found.aliases,
        "twins": found.twins,
        "siblings": found.siblings,
        "published_twins": found.published_twins,
        "motifs": reports.motifs(found.card.labels.name, found.cut)["motifs"],
    }


def _difference(found: Difference) -> reports.Report:
    sides = {"first": found.first, "second": found.second}
    return {
        **{name: reports.architecture(side, {}) for name, side in sides.items()},
        "same_exact": found.same_exact,
        "same_topology": found.same_topology,
        "alike": round(found.alike, 4),
        "operators": [asdict(count) for count in found.operators],
        "shared_motifs": [asdict(motif) for motif in found.shared_motifs],
        "other_motifs": [asdict(motif) for motif in found.other_motifs],
        "listing": found.listing,
    }
