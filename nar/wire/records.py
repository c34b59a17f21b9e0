"""Records of architectures as messages: hits, answers, explanations, and what is to be indexed."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, TypeVar, cast, get_args

from nar.answers.bodies import SharedBody
from nar.answers.coverage import Coverage, NewOperators
from nar.answers.design_card import DesignCard
from nar.answers.difference import Changes, Explanation, MotifCounts, MotifDifference
from nar.answers.edits import Edit, EditKind, Edits, Part
from nar.answers.part_of import PartOf, Where, Whole
from nar.answers.query import Answer
from nar.answers.roles import Role
from nar.answers.verdict import FamilyCount, FamilyVerdict, Resemblance, Word
from nar.answers.words import sentences
from nar.answers.wrapping import Place, TakenOff, Wrapped
from nar.base.errors import InvalidQueryError
from nar.base.own_labels import COLUMN_KEYS, LabelValue, changed, checked_key, read, written
from nar.graphs.architecture import Architecture, Labels, Tier
from nar.graphs.fingerprints import DesignChange, Fingerprinted, Sameness
from nar.graphs.graph import ComputationalGraph
from nar.index.filters import label_fault
from nar.index.rows import TEXT_BYTES, Hit, IndexEntry, IndexRow, IndexState
from nar.v1 import retrieval_pb2
from nar.v1 import retrieval_pb2 as wire
from nar.wire.assumed import decode_assumed, decode_unread, encode_assumed, encode_unread
from nar.wire.graphs import encode_graph
from nar.wire.queries import at, decode_labels, decode_name, encode_labels

Record = TypeVar("Record")

_OWN_LABELS: Final = "labels"
# An Architecture message has the fields of an IndexEntry, but for labels, which are a map in it.
FIELDS: Final = tuple(
    field.name
    for field in retrieval_pb2.Architecture.DESCRIPTOR.fields
    if field.name != _OWN_LABELS
)

# What a message says of its architecture besides the graph; the block stands outside of `Labels`.
LABELS: Final = tuple(name for name in TEXT_BYTES if name != "block")
_TIERS: Final[tuple[Tier, ...]] = get_args(Tier)


def encode_architecture(entry: IndexEntry) -> retrieval_pb2.Architecture:
    """The message of an indexed architecture."""
    return retrieval_pb2.Architecture(**_values(entry))


def decode_architecture(message: retrieval_pb2.Architecture, score: float = 1.0) -> Hit:
    """The hit of a message; an architecture that was looked up by name has score 1."""
    values = {name: getattr(message, name) for name in FIELDS}
    return Hit(**values, own=decode_labels(message.labels), score=score)


def encode_answer(answer: Answer) -> wire.SearchResult:
    """The result of one query that was answered; a part that was not asked for stays absent."""
    return wire.SearchResult(
        hits=_encode_hits(answer.hits),
        same_network=_encode_hits(answer.same_network),
        same_at_inference=_encode_hits(answer.same_at_inference),
        same_design=_encode_hits(answer.same_design),
        novelty=answer.novelty,
        resemblance=_fields_of(answer.resemblance),
        family=_encode_family(answer.family),
        trunk=_encode_family(answer.trunk),
        part_of=_encode_wholes(answer.part_of),
        bodies=_encode_bodies(answer.bodies),
        changes=_encode_changes(answer.changes),
        coverage=_encode_coverage(answer.coverage),
        shared=_encode_reasons(answer.shared),
        card=None if answer.card is None else encode_card(answer.card),
        compared=answer.compared,
        assumed=None if answer.assumed is None else encode_assumed(answer.assumed),
        unread=None if answer.unread is None else encode_unread(answer.unread),
        wrapped=_encode_wrapped(answer.wrapped),
        stale_since=answer.stale_since,
        sentences=[asdict(sentence) for sentence in sentences(answer)],
    )


def decode_answer(message: wire.SearchResult) -> Answer:
    """The answer of a result whose status is OK; `words.sentences` says it again in sentences."""

    def part(field: str, decode: Callable[[Any], Record]) -> Record | None:
        return decode(getattr(message, field)) if message.HasField(field) else None

    return Answer(
        hits=_decode_hits(message.hits),
        same_network=_decode_hits(message.same_network),
        same_at_inference=_decode_hits(message.same_at_inference),
        same_design=_decode_hits(message.same_design),
        novelty=part("novelty", float),
        resemblance=part("resemblance", _decode_resemblance),
        family=part("family", _decode_family),
        trunk=part("trunk", _decode_family),
        part_of=part("part_of", _decode_wholes),
        bodies=part("bodies", _decode_bodies),
        changes=part("changes", _decode_changes),
        coverage=part("coverage", _decode_coverage),
        shared=part("shared", _decode_reasons),
        card=part("card", _decode_card),
        compared=part("compared", int),
        assumed=part("assumed", decode_assumed),
        unread=part("unread", decode_unread),
        wrapped=part("wrapped", _decode_wrapped),
        stale_since=part("stale_since", float),
    )


def _fields_of(record: Resemblance | None) -> dict[str, Any] | None:
    return asdict(record) if record else None


def _decode_resemblance(message: wire.Resemblance) -> Resemblance:
    counted = (message.hits, message.of, message.score)
    return Resemblance(cast("Word", message.word), message.name, message.family, *counted)


def _encode_wrapped(wrapped: Wrapped | None) -> wire.Wrapped | None:
    if wrapped is None:
        return None
    taken_off = [asdict(each) for each in wrapped.taken_off]
    return wire.Wrapped(same=wrapped.same, hits=_encode_hits(wrapped.hits), taken_off=taken_off)


def _decode_wrapped(message: wire.Wrapped) -> Wrapped:
    taken_off = (
        TakenOff(cast("Place", each.place), tuple(each.operators), each.count, each.rank)
        for each in message.taken_off
    )
    same = cast("Sameness", message.same)
    return Wrapped(same, _decode_hits(message.hits), tuple(taken_off))


def _encode_family(verdict: FamilyVerdict | None) -> dict[str, Any] | None:
    return {"family": verdict.family, **asdict(verdict)} if verdict else None


def _decode_family(message: wire.FamilyVerdict) -> FamilyVerdict:
    counts = (
        FamilyCount(each.family, each.hits, each.score, each.vote, tuple(each.also))
        for each in message.counts
    )
    return FamilyVerdict(message.of, tuple(counts))


def _encode_wholes(wholes: Sequence[Whole] | None) -> wire.Wholes | None:
    if wholes is None:
        return None
    return wire.Wholes(wholes=[{"name": each.name, **asdict(each.part)} for each in wholes])


def _decode_wholes(message: wire.Wholes) -> tuple[Whole, ...]:
    return tuple(
        Whole(each.name, PartOf(each.share, each.of_whole, cast("Where", each.where)))
        for each in message.wholes
    )


def _encode_bodies(bodies: Sequence[SharedBody] | None) -> wire.Bodies | None:
    return None if bodies is None else wire.Bodies(bodies=[asdict(each) for each in bodies])


def _decode_bodies(message: wire.Bodies) -> tuple[SharedBody, ...]:
    return tuple(SharedBody(each.name, _decode_roles(each.differs)) for each in message.bodies)


def _decode_roles(texts: Iterable[str]) -> tuple[Role, ...]:
    return tuple(cast("Role", text) for text in texts)


def _encode_changes(changes: Sequence[Changes] | None) -> wire.ChangesList | None:
    if changes is None:
        return None
    listed = [
        wire.Changes(name=each.name, edits=_encode_edits(each.edits), design=each.design or "")
        for each in changes
    ]
    return wire.ChangesList(changes=listed)


def _decode_changes(message: wire.ChangesList) -> tuple[Changes, ...]:
    return tuple(
        Changes(each.name, _decode_edits(each.edits), cast("DesignChange", each.design) or None)
        for each in message.changes
    )


def _encode_edits(edits: Edits) -> wire.Edits:
    first, second = edits.paired
    return wire.Edits(
        edits=[{**asdict(edit), "text": edit.text} for edit in edits.edits],
        first_paired=first,
        second_paired=second,
        at_inference=edits.at_inference,
        text=edits.text,
    )


def _decode_edits(message: wire.Edits) -> Edits:
    edits = (
        Edit(
            cast("EditKind", each.kind),
            each.times,
            tuple(each.removed),
            tuple(each.added),
            each.after,
            cast("Part", each.part),
        )
        for each in message.edits
    )
    return Edits(tuple(edits), (message.first_paired, message.second_paired), message.at_inference)


def _encode_coverage(covered: Coverage | None) -> dict[str, Any] | None:
    return {**asdict(covered), "word": covered.word} if covered else None


def _decode_coverage(message: wire.Coverage) -> Coverage:
    operators = tuple(NewOperators(each.operator, each.times) for each in message.operators)
    shares = (message.new, message.narrow, message.wide)
    return Coverage(*shares, operators, message.nearest, message.left)


def encode_card(card: DesignCard) -> wire.DesignCard:
    """The message of a card; what was not read stays absent."""
    read = {name: value for name, value in asdict(card).items() if value is not None}
    return wire.DesignCard(**read)


def _decode_card(message: wire.DesignCard) -> DesignCard:
    read: dict[str, Any] = {
        each.name: tuple(value) if each.name == "stages" else value
        for each, value in message.ListFields()
    }
    # An optional number that is 0 is listed; an absent number is not.
    return DesignCard(**read)


def _encode_reasons(reasons: Sequence[Explanation] | None) -> wire.Explanations | None:
    if reasons is None:
        return None
    return wire.Explanations(explanations=map(_encode_reason, reasons))


def _encode_reason(reason: Explanation) -> wire.Explanation:
    return wire.Explanation(
        name=reason.name,
        shared=map(_encode_counts, reason.motifs.shared),
        different=map(_encode_counts, reason.motifs.other),
        at_inference=reason.motifs.at_inference,
        differs=None if reason.differs is None else wire.Differing(roles=reason.differs),
        edits=_encode_edits(reason.motifs.edits),
    )


def _decode_reasons(message: wire.Explanations) -> tuple[Explanation, ...]:
    return tuple(
        Explanation(
            each.name,
            decode_explanation(each),
            _decode_roles(each.differs.roles) if each.HasField("differs") else None,
        )
        for each in message.explanations
    )


def encode_state(state: IndexState, *, takes_writes: bool) -> retrieval_pb2.Index:
    """The message of the state of an index, behind a server that takes writes or none."""
    return retrieval_pb2.Index(
        collection=state.collection,
        is_in_memory=state.is_in_memory,
        is_writable=takes_writes and state.is_writable,
        visible_within_ms=round(1_000 * state.visible_within_s),
        stale_since=state.stale_since,
    )


def decode_state(message: retrieval_pb2.Index) -> IndexState:
    """The state of a message."""
    return IndexState(
        message.collection,
        is_in_memory=message.is_in_memory,
        is_writable=message.is_writable,
        visible_within_s=message.visible_within_ms / 1_000,
        stale_since=message.stale_since if message.HasField("stale_since") else None,
    )


def _decode_hits(messages: Iterable[retrieval_pb2.Hit]) -> tuple[Hit, ...]:
    return tuple(decode_architecture(message.architecture, message.score) for message in messages)


def _values(entry: IndexEntry) -> dict[str, Any]:
    return {**{name: getattr(entry, name) for name in FIELDS}, **_own(entry.own)}


def _own(own: str) -> dict[str, Any]:
    return {_OWN_LABELS: encode_labels(own)} if own else {}


def _encode_hits(hits: Iterable[Hit]) -> list[Any]:
    # As mappings: messages would be copied, and would take twice as long.
    return [{"architecture": _values(hit), "score": hit.score} for hit in hits]


def encode_new(item: Architecture) -> wire.NewArchitecture:
    """The message of an architecture that is to be indexed."""
    labels: dict[str, Any] = {name: getattr(item.labels, name) for name in LABELS}
    labels |= _own(item.labels.own)
    return wire.NewArchitecture(block=item.block, graph=encode_graph(item.graph), **labels)


def decode_new(
    message: wire.NewArchitecture, graph: Callable[[wire.Graph], Fingerprinted]
) -> Architecture:
    """The architecture of a message; its texts are as long as the index can hold them.

    Args:
        message: As it came.
        graph: Decodes its graph.

    Raises:
        InvalidInputError: Its field is a path from the message: ``graph.nodes[7]``.
    """
    if not message.name:
        raise InvalidQueryError("name", "wanted a name, came none")
    for column, limit in TEXT_BYTES.items():
        fault = label_fault(getattr(message, column), limit)
        if fault:
            raise InvalidQueryError(column, fault)
    tier, own = _tier(message.tier), decode_labels(message.labels)
    with at("graph"):
        drawn = graph(message.graph)
    labels = {name: getattr(message, name) for name in LABELS}
    return Architecture(
        Labels(**labels | {"tier": tier}, own=own),
        message.block,
        drawn.graph,
        drawn.topology,
        drawn.exact,
        drawn.inference,
    )


@dataclass(frozen=True, slots=True)
class LabelChange:
    """What changes of the labels of an indexed architecture.

    Attributes:
        name: Its name or id.
        labels: Own labels to set, or family and task; others stay.
        removed: Keys of own labels to take away.

    Raises:
        InvalidInputError: A key or value cannot be one; names the label.
    """

    name: str
    labels: Mapping[str, LabelValue]
    removed: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        written(self.own)
        for key in self.columns:
            if fault := label_fault(self.labels[key], TEXT_BYTES[key]):
                raise InvalidQueryError(f"labels.{key}", fault)
        for key in self.removed:
            checked_key(key)

    @property
    def own(self) -> dict[str, LabelValue]:
        """The labels of the user's own."""
        return {key: each for key, each in self.labels.items() if key not in COLUMN_KEYS}

    @property
    def columns(self) -> dict[str, str]:
        """Family and task, where they are set."""
        return {key: str(self.labels[key]) for key in COLUMN_KEYS if key in self.labels}

    def applied(self, row: IndexRow) -> IndexRow:
        """A row with the labels changed; its vector stays.

        Raises:
            InvalidInputError: Its labels would be too many or too long together.
        """
        columns: dict[str, Any] = {**self.columns}
        return replace(row, own=changed(row.own, self.own, self.removed), **columns)


