"""Filter: what a hit must be. Each condition is one row of one table: a field of `Filter`.

Every index, the wire and the command line read that table, so that a new condition is one line
here and one field of the `Filter` message. Labels of a user's own have conditions beside the table,
by any key. Filters hold filters, a bounded number in all and bounded deep; `combined` alone defines
what such a group means. No text of a caller goes into an expression unescaped; text that cannot be
escaped is refused.
"""

import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache
from typing import Any, Final, Generic, Literal, TypeVar, get_args

from nar.base.errors import CorpusError, InvalidInputError, InvalidQueryError
from nar.base.own_labels import CONTROLS, LabelValue, checked_key, checked_value, kind_of

# The longest text that a column holds is a name.
MAX_VALUE_BYTES: Final = 4_096
# The largest number that a column of counts, 64-bit integers, holds.
MAX_INT64: Final = 2**63 - 1
# Fields of a filter, and of its message on the wire, that hold filters.
GROUPS: Final = ("all_of", "any_of", "none_of")
# Chosen, as is the depth below: above what a person asks. The largest filter within both bounds has
# 30 operators inside each other, and Milvus reads about 46: see `nar.index.dialect`.
MAX_FILTERS: Final = 64
# Chosen: see above.
MAX_DEPTH: Final = 8
# Chosen: the texts of all lists of a filter together. Without this bound 64 filters could have
# 576,000 texts, which take a Milvus server more than a minute.
MAX_VALUES: Final = 10_000
# Chosen: a word of a design card stands for thousands of fingerprints, a megabyte of expression.
MAX_CARD_CONDITIONS: Final = 8

# Chosen: conditions on labels of one's own in a filter with all in it; people write a handful.
MAX_LABEL_CONDITIONS: Final = 64

_SURROGATE: Final = re.compile("[\ud800-\udfff]")
Kind = Literal[
    "decoder-only", "encoder", "encoder-decoder", "cnn", "u-net", "state-space", "recurrent",
    "graph", "mlp", "mixed",
]  # fmt: skip
Norm = Literal["none", "layer", "rms", "batch", "group", "instance", "l2", "response"]
Activation = Literal[
    "relu", "relu6", "leaky_relu", "prelu", "elu", "selu", "celu", "gelu", "silu", "mish",
    "sigmoid", "log_sigmoid", "tanh", "hard_swish", "hard_sigmoid", "hard_tanh", "softplus",
    "softsign",
]  # fmt: skip
Mlp = Literal["plain", "gated", "mixture"]
Attention = Literal["none", "multi-head", "grouped", "multi-query"]
Positions = Literal["rotary", "learned", "fixed", "relative"]

# The fields of a card that are filtered by, each with the words that it may have.
CARD_WORDS: Final[Mapping[str, tuple[str, ...]]] = {
    "kind": get_args(Kind),
    "norm": get_args(Norm),
    "activation": get_args(Activation),
    "mlp": get_args(Mlp),
    "attention": get_args(Attention),
    "positions": get_args(Positions),
}
# The fields of a filter that ask a design card, in the order of the words.
_CARD_LISTS: Final = ("kinds", "norms", "activations", "mlps", "attentions", "positions")

_ROW: Final = "nar.condition"
_WORDS: Final = "nar.words"

Nested = TypeVar("Nested")
Term = TypeVar("Term")


@dataclass(frozen=True, slots=True)
class Range:
    """Bounds of a number, both inclusive; None is no bound.

    Example:
        >>> Range(minimum=10)
        Range(minimum=10, maximum=None)
    """

    minimum: int | None = None
    maximum: int | None = None


_UNSET: Final = ((), Range())

Texts = tuple[str, ...]
Wanted = Texts | Range


Sign = Literal["in", "exists", "<", "<=", ">", ">="]
_SIGNS: Final[tuple[Sign, ...]] = get_args(Sign)
_ORDERED: Final = ("number", "date")


