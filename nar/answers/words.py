"""Words: the sentences of an answer. Every front end shows these, and none makes its own."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from nar.answers.roles import Role
from nar.graphs.assumed import Assumed, AssumedValue, Count, Unread
from nar.graphs.fingerprints import DesignChange, Sameness

if TYPE_CHECKING:
    # For annotations only: `Difference`, which `Answer` imports, takes its sentences from here.
    from nar.answers.bodies import SharedBody
    from nar.answers.coverage import Coverage
    from nar.answers.design_card import DesignCard
    from nar.answers.difference import Changes
    from nar.answers.edits import Edits
    from nar.answers.part_of import Whole
    from nar.answers.query import Answer
    from nar.answers.verdict import FamilyVerdict, Resemblance, Word
    from nar.answers.wrapping import TakenOff, Wrapped
    from nar.index.rows import Hit

_name_of: Final = attrgetter("name")
# Chosen: so many names fit into a sentence that one reads at once; the record has all names.
_SHOWN_NAMES: Final = 3
# Chosen: for the same reason; the record has all families.
_SHOWN_FAMILIES: Final = 3
# Chosen: values, packages or lines in a sentence, two lines of a terminal; the record has all.
_SHOWN_ASSUMED: Final = 6
# Chosen: share of the operators of either network that have a counterpart, below which a list of
# changes is longer than the network.
_MUCH: Final = 0.5
# Chosen: classes of new operators in a sentence; the record has all of them.
_SHOWN_NEW: Final = 4
# Chosen: letters of a value; a whole configuration may be one.
_VALUE_CHARS: Final = 60

_DOUBTS: Final = "Not certain: {}."
_BELOW: Final = " What was assumed of the model stands below."
_USUAL: Final = "the inputs usual in its library"
_SIZES: Final[Mapping[bool | None, str]] = {
    True: "; other sizes run other operators",
    False: "; other sizes run the same operators",
    None: "",
}
_REST: Final = "the answer is about the rest"
_TOO_LITTLE: Final = "less than half was read, so that there is no verdict"
TOO_LITTLE_TEXT: Final = "Too little was read to say how they differ."
_SAME_NETWORK: Final = "This network is already known as {}."
_SAME_AT_INFERENCE: Final = (
    "At inference this is the same network as {}: a batch norm folded, branches or adapters merged."
)
_SAME_DESIGN: Final = "This design is already known, {change}, as {names}."
_KNOWN_CHANGE: Final[Mapping[DesignChange | None, str]] = {
    "sharing": "in equal widths with another sharing of weights",
    "weights": "in equal widths with a table of another size or another sharing of weights",
    "widths": "in other widths",
    "settings": "with other kernels, strides or heads",
    None: "in other widths or other settings",
}
_WRAPPED: Final[Mapping[Sameness | None, str]] = {
    "network": "This is {names}, {wrapping}.",
    "design": "This design is already known, in other widths, as {names}, {wrapping}.",
    "inference": "At inference this is {names}, {wrapping}.",
}
_NEW: Final = "No architecture in the index has this exact design."
_NOVELTY: Final = "Novelty {:.0f}: so many of 100 designs of known families have a nearer relative."
# A shared body and a whole have sentences of their own, which say it with their evidence.
_RESEMBLANCE: Final["Mapping[Word, str]"] = {
    "body": "It is nearest to {name}, whose body it has.",
    "part": "It is nearest to {name}, a part of which it is.",
    "variant": "It is a close variant of {name}{of_family}.",
    "family": "It is of the family {family}; its nearest relative is {name}.",
    "relative": "Its nearest relative is {name}{of_family}; no family stands out.",
    "near": "It has no close relative; the nearest family is {family}, {hits} of {of} hits, "
    "loosely ({score:.2f}), as {name}.",
    "unlike": "Nothing in the index is near it; the nearest is {name} ({score:.2f}).",
}
_KINDS: Final[Mapping[str | None, str]] = {
    "decoder-only": "A decoder-only transformer",
    "encoder": "A transformer encoder",
    "encoder-decoder": "An encoder-decoder transformer",
    "cnn": "A convolutional network",
    "u-net": "A U-Net",
    "state-space": "A state space model",
    "recurrent": "A recurrent network",
    "graph": "A graph network",
    "mlp": "A network of linear layers",
    "mixed": "A network of several kinds of block",
    None: "A network",
}
_NORM_NAMES: Final = {"rms": "RMS"}
_NORM_PLACES: Final[Mapping[str | None, str]] = {
    "pre": " before each branch",
    "post": " behind each sum",
    "both": " before and behind each branch",
    "branch": " behind each branch",
    "layer": " behind each layer",
    None: "",
}
_MLPS: Final = {"plain": "a plain MLP", "gated": "a gated MLP", "mixture": "a mixture of {}"}
_ACTIVATION_NAMES: Final = {
    "relu": "ReLU", "relu6": "ReLU6", "gelu": "GELU", "silu": "SiLU", "elu": "ELU", "selu": "SELU",
}  # fmt: skip
_NO_HITS: Final = "There is nothing in the index to compare it with."
_OTHER_ENDS: Final[Mapping[tuple[Role, ...], str]] = {
    (): "the same embedding and head",
    ("head",): "another head",
    ("embedding",): "another embedding",
    ("embedding", "head"): "another embedding and another head",
}
_APART: Final[Mapping[tuple[Role, ...], str]] = {
    (): "in widths alone",
    ("head",): "in the head alone",
    ("embedding",): "in the embedding alone",
    ("embedding", "head"): "in embedding and head, and not in the body",
    ("body",): "in the body alone",
    ("body", "head"): "in all but the embedding",
    ("embedding", "body"): "in all but the head",
    ("embedding", "body", "head"): "in embedding, body and head",
}
_SAMENESS: Final[Mapping[Sameness | None, str]] = {
    "network": "They are the same network: equal exact fingerprint.",
    "design": "They have the same design {change}.",
    "inference": "They are the same network at inference: equal normal forms, where batch norms "
    "are folded and branches merged. As they are written, {alike}.",
    None: "They are different designs{where}; {alike}.",
}
_CHANGE: Final[Mapping[DesignChange | None, str]] = {
    "sharing": "with another sharing of weights: equal topology, attributes and FLOPs",
    "weights": "in equal widths, and a table of another size or another sharing of weights: equal "
    "topology, attributes and FLOPs",
    "widths": "in other widths: equal topology, kernels, strides and heads",
    "settings": "with other kernels, strides or heads: equal topology, other attributes",
    None: "",
}


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence of an answer.

    Attributes:
        part: The field of the answer that the sentence is about, or the path of a field in it:
            ``assumed.doubts``.
        text: The text.
        names: Architectures in the text, in their order.
    """

    part: str
    text: str
    names: tuple[str, ...] = ()


