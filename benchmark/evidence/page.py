"""The page about parts and families: ``python -m benchmark parts-of``.

Settings are chosen where originals select a model; how well they do is then asked once of the
others.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from benchmark.evidence.asked import NEW, WHOLE, Asking
from benchmark.evidence.families_of import Voted, spoken, vote_all
from benchmark.evidence.parts_of import Compared, Comparison, Said, Setting, compare_all, said
from benchmark.protocol.tasks import Held
from benchmark.reporting.markdown import markdown_table
from nar.answers.answer import COMPARED
from nar.answers.verdict import MIN_AGREEMENT, MIN_SCORE
from nar.base.files import write_whole

COMMAND: Final = "python -m benchmark parts-of --results results"
_CHOSEN: Final = Setting(COMPARED)
# What else could have been chosen, one thing at a time.
_SETTINGS: Final[Mapping[str, Sequence[Setting]]] = {
    "hits": [replace(_CHOSEN, hits=hits) for hits in (5, 10, 20)],
    "min_share": [replace(_CHOSEN, min_share=share) for share in (0.6, 0.7, 0.8, 0.9, 0.95, 1.0)],
}
_OTHER_RADII: Final = (1, 2, 4)
_AGREEMENTS: Final = (0.5, 0.6, 0.7)
_SCORES: Final = (0.0, 0.7, 0.75, 0.8, 0.9)
_PARTS: Final = ("queries", "reached", "contained", "named", "of its family", "any")
_SAID: Final = (
    "Parts of models ask the shipped atlas. *reached*: the original is among the hits that are "
    "compared; *contained*: and the part is said to be one of it; *named*: the original is what is "
    "named first; *of its family*: what is named first is of the original's family; *any*: "
    "something is said. A whole is a named model that ends in a head, and its own design does not "
    "answer: whatever is said of it is a false alarm. Some are right all the same: "
    "`timm:vit_base_mci_224` is the image tower of `open_clip:MobileCLIP2-B`."
)
_FAMILIES: Final = (
    "A family is said when the first hits agree on it and are near. *speaks*: share of the queries "
    "of which one is said; *right*: share of those of whose it is. Models of a new family have "
    "none that answers, so whatever is said of them is wrong; of them the encoder learned all the "
    "same."
)


def as_markdown(held: Sequence[Held]) -> str:
    """The page: how settings were chosen, and what they reach where they are tested."""
    parts = {"validation": _chosen, "test": _tested}
    blocks = ["# What a query is a part of, and its family", f"```sh\n{COMMAND}\n```"]
    for each in held:
        blocks += [f"## {each.capitalize()}", *parts[each](Asking(each))]
    return "\n\n".join(blocks) + "\n"


def write_page(results: Path) -> None:
    """Measure both and write the page.

    Args:
        results: Directory that gets ``part_of.md``.
    """
    text = as_markdown(("validation", "test"))
    results.mkdir(parents=True, exist_ok=True)
    write_whole(results / "part_of.md", lambda part: part.write_text(text))


def _chosen(asking: Asking) -> Iterator[str]:
    """Validation: what else could have been chosen, one setting at a time."""
    changed, wholes = list(asking.changed()), list(asking.wholes())
    compared = compare_all([*changed, *wholes])
    yield _SAID
    for name, settings in _SETTINGS.items():
        yield _said_by_setting(name, [(setting, compared) for setting in settings])
    radii = [(_CHOSEN, compared)]
    for radius in _OTHER_RADII:
        again = compare_all([*changed, *wholes], radius)
        radii.append((replace(_CHOSEN, radius=radius), again))
    yield _said_by_setting("radius", sorted(radii, key=lambda pair: pair[0].radius))
    yield from _said_by_kind(compared)
    votes = vote_all([*changed, *wholes, *asking.of_new_families()])
    yield _FAMILIES
    thresholds = [(agreement, MIN_SCORE) for agreement in _AGREEMENTS]
    thresholds += [(MIN_AGREEMENT, score) for score in _SCORES if score != MIN_SCORE]
    yield _spoken(votes, thresholds)


def _tested(asking: Asking) -> Iterator[str]:
    """Test: the setting that was chosen."""
    changed, wholes = list(asking.changed()), list(asking.wholes())
    yield from _said_by_kind(compare_all([*changed, *wholes]))
    votes = vote_all([*changed, *wholes, *asking.of_new_families()])
    yield _spoken(votes, [(MIN_AGREEMENT, MIN_SCORE)])


def _all_parts(compared: Compared) -> Sequence[Sequence[Comparison]]:
    return [query for kind, queries in compared.items() if kind != WHOLE for query in queries]


def _said_by_setting(name: str, asked: Iterable[tuple[Setting, Compared]]) -> str:
    """All parts together, and the false alarms, a line a setting."""
    lines = []
    for setting, compared in asked:
        parts, wholes = said(_all_parts(compared), setting), said(compared[WHOLE], setting)
        lines.append([str(getattr(setting, name)), *_cells(parts), _shown(wholes.any)])
    return markdown_table((name, *_PARTS, "false alarms"), lines)


def _said_by_kind(compared: Compared) -> Iterator[str]:
    """The chosen setting, a line a kind of part; all parts; wholes."""
    yield f"Chosen: {_CHOSEN}."
    rows = {**compared, "all parts": _all_parts(compared)}
    rows[WHOLE] = rows.pop(WHOLE)
    lines = [[kind, *_cells(said(queries, _CHOSEN))] for kind, queries in rows.items()]
    yield markdown_table(("kind", *_PARTS), lines)


def _cells(what: Said) -> list[str]:
    shares = (what.reached, what.contained, what.named, what.kin, what.any)
    return [f"{what.queries:,}", *map(_shown, shares)]


def _spoken(votes: Mapping[str, Sequence[Voted]], settings: Iterable[tuple[float, float]]) -> str:
    """A line a pair of thresholds and kind of query."""
    lines = []
    for setting in settings:
        for kind, each in votes.items():
            told = spoken(each, *setting)
            right = "" if kind == NEW else _shown(told.right)
            lines.append(
                [*map(str, setting), kind, f"{told.queries:,}", _shown(told.speaks), right]
            )
    header = ("min_agreement", "min_score", "kind", "queries", "speaks", "right")
    return markdown_table(header, lines)


def _shown(share: float) -> str:
    return f"{share:.3f}"