@dataclass(frozen=True, slots=True)
class LabelCondition:
    """A condition on a label of a user's own: a row without the label does not meet it.

    Attributes:
        key: Key of the label.
        sign: ``in`` holds where the label equals any of the values, ``exists`` where there is one;
            the others compare numbers and dates with the one value.
        values: What is compared; values of another kind than the label's are never equal to it.
        kinds: Kind of each value: to Python true equals 1.

    Raises:
        InvalidQueryError: The key or a value can be none, or the sign does not fit the values.

    Example:
        >>> LabelCondition("accuracy", ">", (0.8,)).holds({"accuracy": 0.9})
        True
        >>> LabelCondition("stable", "in", (True,)).holds({"stable": 1.0})
        False
    """

    key: str
    sign: Sign
    values: tuple[LabelValue, ...] = ()
    kinds: tuple[str, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        try:
            checked_key(self.key)
            values = tuple(checked_value(f"labels.{self.key}", each) for each in self.values)
        except InvalidInputError as error:
            raise InvalidQueryError(error.field, error.reason) from None
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "kinds", tuple(map(kind_of, values)))
        if fault := self._fault():
            raise InvalidQueryError(f"labels.{self.key}", fault)

    def _fault(self) -> str | None:
        if self.sign not in _SIGNS:
            return f"wanted one of {', '.join(_SIGNS)}, came {self.sign!r}"
        if self.sign == "exists":
            return "wanted no value beside exists, came some" if self.values else None
        if self.sign == "in":
            return None if self.values else "wanted values to be equal to, came none"
        if len(self.values) != 1 or self.kinds[0] not in _ORDERED:
            return f"wanted one number or one date behind {self.sign}, came {list(self.values)!r}"
        return None

    def holds(self, labels: Mapping[str, LabelValue]) -> bool:
        """Whether the labels of a row meet it."""
        value = labels.get(self.key)
        if value is None:
            return False
        if self.sign == "exists":
            return True
        kind = kind_of(value)
        if self.sign == "in":
            pairs = zip(self.kinds, self.values, strict=True)
            return any(each == (kind, value) for each in pairs)
        return kind == self.kinds[0] and _COMPARED[self.sign](value, self.values[0])


_COMPARED: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@dataclass(frozen=True, slots=True)
class Condition:
    """One row of the table of conditions.

    Attributes:
        field: Name in `Filter` and in its message on the wire.
        column: Column of the index that is compared.
        flag: Name on the command line, without its dashes; bounds get ``min-`` or ``max-`` before.
        meaning: What the column holds, as the help of the command line calls it.
        is_range: Whether the condition is a `Range`, rather than a list of texts.
        is_label: Whether many rows share each text of the column, so that a list of all texts can
            be offered.
        words: Of a field of design cards, the texts that it may have. The index has no column of
            it: see `nar.index.cards`.
    """

    field: str
    column: str
    flag: str
    meaning: str
    is_range: bool
    is_label: bool
    words: Texts = ()


def on(
    column: str, meaning: str, *, flag: str | None = None, words: Texts = ()
) -> dict[str, object]:
    """The metadata that makes a field of a filter a row of the table; see `Condition`.

    Args:
        column: Column of the index that is compared.
        meaning: What the column holds.
        flag: Name on the command line; the name of the column if None.
        words: Of a field of design cards, the texts that it may have.
    """
    return {_ROW: (column, flag or column, meaning, False), _WORDS: words}


def label(column: str, meaning: str) -> dict[str, object]:
    """As `on`, for a label: a column whose texts are each shared by many rows."""
    return {_ROW: (column, column, meaning, True)}