def sentences(answer: "Answer") -> tuple[Sentence, ...]:
    """What an answer says beside its hits, the most certain first; a doubt stands before them all.

    A known design gets no weaker sentences: what it is like, and which body it has.
    """
    texts: list[Sentence] = []
    if answer.stale_since is not None:
        texts.append(Sentence("stale_since", stale_text(answer.stale_since)))
    if answer.assumed:
        texts += [Sentence("assumed.doubts", text) for text in doubts_texts(answer.assumed)]
    if answer.unread:
        texts += [Sentence("unread", text) for text in unread_texts(answer.unread)]
    if answer.unread is None or answer.unread.has_verdict:
        texts += _known(answer) if answer.is_known else _new(answer)
        texts += _like(answer)
        if answer.card:
            texts.append(Sentence("card", card_text(answer.card)))
    if answer.assumed:
        texts += [Sentence("assumed", text) for text in assumed_texts(answer.assumed)]
    return tuple(texts)


def stale_text(since: float) -> str:
    """What rows that may be old mean.

    Args:
        since: Seconds since 1970.

    Example:
        >>> stale_text(1_700_000_000)  # doctest: +ELLIPSIS
        'The store of the server cannot be read since 2023-11-14 22:13:20 UTC: what was written ...'
    """
    when = datetime.fromtimestamp(since, UTC)
    return (
        f"The store of the server cannot be read since {when:%Y-%m-%d %H:%M:%S} UTC: what was "
        "written since is not here."
    )