def encode_change(change: LabelChange) -> wire.LabelChange:
    """The message of a change of labels."""
    return wire.LabelChange(
        architecture=change.name,
        removed=sorted(change.removed),
        **_own(written(change.own)),
        **dict[str, Any](change.columns),
    )


def decode_change(message: wire.LabelChange) -> LabelChange:
    """The change of a message.

    Raises:
        InvalidInputError: Its field is a path from the message.
    """
    with at("architecture"):
        name = decode_name(message.architecture)
    own = read(decode_labels(message.labels))
    columns = {key: getattr(message, key) for key in COLUMN_KEYS if getattr(message, key)}
    return LabelChange(name, {**own, **columns}, frozenset(message.removed))


def _tier(sent: str) -> Tier:
    """What a message says of how a model comes about; older clients say nothing."""
    for tier in _TIERS:
        if sent in (tier, ""):
            return tier
    raise InvalidQueryError("tier", f"wanted {', '.join(_TIERS)} or none, came {sent!r}")


Compared = Architecture | Fingerprinted | ComputationalGraph | str


def encode_request(target: Compared, others: Sequence[str]) -> wire.ExplainRequest:
    """The message that asks what a graph, or an indexed architecture, shares with others."""
    if isinstance(target, str):
        return wire.ExplainRequest(architecture=target, others=others)
    graph = target if isinstance(target, ComputationalGraph) else target.graph
    return wire.ExplainRequest(graph=encode_graph(graph), others=others)