@dataclass(frozen=True, slots=True)
class Filter:
    """What a hit must be: every field that is set must hold.

    A tuple of texts holds if the column equals any of the texts, a `Range` if the column lies
    within it, ``labels`` if every condition in it holds. ``all_of`` holds if all filters in it
    hold, ``any_of`` if at least one holds, and ``none_of`` if none holds. A filter with nothing set
    lets everything pass.

    Raises:
        InvalidQueryError: A value that no row can have or that cannot be escaped, or more filters
            or texts than are allowed; the error names the field.

    Example:
        >>> wanted = Filter(families=("resnet", "vit"), parameters=Range(maximum=10_000_000))
        >>> [(condition.column, value) for condition, value in wanted.conditions()]
        [('family', ('resnet', 'vit')), ('parameters', Range(minimum=None, maximum=10000000))]
        >>> Filter(nodes=Range(3, 2))
        Traceback (most recent call last):
        ...
        nar.base.errors.InvalidQueryError: nodes: minimum 3 is above maximum 2
        >>> small = Filter(parameters=Range(maximum=1_000_000))
        >>> small_or_old = Filter(any_of=(small, Filter(families=("vgg", "alexnet"))))
        >>> neither = Filter(none_of=(small_or_old,))
    """

    names: Texts = field(default=(), metadata=on("name", "name, such as timm:resnet50"))
    sources: Texts = field(default=(), metadata=label("source", "source, such as timm"))
    libraries: Texts = field(
        default=(), metadata=label("library", "library, such as 'timm 1.0.31'")
    )
    families: Texts = field(default=(), metadata=label("family", "family, such as resnet"))
    blocks: Texts = field(default=(), metadata=label("block", "block: attention, cnn or other"))
    tasks: Texts = field(default=(), metadata=label("task", "task, such as image-classification"))
    tiers: Texts = field(default=(), metadata=label("tier", "tier: named, composed or swept"))
    topologies: Texts = field(default=(), metadata=on("topology", "fingerprint of the design"))
    exacts: Texts = field(default=(), metadata=on("exact", "fingerprint of the network"))
    inferences: Texts = field(default=(), metadata=on("inference", "fingerprint at inference"))
    kinds: Texts = field(
        default=(), metadata=on("kind", "kind, such as decoder-only", words=CARD_WORDS["kind"])
    )
    norms: Texts = field(
        default=(), metadata=on("norm", "norm, such as rms", words=CARD_WORDS["norm"])
    )
    activations: Texts = field(
        default=(),
        metadata=on(
            "activation", "activation between layers, such as gelu", words=CARD_WORDS["activation"]
        ),
    )
    mlps: Texts = field(
        default=(), metadata=on("mlp", "MLP: plain, gated or mixture", words=CARD_WORDS["mlp"])
    )
    attentions: Texts = field(
        default=(),
        metadata=on("attention", "sharing of keys, such as grouped", words=CARD_WORDS["attention"]),
    )
    positions: Texts = field(
        default=(),
        metadata=on(
            "positions", "kind of positions, such as rotary", words=CARD_WORDS["positions"]
        ),
    )
    parameters: Range = field(default=Range(), metadata=on("parameters", "learned scalars"))
    flops: Range = field(default=Range(), metadata=on("flops", "FLOPs of one forward pass"))
    nodes: Range = field(default=Range(), metadata=on("nodes", "operators in the graph"))
    all_of: "tuple[Filter, ...]" = ()
    any_of: "tuple[Filter, ...]" = ()
    none_of: "tuple[Filter, ...]" = ()
    labels: tuple[LabelCondition, ...] = ()

    def __post_init__(self) -> None:
        lists = []
        for condition in conditions_of(type(self)):
            value = getattr(self, condition.field)
            if condition.is_range:
                _check_range(condition.field, value)
            else:
                _check_values(condition.field, value)
                lists.append(condition.field)
                if value and condition.words:
                    _check_words(condition, value)
        _check_group("labels", self.labels, LabelCondition)
        for group in GROUPS:
            _check_group(group, getattr(self, group), Filter)
        check_size(self, lists)

    @classmethod
    def where(cls, text: str) -> "Filter":
        """The filter that a text asks for, in the grammar of `nar.index.where`.

        Raises:
            InvalidQueryError: Says at which letter the text is at fault, and what was wanted.

        Example:
            >>> wanted = Filter.where('family = "resnet" and accuracy > 0.8')
            >>> wanted.families, wanted.labels[0].key
            (('resnet',), 'accuracy')
        """
        # Imported here, because it imports this module.
        from nar.index.where import parsed

        return parsed(text)

    def conditions(self) -> Iterator[tuple[Condition, Wanted]]:
        """The conditions that are set, each with what it wants."""
        for condition in conditions_of(type(self)):
            value: Wanted = getattr(self, condition.field)
            if value not in _UNSET:
                yield condition, value


def conditions_of(kind: type[Filter]) -> tuple[Condition, ...]:
    """The table: a row for each field of a filter, in their order.

    Raises:
        TypeError: A field says neither its column nor its flag.

    Example:
        >>> [condition.column for condition in conditions_of(Filter)][:4]
        ['name', 'source', 'library', 'family']
    """
    return _table(kind)  # type: ignore[arg-type]  # mypy takes the hash of instances


def lists_of(kind: type[Filter]) -> tuple[str, ...]:
    """The fields of a filter that hold lists of texts."""
    return tuple(condition.field for condition in conditions_of(kind) if not condition.is_range)


@cache
def _table(kind: type[Filter]) -> tuple[Condition, ...]:
    rows = []
    for each in fields(kind):
        if each.name in (*GROUPS, "labels"):
            continue
        if _ROW not in each.metadata:
            raise TypeError(f"{kind.__name__}.{each.name}: wanted a row of the table of conditions")
        column, flag, meaning, is_label = each.metadata[_ROW]
        is_range = isinstance(each.default, Range)
        words = each.metadata.get(_WORDS, ())
        rows.append(Condition(each.name, column, flag, meaning, is_range, is_label, words))
    return tuple(rows)