def resemblance_text(like: "Resemblance") -> str:
    """What a design is like.

    Example:
        >>> from nar.answers.verdict import Resemblance
        >>> resemblance_text(Resemblance("relative", "timm:resnet50"))
        'Its nearest relative is timm:resnet50; no family stands out.'
    """
    if not like.name:
        return _NO_HITS
    of_family = f", of the family {like.family}" if like.family else ""
    return _RESEMBLANCE[like.word].format(of_family=of_family, **asdict(like))


def body_text(body: "SharedBody") -> str:
    """Which known network has the same body.

    Example:
        >>> from nar.answers.bodies import SharedBody
        >>> body_text(SharedBody("timm:resnet50", ("head",)))
        'It has the body of timm:resnet50, widths aside, with another head.'
    """
    return f"It has the body of {body.name}, widths aside, with {_OTHER_ENDS[body.differs]}."


def apart(differs: tuple[Role, ...]) -> str:
    """Where two networks differ.

    Example:
        >>> apart(("head",))
        'in the head alone'
    """
    return _APART[differs]


def difference_text(
    same: Sameness | None,
    change: DesignChange | None,
    differs: tuple[Role, ...] | None,
    alike_share: float,
) -> str:
    """In what way two networks are the same, or in which parts they differ.

    Args:
        same: What both have in common.
        change: In what two networks of one design differ; None for others.
        differs: Which parts are not the same; None where a network has too small a body.
        alike_share: Share of the nodes that have a counterpart, 0 to 1.

    Example:
        >>> difference_text(None, None, ("head",), 0.98)
        'They are different designs, and differ in the head alone; 98% of the nodes are alike.'
    """
    alike = f"{100 * alike_share:.0f}% of the nodes are alike"
    where = "" if differs is None else f", and differ {apart(differs)}"
    return _SAMENESS[same].format(alike=alike, where=where, change=_CHANGE[change])


def shared_text(names: Sequence[str], paired: Sequence[float]) -> str:
    """How much of two networks has a counterpart in the other.

    Example:
        >>> shared_text(("timm:a", "timm:b"), (0.5, 1))
        '50% of timm:a and 100% of timm:b have a counterpart in the other.'
    """
    shares = (f"{100 * share:.0f}% of {name}" for name, share in zip(names, paired, strict=True))
    return f"{' and '.join(shares)} have a counterpart in the other."


# Chosen: a share that is said as 100%.
_NOTHING_SHARED: Final = 0.995


def coverage_text(covered: "Coverage") -> str:
    """How much of a design stands in no known architecture.

    Example:
        >>> from nar.answers.coverage import Coverage, NewOperators
        >>> coverage_text(Coverage(0.05, 0, 0.1, (NewOperators("conv", 3),), "timm:resnet50", 0.06))
        'Routine: 5% of it stands in no known architecture (conv 3); timm:resnet50 lacks 6% of it.'
        >>> coverage_text(Coverage(1, 0.9, 1, (NewOperators("conv", 3),), "timm:resnet50", 1))
        'New: 100% of it stands in no known architecture (conv 3).'
        >>> coverage_text(Coverage(1, 1, 1, (NewOperators("unknown:3593", 2),)))
        'New: 100% of it stands in no known architecture (unknown 2).'
        >>> coverage_text(Coverage(0, 0, 0, ()))
        'Every operator of it stands like this in some known architecture.'
    """
    # What has nothing of it is near by nothing that was counted here.
    has_some = covered.nearest and covered.left < _NOTHING_SHARED
    nearest = f"; {covered.nearest} lacks {_percent(covered.left)} of it" if has_some else ""
    if not covered.new:
        return f"Every operator of it stands like this in some known architecture{nearest}."
    # An operator outside the vocabulary is known by a hash, which tells a person nothing.
    counts = [f"{each.operator.partition(':')[0]} {each.times}" for each in covered.operators]
    more = len(counts) - _SHOWN_NEW
    named = ", ".join(counts[:_SHOWN_NEW]) + (f" and {more} more" if more > 0 else "")
    new = f"{_percent(covered.new)} of it stands in no known architecture ({named})"
    return f"{covered.word.capitalize()}: {new}{nearest}."


