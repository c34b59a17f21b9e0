"""Protocols: what is asked of an encoder that learned one split of the data, and what is right.

Several protocols share a split, and so a training: `benchmark.tasks.asking` has the
questions, this module their table.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from benchmark.tasks import asking
from benchmark.tasks.asking import EDITS, PARTS, REWRITTEN, SHARES, Words
from benchmark.tasks.questions import Questions
from benchmark.tasks.splits import Roles
from nar.corpus import Card
from nar.graphs.by import By
from nar.graphs.fingerprints import same_at_inference


@dataclass(frozen=True, slots=True)
class Protocol:
    """What is asked.

    Attributes:
        split: What was learned.
        ask: The questions, from the cards of a data set and their roles.
        headline: The metric that it is judged by, as in ``map@20``.
        said: Who asks, who answers and what is right, as tables say it.
        by: What a search would ask for, to encoders whose vectors know the difference.
    """

    split: str
    ask: Callable[[Sequence[Card], Roles], Questions]
    headline: str
    said: str
    by: By = "design"

    def questions(self, cards: Sequence[Card], roles: Roles) -> Questions:
        """What is asked of a data set."""
        return replace(self.ask(cards, roles), by=self.by)


_TENTH: Final = "A tenth of each family asks; everything else answers, copies of a design too."
_ONCE: Final = "A design stands once among the queries and answers."
_HELD: Final = {
    "distinct": f"A tenth of the designs of each family asks, and is not learned from. {_ONCE}",
    "unseen": "A fifth of the families asks; nothing is learned of these, of their twins, or of "
    "what stands on one of them. Named models that hold a model of another family inside are held "
    f"out with their own. {_ONCE}",
}
_COMPOSED: Final = "Composed models. Right: the"
# Track -> tier of who asks and answers, what is right, both in words, and what is asked for.
_TRACKS: Final[Mapping[str, tuple[str, Words, str, By]]] = {
    "named": ("named", asking.families, "Named models. Right: the family.", "design"),
    "composed": (
        "composed",
        asking.kin,
        f"{_COMPOSED} decoder on that encoder; each may have been learned with another.",
        "design",
    ),
    "composed-decoder": ("composed", asking.families, f"{_COMPOSED} decoder.", "family"),
    "composed-encoder": ("composed", asking.encoders, f"{_COMPOSED} encoder.", "trunk"),
    "all": ("", asking.kin, "All. Right: the family; of composed ones the encoder too.", "design"),
}
_CHANGED: Final = {
    EDITS: "Models that a person has changed ask",
    PARTS: "Parts of models ask",
    SHARES: "Parts of models ask, each a run of nodes of a share that is drawn between 0.2 and 0.9",
}
# Protocol -> what is right for a changed model, and the headline. It is one question: what is this
# made from?
_RIGHT: Final[Mapping[str, tuple[Words, str]]] = {
    "original": (asking.exact_graphs, "success@5"),
    "family": (asking.families, "success@1"),
}
_KNOWN: Final = {
    "distinct": ("", "the original may have been learned"),
    "unseen": ("-unseen", "nothing of the original's family was learned"),
}


def _of_tracks(split: str) -> Iterator[tuple[str, Protocol]]:
    for track, (tier, right, said, by) in _TRACKS.items():
        ask = partial(asking.design_questions, right=right, tier=tier, fresh=split == "unseen")
        yield f"{split}-{track}", Protocol(split, ask, "map@20", f"{_HELD[split]} {said}", by)
    ask = partial(asking.unjudged_relatives, fresh=split == "unseen")
    said = (
        f"{_HELD[split]} {_TRACKS['named'][2]} What the family was made from, what was made from "
        "it, and what was made from the same are not judged: the table of lineage has them."
    )
    yield f"{split}-named-relatives-unjudged", Protocol(split, ask, "map@20", said)
    if split == "unseen":
        tier, right, said, by = _TRACKS["composed"]
        ask = partial(
            asking.design_questions, right=right, tier=tier, fresh=True, halves_fresh=True
        )
        said = f"{_HELD[split]} {said} Only those count of which neither half was learned."
        yield "unseen-composed-both", Protocol(split, ask, "map@20", said, by)


def _of_changed(split: str) -> Iterator[tuple[str, Protocol]]:
    ending, known = _KNOWN[split]
    for source, who in _CHANGED.items():
        for what, (right, headline) in _RIGHT.items():
            fresh = split == "unseen"
            ask = partial(asking.changed_questions, source=source, right=right, fresh=fresh)
            said = f"{who}; {known}. Named models answer. Right: the {what}."
            yield f"{source}-{what}{ending}", Protocol(split, ask, headline, said, "copy")


PROTOCOLS: Final[Mapping[str, Protocol]] = {
    "paper": Protocol(
        "paper",
        asking.paper_questions,
        "map@20",
        f"{_TENTH} Right: the class that the paper's rules read from the name; who has none does "
        "not ask.",
    ),
    "family": Protocol(
        "paper",
        asking.family_questions,
        "map@20",
        f"{_TENTH} Right: the family by the defining code; of composed models also the encoder's.",
    ),
    **dict(_of_tracks("distinct")),
    **dict(_of_tracks("unseen")),
    "lineage": Protocol(
        "unseen",
        asking.lineage_questions,
        "ndcg@20",
        f"{_HELD['unseen']} Named models. Worth 3: the family; 2: what it was made from, or led "
        "to; 1: what was made from the same.",
    ),
    "lineage-parents": Protocol(
        "unseen",
        asking.parent_questions,
        "families@5",
        f"{_HELD['unseen']} Named models; the own family does not answer. Right: a family that it "
        "was made from, among the first 1, 5, 10 families.",
        "origin",
    ),
    "novelty": Protocol(
        "unseen",
        asking.novelty_questions,
        "map@20",
        "Held-out designs of families never learned, and of learned ones, ask what was learned: "
        "how far is the nearest? Those of learned families are the same for all who ask.",
    ),
    "twins": Protocol(
        "copies",
        asking.twin_questions,
        "mrr@20",
        "Designs that several libraries implement ask, and are not learned from; all architectures "
        "of other libraries answer. Right: the same design, and what has its very graph.",
        "copy",
    ),
    "twins-differing": Protocol(
        "copies",
        partial(asking.twin_questions, differing=True),
        "mrr@20",
        "As `twins`, but only those count whose very graph no other library has: the others are "
        "found by their fingerprints.",
        "copy",
    ),
    "rewrites": Protocol(
        "copies",
        partial(
            asking.changed_questions,
            source=REWRITTEN,
            right=asking.normal_forms,
            if_also=same_at_inference,
        ),
        "success@1",
        "Models that were written otherwise ask (`results/rewritten_graphs.md` says how), and "
        "their designs are not learned from. Right: the original, or what has its graph, as it is "
        "written or in its normal form with parameters within a quarter of an octave.",
        "copy",
    ),
    "rewrites-differing": Protocol(
        "copies",
        partial(
            asking.changed_questions,
            source=REWRITTEN,
            right=asking.normal_forms,
            if_also=same_at_inference,
            differing=True,
        ),
        "success@1",
        "As `rewrites`, but only those count whose graph is another than their original's: the "
        "others are found by their fingerprints.",
        "copy",
    ),
    "rewrites-design": Protocol(
        "copies",
        partial(asking.changed_questions, source=REWRITTEN, right=asking.designs),
        "success@1",
        "As `rewrites`, but what has the original's design is as good, of whatever size: twice the "
        "width of one network is often another that exists.",
        "copy",
    ),
    **dict(_of_changed("distinct")),
    **dict(_of_changed("unseen")),
}
# The networks of the NAS space have no names to read and no families but the ten classes.
NAS_PROTOCOL: Final = Protocol(
    "paper",
    asking.family_questions,
    "map@20",
    "DARTS networks in ten classes, in nas-k each k edits from the centre of its class. A tenth of "
    "each class asks; everything else answers. Right: the same class.",
)