def _check_values(field_path: str, values: Texts) -> None:
    # A bare string is iterable too: it would be read as a list of its letters.
    if not isinstance(values, tuple):
        reason = f"wanted a tuple of texts, came {type(values).__name__}"
        raise InvalidQueryError(field_path, reason)
    for position, value in enumerate(values):
        fault = text_fault(value, MAX_VALUE_BYTES)
        if fault:
            raise InvalidQueryError(f"{field_path}[{position}]", fault)


def _check_words(condition: Condition, values: Texts) -> None:
    for position, value in enumerate(values):
        if condition.words and value not in condition.words:
            known = ", ".join(condition.words)
            reason = f"wanted one of {known}; came {value!r}"
            raise InvalidQueryError(f"{condition.field}[{position}]", reason)


def text_fault(value: object, max_bytes: int) -> str | None:
    """Why a value is no text that the index can hold; None if it is.

    Example:
        >>> text_fault("resnet", 4)
        'wanted at most 4 bytes, came 6'
    """
    if not isinstance(value, str):
        return f"wanted a text, came {type(value).__name__}"
    if _SURROGATE.search(value):
        return "wanted text that UTF-8 can carry, came a lone surrogate"
    size = len(value.encode())
    return f"wanted at most {max_bytes} bytes, came {size}" if size > max_bytes else None


def label_fault(value: object, max_bytes: int) -> str | None:
    r"""Why a value cannot be a name or a label of a row; None if it can.

    Example:
        >>> label_fault("net\x1b[2J", 40)
        "wanted no control characters, came '\\x1b'"
    """
    fault = text_fault(value, max_bytes)
    if fault is None and (found := CONTROLS.search(str(value))):
        return f"wanted no control characters, came {found[0]!a}"
    return fault


def _check_group(field_path: str, several: tuple[object, ...], kind: type) -> None:
    if not isinstance(several, tuple):
        reason = f"wanted a tuple of {_PLURALS[kind]}, came {type(several).__name__}"
        raise InvalidQueryError(field_path, reason)
    for position, each in enumerate(several):
        if not isinstance(each, kind):
            reason = f"wanted a {kind.__name__}, came {type(each).__name__}"
            raise InvalidQueryError(f"{field_path}[{position}]", reason)


def _check_range(field_path: str, wanted: Range) -> None:
    if not isinstance(wanted, Range):
        raise InvalidQueryError(field_path, f"wanted a Range, came {type(wanted).__name__}")
    for name in ("minimum", "maximum"):
        bound = getattr(wanted, name)
        if bound is not None and not is_count(bound):
            reason = f"wanted a whole number from 0 to {MAX_INT64}, came {bound!r}"
            raise InvalidQueryError(f"{field_path}.{name}", reason)
    lowest, highest = wanted.minimum, wanted.maximum
    if lowest is not None and highest is not None and lowest > highest:
        raise InvalidQueryError(field_path, f"minimum {lowest} is above maximum {highest}")