def card_text(card: "DesignCard") -> str:
    """What a model is made of, as far as it was read.

    Example:
        >>> from nar.answers.design_card import DesignCard
        >>> llama = DesignCard("decoder-only", 32, norm="rms", norm_place="pre", positions="rotary")
        >>> card_text(llama)
        'A decoder-only transformer of 32 blocks: RMS norm before each branch, rotary positions.'
        >>> card_text(DesignCard())
        'What it is made of was not read.'
    """
    parts = [part for part in _card_parts(card) if part]
    blocks = f" of {card.depth} blocks" if card.depth else ""
    stages = f" in stages of {', '.join(map(str, card.stages))}" if card.stages else ""
    if not (parts or blocks or card.kind):
        return "What it is made of was not read."
    kind = _KINDS[card.kind]
    return f"{kind}{blocks}{stages}{': ' if parts else ''}{', '.join(parts)}."


def _card_parts(card: "DesignCard") -> Iterator[str]:
    if card.norm not in (None, "none"):
        place = _NORM_PLACES[card.norm_place]
        yield f"{_NORM_NAMES.get(card.norm, card.norm)} norm{place}"
    if card.attention not in (None, "none") or card.heads:
        yield _attention_text(card)
    if card.positions:
        yield f"{card.positions} positions"
    if card.mlp:
        ratio = f" of ratio {card.mlp_ratio:g}" if card.mlp_ratio else ""
        yield f"{_MLPS[card.mlp].format(_experts_text(card))}{ratio}"
    if card.activation:
        yield f"{_ACTIVATION_NAMES.get(card.activation, card.activation)}"
    if card.stem:
        yield f"{card.stem} in"
    if card.head not in (None, "none"):
        yield f"{card.head} out"


def _attention_text(card: "DesignCard") -> str:
    words = {True: "causal ", False: "two-way ", None: ""}[card.causal]
    shared = f"{card.attention} " if card.attention not in (None, "multi-head") else ""
    heads = f" of {card.heads} heads" if card.heads else ""
    if card.key_value_heads and card.key_value_heads != card.heads:
        heads += f" on {card.key_value_heads} of keys"
    window = f" in a window of {card.window:,}" if card.window else ""
    return f"{words}{shared}attention{heads}{window}"


def _experts_text(card: "DesignCard") -> str:
    if not card.experts:
        return "experts"
    picked = f", {card.top_k} at a time" if card.top_k else ""
    return f"{card.experts} experts{picked}"


def _percent(share: float) -> str:
    """Such as "5%"; what is more than nothing is never 0%."""
    return "under 1%" if 0 < share < 0.01 else f"{100 * share:.0f}%"


def changes_text(names: Sequence[str], edits: "Edits") -> str:
    """How one network becomes another one.

    Example:
        >>> from nar.answers.edits import Edit, Edits
        >>> edit = Edit("activation", 2, ("relu",), ("gelu",))
        >>> changes_text(("timm:a", "timm:b"), Edits((edit,)))
        'From timm:a to timm:b: gelu for relu (2 times).'
    """
    return f"From {names[0]} to {names[1]}: {edits.text}."