def encode_explanation(other: IndexEntry, motifs: MotifDifference) -> wire.ExplainResult:
    """The result of one comparison, of the target with another architecture."""
    target_share, other_share = motifs.in_shared
    return wire.ExplainResult(
        architecture=encode_architecture(other),
        shared=map(_encode_counts, motifs.shared),
        different=map(_encode_counts, motifs.other),
        target_share=target_share,
        other_share=other_share,
        at_inference=motifs.at_inference,
        edits=_encode_edits(motifs.edits),
    )


def decode_explanation(message: wire.ExplainResult | wire.Explanation) -> MotifDifference:
    """What the target, which comes first, and the other share, by a result that is OK."""
    return MotifDifference(
        shared=_decode_counts(message.shared),
        other=_decode_counts(message.different),
        at_inference=message.at_inference,
        edits=_decode_edits(message.edits),
    )


def _encode_counts(motif: MotifCounts) -> wire.MotifCounts:
    return wire.MotifCounts(
        code=motif.code, operators=motif.operators, in_target=motif.first, in_other=motif.second
    )


def _decode_counts(messages: Iterable[wire.MotifCounts]) -> tuple[MotifCounts, ...]:
    return tuple(
        MotifCounts(each.code, tuple(each.operators), each.in_target, each.in_other)
        for each in messages
    )