def is_count(value: object) -> bool:
    """Whether a value is a whole number that a column can hold."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_INT64


def nested(wanted: Nested) -> Iterator[tuple[str, Nested]]:
    """A filter or its message, then each filter inside it, each with its path.

    Args:
        wanted: Has the fields of ``GROUPS``.

    Raises:
        InvalidQueryError: There are more than ``MAX_FILTERS`` filters, or deeper than
            ``MAX_DEPTH``; filters beyond that are not looked at.

    Example:
        >>> from nar.index.filters import Filter
        >>> wanted = Filter(any_of=(Filter(), Filter(none_of=(Filter(),))))
        >>> sorted(path for path, _ in nested(wanted))
        ['', 'any_of[0]', 'any_of[1]', 'any_of[1].none_of[0]']
    """
    pending = [("", wanted, 1)]
    number = 1
    while pending:
        path, one, depth = pending.pop()
        yield path, one
        for group in GROUPS:
            several: Sequence[Nested] = getattr(one, group)
            if not several:
                continue
            at = below(path, group)
            number += len(several)
            if number > MAX_FILTERS:
                reason = f"wanted at most {MAX_FILTERS} filters, nested ones counted, came more"
                raise InvalidQueryError(at, reason)
            if depth == MAX_DEPTH:
                raise InvalidQueryError(at, f"wanted filters at most {MAX_DEPTH} deep, came deeper")
            for position, each in enumerate(several):
                pending.append((f"{at}[{position}]", each, depth + 1))


def check_size(wanted: object, lists: Sequence[str]) -> None:
    """Refuse a filter that would cost too much, before anything is made of it.

    Args:
        wanted: A filter or its message.
        lists: Its fields that hold lists of texts.

    Raises:
        InvalidQueryError: Filters are too many or too deep, or all lists together too long.
    """
    number = conditions = cards = 0
    for path, one in nested(wanted):
        cards += sum(bool(getattr(one, each)) for each in lists if each in _CARD_LISTS)
        if cards > MAX_CARD_CONDITIONS:
            reason = f"wanted at most {MAX_CARD_CONDITIONS} conditions on design cards, came more"
            raise InvalidQueryError(below(path, "kinds"), reason)
        labels: Sequence[LabelCondition] = getattr(one, "labels", ())
        conditions += len(labels)
        if conditions > MAX_LABEL_CONDITIONS:
            reason = f"wanted at most {MAX_LABEL_CONDITIONS} conditions on labels, came more"
            raise InvalidQueryError(below(path, "labels"), reason)
        number += sum(len(each.values) for each in labels)
        for each in lists:
            number += len(getattr(one, each))
            if number > MAX_VALUES:
                reason = f"wanted at most {MAX_VALUES} texts in a filter with all in it, came more"
                raise InvalidQueryError(below(path, each), reason)


def below(path: str, field: str) -> str:
    """The path of a field of the filter at a path.

    Example:
        >>> below("any_of[1]", "nodes"), below("", "nodes")
        ('any_of[1].nodes', 'nodes')
    """
    return f"{path}.{field}" if path else field


@dataclass(frozen=True, slots=True)
class Terms(Generic[Term]):
    """How a back end writes the parts of a filter, such as expressions or masks of rows.

    Attributes:
        condition: The rows that a condition lets pass.
        label: The rows that a condition on a label lets pass.
        every: The rows that pass all terms of a list; every row if the list is empty.
        some: The rows that pass at least one term of a list, which is never empty.
        negated: The rows that do not pass a term.
    """

    condition: Callable[[Condition, Wanted], Term]
    label: Callable[[LabelCondition], Term]
    every: Callable[[Sequence[Term]], Term]
    some: Callable[[Sequence[Term]], Term]
    negated: Callable[[Term], Term]


def combined(wanted: Filter, terms: Terms[Term]) -> Term:
    """The rows that a filter lets pass.

    Args:
        wanted: The filter. A row passes if it meets the filter's own conditions, and passes every
            filter in ``all_of``, at least one in ``any_of`` unless that is empty, and none in
            ``none_of``.
        terms: How the back end writes each part.

    Example:
        >>> words = Terms(
        ...     condition=lambda condition, wanted: f"{condition.column} {wanted[0]}",
        ...     label=lambda condition: condition.key,
        ...     every=lambda parts: " and ".join(parts) or "anything",
        ...     some=lambda parts: f"({' or '.join(parts)})",
        ...     negated=lambda part: f"not {part}",
        ... )
        >>> cnns = Filter(blocks=("cnn",), none_of=(Filter(tasks=("ocr",)), Filter(tasks=("sr",))))
        >>> combined(cnns, words)
        'block cnn and not (task ocr or task sr)'
        >>> combined(Filter(any_of=(Filter(), cnns)), words)
        '(anything or block cnn and not (task ocr or task sr))'
    """
    parts = [terms.condition(*_in_columns(*each)) for each in wanted.conditions()]
    parts += [terms.label(each) for each in wanted.labels]
    parts += [combined(each, terms) for each in wanted.all_of]
    if wanted.any_of:
        parts.append(terms.some([combined(each, terms) for each in wanted.any_of]))
    if wanted.none_of:
        refused = terms.some([combined(each, terms) for each in wanted.none_of])
        parts.append(terms.negated(refused))
    return terms.every(parts)


def _in_columns(condition: Condition, wanted: Wanted) -> tuple[Condition, Wanted]:
    """The condition on a column of the index that a condition on a design card means.

    Raises:
        InvalidQueryError: No cards of known designs are here.
    """
    if not condition.words or isinstance(wanted, Range):
        return condition, wanted
    # Not read by a filter without such a condition.
    from nar.index import cards

    try:
        exacts = cards.known_cards().having(condition.column, wanted)
    except CorpusError as error:
        raise InvalidQueryError(condition.field, str(error)) from error
    return replace(condition, column="exact", words=()), exacts


_PLURALS: Final[dict[type, str]] = {Filter: "filters", LabelCondition: "conditions on labels"}
# Every row passes this filter. It stands last, because the checks that it runs stand above.
EVERYTHING: Final = Filter()