def change_text(known: "Changes") -> str:
    """How a known network becomes a query.

    Example:
        >>> from nar.answers.difference import Changes
        >>> from nar.answers.edits import Edits
        >>> change_text(Changes("timm:a", Edits()))
        'This one has the operators of timm:a, wired or ordered otherwise.'
    """
    name, edits = known.name, known.edits
    if not known.design and not edits.edits:
        return f"This one has the operators of {name}, wired or ordered otherwise."
    if max(edits.paired) >= _MUCH:
        return changes_text((name, "this one"), edits)
    return f"Little of it is as in {name}: {shared_text((name, 'this'), edits.paired)}"


def known_as_text(same: Sameness, change: DesignChange | None) -> str:
    """What of a network is known, where it is the same as a known one.

    Args:
        same: What both have in common.
        change: In what two networks of one design differ, if that was compared.

    Example:
        >>> known_as_text("design", "widths")
        'design, in other widths'
    """
    if same == "design":
        return f"design, {_KNOWN_CHANGE[change]}"
    return "network" if same == "network" else "network, as it is at inference"


def assumed_texts(assumed: Assumed | None) -> Iterator[str]:
    """What was assumed of a model: its inputs as options of a command, and how it was built.

    Args:
        assumed: None where nothing was.

    Example:
        >>> list(assumed_texts(Assumed(("x=1x3x32x32",), 0.98)))
        ['Assumed: --input x=1x3x32x32 (98% of the weights are reached)']
    """
    if assumed is None:
        return
    yield from assumed.notes
    if assumed.inputs:
        options = " ".join(f"--input {shlex.quote(text)}" for text in assumed.inputs)
        share = assumed.weights_reached
        reached = _USUAL if share is None else f"{100 * share:.0f}% of the weights are reached"
        yield f"Assumed: {options} ({reached}{_SIZES[assumed.sizes_matter]})"
    for title, texts in (
        ("Built with", [_value(each) for each in assumed.values]),
        ("Not installed, and stood in for", assumed.stand_ins),
        ("Left out of the code", assumed.skipped),
    ):
        if texts:
            more = len(texts) - _SHOWN_ASSUMED
            rest = f"; and {more} more" if more > 0 else ""
            yield f"{title}: {'; '.join(texts[:_SHOWN_ASSUMED])}{rest}."


def doubts_texts(assumed: Assumed | None) -> Iterator[str]:
    """Why an answer may be about another model than its owner's; nothing where it is certain.

    Args:
        assumed: None where nothing was.

    Example:
        >>> list(doubts_texts(Assumed(is_sure=False, doubts=("the kind of x is a guess",))))
        ['Not certain: the kind of x is a guess.']
    """
    if assumed is not None and not assumed.is_sure:
        below = _BELOW if any(assumed_texts(assumed)) else ""
        yield _DOUBTS.format("; ".join(assumed.doubts) or "its inputs may be others") + below


def unread_texts(unread: Unread | None) -> Iterator[str]:
    """What a graph lacks of its model, in one sentence.

    Args:
        unread: None where the graph is the whole.

    Example:
        >>> list(unread_texts(Unread((Count("my::op", 4),), operators=8)))
        ['4 of 8 operators are not known to NAR: my::op (4); the answer is about the rest.']
    """
    if not unread:
        return
    clauses = []
    if unread.unknown:
        share = f"{unread.unknown_times:,} of {unread.operators:,} operators"
        clauses.append(f"{share} are not known to NAR: {_counted(unread.unknown)}")
    if unread.cut:
        clauses.append(f"values left the tensors by {_counted(unread.cut)} and are not followed")
    if unread.lost:
        clauses.append(f"{unread.lost:,} of {unread.parameters:,} parameters reach no result")
    if unread.facts:
        clauses.append(f"not worked out: {_counted(unread.facts)}")
    clauses.extend(f"captured without {each}" for each in unread.without)
    text = "; ".join((*clauses, _REST if unread.has_verdict else _TOO_LITTLE))
    yield f"{text[0].upper()}{text[1:]}."


