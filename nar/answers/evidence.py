"""Evidence: what the hits of a query say of it beside their scores: its family, whole and body.

questions(network) ── Retriever ──> answers ──┐
hits that a corpus has: graphs, backbones ──┴── evidence_of ──> Evidence
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from nar.answers.bodies import SharedBody, shared_bodies
from nar.answers.part_of import Whole, wholes_of
from nar.answers.query import Answer, Query, Target
from nar.answers.verdict import (
    HITS,
    UNLIKE,
    FamilyVerdict,
    Resemblance,
    family_verdict,
    resemblance,
)
from nar.corpus import Corpus, Location
from nar.graphs.architecture import Architecture
from nar.graphs.by import By
from nar.graphs.fingerprints import Known, Network
from nar.index.rows import Hit

# So many first hits are compared with the query, node by node.
COMPARED: Final = 20
_ASKED: Final[Mapping[By, int]] = {
    "design": COMPARED,
    "copy": COMPARED,
    "family": HITS,
    "trunk": HITS,
}


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the hits say of a query.

    Attributes:
        family: What the hits by design say of its family; of a composed model, those by family.
        trunk: What the hits by trunk say of what it stands on; None of a model that is not
            composed of decoder and encoder.
        wholes: What it is a part of, the best first; none where no hit that was compared has it.
        bodies: Which of these hits have its body, with other ends.
        resemblance: What it is like, if it is not known.
    """

    family: FamilyVerdict
    trunk: FamilyVerdict | None = None
    wholes: tuple[Whole, ...] = ()
    bodies: tuple[SharedBody, ...] = ()
    resemblance: Resemblance = UNLIKE


def questions(target: Target) -> dict[By, Query]:
    """What has to be asked for evidence; filters would hide some of it."""
    return {by: Query(target, top_k, by=by) for by, top_k in _ASKED.items()}


def compared_hits(
    by_copy: Sequence[Hit], by_design: Sequence[Hit], count: int = COMPARED
) -> list[Hit]:
    """The first hits of both answers, each once; those by copy first, for of equals one is named.

    Args:
        by_copy: Hits by copy, nearest first.
        by_design: Hits by design, nearest first.
        count: So many of each.
    """
    hits = [*by_copy[:count], *by_design[:count]]
    return list({hit.name: hit for hit in hits}.values())


def looked_at(asked: Known, answers: Mapping[By, Answer]) -> list[Hit]:
    """The hits whose graphs are evidence, each once.

    A copy of the query's design is neither a whole that it is a part of nor a body with another
    end, so that its graph says nothing more.
    """
    hits = compared_hits(answers["copy"].hits, answers["design"].hits)
    return [hit for hit in hits if hit.topology != asked.topology]


def labelled(answers: Mapping[By, Answer]) -> list[Hit]:
    """The hits whose backbones are evidence, each once."""
    hits = [*answers["design"].hits[:HITS], *answers["trunk"].hits]
    return list({hit.name: hit for hit in hits}.values())


def evidence_of(
    asked: Network,
    answers: Mapping[By, Answer],
    near: Mapping[str, Network],
    backbones: Mapping[str, str],
) -> Evidence:
    """What the answers to `questions` say of a network.

    Args:
        asked: The query.
        answers: To each of the questions.
        near: Those hits of `looked_at` whose graphs are at hand, by name and in their order.
        backbones: Families of the encoders of the hits of `labelled`, as far as they are known.
    """
    wholes = wholes_of(asked.graph, {name: item.graph for name, item in near.items()})
    bodies = shared_bodies(asked, near)
    family = family_verdict(answers["design"].hits)
    like = resemblance(answers["design"].hits, answers["copy"].hits)
    if not _is_composed(answers["design"], backbones):
        return Evidence(family, None, wholes, bodies, like)

    def trunk(hit: Hit) -> str:
        return backbones.get(hit.name) or hit.family

    decoder = family_verdict(answers["family"].hits)
    stands_on = family_verdict(answers["trunk"].hits, trunk)
    return Evidence(decoder, stands_on, wholes, bodies, like)


def _is_composed(answer: Answer, backbones: Mapping[str, str]) -> bool:
    """Whether most hits are a decoder on an encoder."""
    first = answer.hits[:HITS]
    composed = [bool(backbones.get(hit.name)) for hit in first]
    return 2 * sum(composed) > len(first)


@dataclass(frozen=True, slots=True)
class KnownHits:
    """What a corpus has of some hits, by name; nothing is captured for it.

    Attributes:
        networks: With their graphs.
        backbones: Families of the encoders that they stand on (`nar.graphs.architecture.Labels`).
    """

    networks: Mapping[str, Architecture] = field(default_factory=dict)
    backbones: Mapping[str, str] = field(default_factory=dict)


def known_hits(
    corpus: Location | None, with_graphs: Sequence[Hit], with_backbones: Sequence[Hit]
) -> KnownHits:
    """What the corpus has of some hits.

    Args:
        corpus: Where it may be; None if there is no corpus.
        with_graphs: The hits whose graphs are wanted.
        with_backbones: The hits whose backbones are wanted.

    Raises:
        CorpusError: The corpus is missing or damaged.
    """
    if corpus is None:
        return KnownHits()
    return KnownHits(
        Corpus(corpus).graphs(*_names_and_sources(with_graphs)),
        Corpus(corpus).backbones(*_names_and_sources(with_backbones)),
    )


def _names_and_sources(hits: Sequence[Hit]) -> tuple[list[str], set[str]]:
    return [hit.name for hit in hits], {hit.source for hit in hits}
