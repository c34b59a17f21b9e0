"""The page about verdicts on designs that are not known: ``python -m benchmark verdicts``.

The bounds are chosen where originals select a model; what is said is then asked once of the others.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, get_args

from benchmark.evidence.parts import PARTS_TOGETHER
from benchmark.evidence.queries import NEW, WHOLE, AtlasQueries, AtlasQuery
from benchmark.reporting.markdown import markdown_table
from benchmark.tasks.asking import EDITS
from benchmark.tasks.task import Held
from nar.answers.verdict import MIN_COPY, MIN_KNOWN, Resemblance, Word, resemblance
from nar.base.files import write_whole

COMMAND: Final = "python -m benchmark verdicts --results results"
_COPIES: Final = (0.7, 0.75, 0.8, 0.85, 0.9)
_KNOWN: Final = (0.5, 0.6, 0.65, 0.7, 0.75)
_KINDS: Final[Mapping[str, str]] = {
    WHOLE: "a new member of a known family",
    EDITS: "an edit of a known model",
    PARTS_TOGETHER: "a part of a known model",
    NEW: "a member of a family that does not answer",
}
_SAID: Final = (
    "Designs that are not known ask the shipped atlas. Each word is a share of those who asked; in "
    "brackets how often it is right: the variant is of the query's family, the family is its own. "
    "A new member asks without its own design among the hits, a member of another family without "
    "its family: there every variant and every family that is said is wrong, though libraries give "
    "one design to several families. The encoder has learned from all of them, so that designs it "
    "has never seen are told less well than this."
)
_CHOSEN: Final = (
    "Chosen on validation: a variant is said from a score by copy of {copy}, and that nothing like "
    "it is known where no score reaches {known} and no family stands out."
)


@dataclass(frozen=True, slots=True)
class QueryVerdict:
    """What is said of one query.

    Attributes:
        kind: What it is.
        family: Its own.
        said: The verdict.
    """

    kind: str
    family: str
    said: Resemblance

    @property
    def is_right(self) -> bool:
        """Whether the family that is said, or that of the variant, is its own."""
        return self.said.family == self.family


def as_markdown(held: Sequence[Held]) -> str:
    """The page: how the bounds were chosen, and what is said where they are tested."""
    blocks = ["# Verdicts in words", f"```sh\n{COMMAND}\n```", _SAID]
    for each in held:
        asking = AtlasQueries(each)
        asked = [*asking.changed(), *asking.wholes(), *asking.of_new_families()]
        blocks.append(f"## {each.capitalize()}")
        blocks += _chosen(asked) if each == "validation" else [_table(_verdicts(asked))]
    return "\n\n".join(blocks) + "\n"


def write_page(results: Path) -> None:
    """Measure both and write the page.

    Args:
        results: Directory that gets ``verdicts.md``.
    """
    text = as_markdown(("validation", "test"))
    results.mkdir(parents=True, exist_ok=True)
    write_whole(results / "verdicts.md", lambda part: part.write_text(text))


def _chosen(asked: Sequence[AtlasQuery]) -> Iterator[str]:
    yield _CHOSEN.format(copy=MIN_COPY, known=MIN_KNOWN)
    yield _table(_verdicts(asked))
    yield "The bound of variants: share of each kind of which one is said, and how often rightly."
    yield _by_bound(asked, "variant", [(bound, MIN_KNOWN) for bound in _COPIES])
    yield "The bound of what is known: share of each kind of which nothing like it is known."
    yield _by_bound(asked, "unlike", [(MIN_COPY, bound) for bound in _KNOWN])


def _verdicts(
    asked: Sequence[AtlasQuery], min_copy: float = MIN_COPY, min_known: float = MIN_KNOWN
) -> list[QueryVerdict]:
    return [
        QueryVerdict(
            one.kind if one.kind in _KINDS else PARTS_TOGETHER,
            one.original.family,
            resemblance(one.by_design, one.by_copy, min_copy=min_copy, min_known=min_known),
        )
        for one in asked
    ]


def _table(told: Sequence[QueryVerdict]) -> str:
    """The confusion table: what they are, and what is said of them."""
    words = get_args(Word)
    lines = []
    for kind, meaning in _KINDS.items():
        own = [each for each in told if each.kind == kind]
        lines.append([meaning, f"{len(own):,}", *(_cell(own, word) for word in words)])
    return markdown_table(("what asks", "queries", *words), lines)


def _cell(own: Sequence[QueryVerdict], word: Word) -> str:
    said = [each for each in own if each.said.word == word]
    share = len(said) / len(own)
    if not said or not said[0].said.family:
        return f"{share:.2f}"
    return f"{share:.2f} ({sum(each.is_right for each in said) / len(said):.2f})"


def _by_bound(
    asked: Sequence[AtlasQuery], word: Word, bounds: Sequence[tuple[float, float]]
) -> str:
    lines = []
    for copy, known in bounds:
        told = _verdicts(asked, copy, known)
        cells = (_cell([each for each in told if each.kind == kind], word) for kind in _KINDS)
        lines.append([str(copy if word == "variant" else known), *cells])
    return markdown_table(("bound", *_KINDS.values()), lines)