def _counted(counts: Sequence[Count]) -> str:
    """Such as "my::op (4), numpy and 2 more"."""
    names = [
        each.name if each.times == 1 else f"{each.name} ({each.times})"
        for each in counts[:_SHOWN_ASSUMED]
    ]
    more = len(counts) - _SHOWN_ASSUMED
    return ", ".join(names) + (f" and {more} more" if more > 0 else "")


def _value(given: AssumedValue) -> str:
    text = given.value
    short = text if len(text) <= _VALUE_CHARS else f"{text[:_VALUE_CHARS]}..."
    return f"{given.name} = {short} ({given.place})"


def _known(answer: "Answer") -> Iterator[Sentence]:
    """What is the same as the query; the design of a known network is not mentioned again."""
    if answer.same_network:
        yield _same("same_network", _SAME_NETWORK, answer.same_network)
    if answer.same_at_inference:
        yield _same("same_at_inference", _SAME_AT_INFERENCE, answer.same_at_inference)
    if answer.same_design and not (answer.same_network or answer.same_at_inference):
        names, text = _same_design(answer)
        yield Sentence("same_design", text, names)
    if answer.wrapped:
        names, text = _names(answer.wrapped.hits)
        wrapping = wrapping_text(answer.wrapped)
        said = _WRAPPED[answer.wrapped.same].format(names=text, wrapping=wrapping)
        yield Sentence("wrapped", said, names)
    yield from _changes(answer)


def _same_design(answer: "Answer") -> tuple[tuple[str, ...], str]:
    """The networks with the design of the query; what changed is known of the first alone."""
    names, text = _names(answer.same_design)
    first, *others = answer.same_design
    known = next((each for each in answer.changes or () if each.name == first.name), None)
    change = _KNOWN_CHANGE[known.design if known else None]
    if known and others:
        _, more = _names(others)
        text = f"{first.name}; {more} {'has' if len(others) == 1 else 'have'} it, too"
    return names, _SAME_DESIGN.format(change=change, names=text)


_POINTWISE: Final[Mapping[tuple[str, ...], str]] = {
    ("conv",): "pointwise convolutions for {} of its linear layers",
    ("linear",): "linear layers for {} of its pointwise convolutions",
}


def wrapping_text(wrapped: "Wrapped") -> str:
    """What stands around a network.

    Example:
        >>> from nar.answers.wrapping import TakenOff, Wrapped
        >>> wrapping_text(Wrapped("network", (), (TakenOff("result", ("softmax", "topk")),)))
        'with a softmax and a topk on its result'
        >>> wrapping_text(Wrapped("network", (), (TakenOff("layers", count=24, rank=8),)))
        'with low-rank adapters of rank 8 on 24 layers'
    """
    return f"with {' and '.join(map(_taken_off, wrapped.taken_off))}"


def _taken_off(taken: "TakenOff") -> str:
    match taken.place:
        case "layers":
            rank = f" of rank {taken.rank}" if taken.rank else ""
            layers = "one layer" if taken.count == 1 else f"{taken.count} layers"
            return f"low-rank adapters{rank} on {layers}"
        case "outputs":
            return "one more output" if taken.count == 1 else f"{taken.count} more outputs"
        case "pointwise":
            return _POINTWISE[taken.operators].format(taken.count)
    each = [f"{'an' if name[0] in 'aeiou' else 'a'} {name}" for name in taken.operators]
    *others, last = each
    listed = f"{', '.join(others)} and {last}" if others else last
    return f"{listed} on its {taken.place}"


def _same(part: str, text: str, hits: "Sequence[Hit]") -> Sentence:
    names, shown = _names(hits)
    return Sentence(part, text.format(shown), names)


def _names(hits: "Sequence[Hit]") -> tuple[tuple[str, ...], str]:
    """The first names of hits, and all of them as a text."""
    names = tuple(map(_name_of, hits[:_SHOWN_NAMES]))
    more = f" and {len(hits) - _SHOWN_NAMES} more" if len(hits) > _SHOWN_NAMES else ""
    return names, ", ".join(names) + more


def _new(answer: "Answer") -> Iterator[Sentence]:
    """What is said of a new design alone: of a known one, this would be weaker than its name."""
    yield Sentence("novelty", _NEW)
    if answer.novelty is not None:
        yield Sentence("novelty", _NOVELTY.format(answer.novelty))
    if answer.coverage is not None:
        text, nearest = coverage_text(answer.coverage), answer.coverage.nearest
        yield Sentence("coverage", text, (nearest,) if nearest and nearest in text else ())
    if answer.bodies:
        body, *others = answer.bodies
        more = f" {len(others)} more of the hits have it." if others else ""
        yield Sentence("bodies", body_text(body) + more, (body.name,))
    yield from _part_of(answer)
    like = answer.resemblance
    if like and not _is_said_by_parts(answer, like):
        names = (like.name,) if like.name else ()
        yield Sentence("resemblance", resemblance_text(like), names)
    # Of what is not close, a difference would list most of both networks.
    if like is None or like.word not in ("near", "unlike"):
        yield from _changes(answer)


def _is_said_by_parts(answer: "Answer", like: "Resemblance") -> bool:
    """Whether the sentence about a body or a whole says what the design is like."""
    return bool((like.word == "body" and answer.bodies) or (like.word == "part" and answer.part_of))


def _part_of(answer: "Answer") -> Iterator[Sentence]:
    if answer.part_of:
        yield Sentence("part_of", _contained(*answer.part_of), (answer.part_of[0].name,))


def _changes(answer: "Answer") -> Iterator[Sentence]:
    """How known networks become the query.

    Where a design is known in other widths or with other weights, its own sentence has said it.
    """
    for each in answer.changes or ():
        if not each.design or each.design == "settings":
            yield Sentence("changes", change_text(each), (each.name,))


def _like(answer: "Answer") -> Iterator[Sentence]:
    """The families of any design, and what contains a known one."""
    # A family that is near and no more is said as the resemblance, with the same count.
    is_near = answer.resemblance is not None and answer.resemblance.word == "near"
    if answer.family and not (is_near and answer.trunk is None and not answer.is_known):
        subject = "Family" if answer.trunk is None else "Family, by what it is for"
        yield Sentence("family", _votes(subject, answer.family))
    if answer.trunk:
        yield Sentence("trunk", _votes("Family of its trunk", answer.trunk))
    if answer.is_known:
        yield from _part_of(answer)


def _votes(subject: str, verdict: "FamilyVerdict") -> str:
    """Such as "Family: bart (8 of the first 10 hits, the nearest at 0.971)."."""
    if not verdict.counts:
        return f"{subject}: {'no hit has one' if verdict.of else 'there are no hits'}."
    first = verdict.counts[0]
    if verdict.family:
        votes = f"{first.hits} of the first {verdict.of} hits, the nearest at {first.score:.3f}"
        also = f", which has designs of {', '.join(first.also)}, too" if first.also else ""
        return f"{subject}: {verdict.family}{also} ({votes})."
    votes = "; ".join(
        f"{count.family} {count.hits}, at {count.score:.3f}"
        for count in verdict.counts[:_SHOWN_FAMILIES]
    )
    return f"{subject}: none stands out among the first {verdict.of} hits ({votes})."


def _contained(whole: "Whole", *others: "Whole") -> str:
    """Such as "This is 97% contained in timm:bit: the end of it, 54% of its operators."."""
    part = whole.part
    more = f" And in {len(others)} more of the hits." if others else ""
    return (
        f"This is {100 * part.share:.0f}% contained in {whole.name}: {part.where} of it, "
        f"{100 * part.of_whole:.0f}% of its operators.{more}"
    )
