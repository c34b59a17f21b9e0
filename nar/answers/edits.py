"""Edits: how one graph becomes another one, as records; `nar.answers.comparison` makes them.

Changes of a design that have a name in the field are kinds of edit. A further kind is a row of
`_RUNS`, where operators come or go, or of `_SWAPS`, where one takes the place of another, and a
text.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final, Literal, NamedTuple

from nar.graphs.ops import Trait, with_any

EditKind = Literal[
    "operators", "depth", "squeeze_excitation", "channel_gate", "layer_scale", "gate", "rotary",
    "learned_positions", "grouped_queries", "norm", "norm_place", "activation", "convolution",
    "kernel", "dilation", "pooling", "stem", "head", "result", "attention_for_convolution",
    "separable_convolution", "shifted_windows", "shortcut", "learned_operand", "heads", "width",
    "stride", "experts", "response_norm", "moved", "parallel",
]  # fmt: skip
# Where an edit is, as far as names depend on it.
Part = Literal["stem", "embedding", "body", "head"]


class _Run(NamedTuple):
    """Operators that come or go together, under a name.

    Attributes:
        kind: The name.
        added: Expression of the operators that come; a star stands behind a learned operand.
        removed: Expression of the operators that they replace.
        parts: Where; anywhere if empty.
    """

    kind: EditKind
    added: str
    removed: str = ""
    parts: tuple[Part, ...] = ()


_LAYER: Final = r"(linear|conv|conv_grouped)"
_POOLED: Final = r"((adaptive_)?avg_pool|mean|sum)\*?"
_ANY_NORM: Final = r"(batch|layer|rms|group|instance)_norm"
_GATE: Final = r"(sigmoid|hard_sigmoid|hard_tanh|clamp)"
# The first row that fits; both ways round, for what came in one direction goes in the other.
_RUNS: Final[tuple[_Run, ...]] = (
    _Run(
        "squeeze_excitation",
        rf"{_POOLED} {_LAYER}\*?( {_ANY_NORM})?( \w+)? {_LAYER}\*?( {_ANY_NORM})?( {_GATE})* mul",
    ),
    _Run("channel_gate", rf"({_POOLED}|max|adaptive_max_pool)( \w+)* {_GATE} mul"),
    _Run("layer_scale", r"mul\*( mul\*)*"),
    _Run("rotary", r"rotary( rotary)*"),
    _Run("learned_positions", r"(embedding )?add\*?|embedding", parts=("embedding", "stem")),
    _Run("learned_positions", r"embedding add"),
    _Run("result", rf"softmax|log_softmax|argmax|topk|{_GATE}", parts=("head",)),
    _Run("norm", rf"{_ANY_NORM}( {_ANY_NORM})*"),
    _Run("activation", "|".join(sorted(with_any(Trait.ACTIVATION) | {"pow"}))),
    _Run("gate", rf"{_LAYER}( {_ANY_NORM})?( \w+)? mul"),
    _Run("attention_for_convolution", r"(linear )+attention linear", r"conv\w*"),
    _Run("separable_convolution", r"conv_depthwise (\w+ ){0,2}conv( \w+)?", r"conv"),
    _Run("head", r".*", r".*", ("head",)),
    _Run("response_norm", r"(vector_norm|l2_norm) mean( add)? div mul( \w+\*?)*"),
    _Run("experts", r".*\btopk\b.*", r".*"),
    _Run("stem", r".*\bconv\b.*", r".*", ("stem",)),
    _Run("shifted_windows", r".*\broll\b.*"),
    _Run("shortcut", rf"({_LAYER} )?add"),
)
_SWAPS: Final[Mapping[EditKind, frozenset[str]]] = {
    "norm": with_any(Trait.NORM),
    "activation": with_any(Trait.ACTIVATION) | {"glu"},
    "convolution": with_any(Trait.CONVOLVES),
    "pooling": frozenset(
        {"max_pool", "avg_pool", "adaptive_avg_pool", "adaptive_max_pool", "lp_pool"}
    ),
}


@lru_cache(maxsize=4096)  # chosen: two networks have some hundred different runs
def kind_of_run(removed: str, added: str, part: Part) -> EditKind:
    """What it is called that operators come or go.

    Args:
        removed: Operators that go, in canonical order, with a space between; a star stands behind a
            learned operand.
        added: Operators that come.
        part: Where.

    Example:
        >>> kind_of_run("", "mean linear relu linear sigmoid mul", "body")
        'squeeze_excitation'
        >>> kind_of_run("sort", "cumsum", "body")
        'operators'
    """
    for run in _RUNS:
        if run.parts and part not in run.parts:
            continue
        if any(
            re.fullmatch(run.added, one) and re.fullmatch(run.removed, other)
            for one, other in ((added, removed), (removed, added))
        ):
            return run.kind
    return "operators"


def kind_of_swap(removed: str, added: str) -> EditKind:
    """What it is called that one operator takes the place of another.

    Example:
        >>> kind_of_swap("layer_norm", "rms_norm"), kind_of_swap("linear", "conv")
        ('norm', 'operators')
    """
    both = {removed, added}
    return next((kind for kind, names in _SWAPS.items() if both <= names), "operators")


# What comes, and what goes: texts of edits in which operators do only one of both.
_COMES: Final[Mapping[EditKind, tuple[str, str]]] = {
    "squeeze_excitation": ("squeeze-and-excitation", "no squeeze-and-excitation"),
    "channel_gate": ("a gate for each channel", "no gate for each channel"),
    "layer_scale": ("a learned scale (layer scale)", "no learned scale (layer scale)"),
    "rotary": ("rotary positions", "no rotary positions"),
    "learned_positions": ("learned positions", "no learned positions"),
    "gate": ("a gate ({added})", "no gate ({removed})"),
    "norm": ("a norm more ({added})", "a norm less ({removed})"),
    "activation": ("an activation more ({added})", "an activation less ({removed})"),
    "shortcut": ("a shortcut more ({added})", "a shortcut less ({removed})"),
    "shifted_windows": ("shifted windows ({added})", "no shifted windows ({removed})"),
    "response_norm": ("global response norm", "no global response norm"),
    "experts": ("a choice of experts ({added})", "no choice of experts ({removed})"),
    "stem": ("a stem of more layers, with {added}", "a stem of fewer layers, without {removed}"),
    "head": ("another head, with {added}", "another head, without {removed}"),
    "result": ("{added} on the result", "no {removed} on the result"),
}
_INSTEAD: Final[Mapping[EditKind, str]] = {
    "stem": "another stem: {added} for {removed}",
    "head": "another head: {added} for {removed}",
    "attention_for_convolution": "attention for {removed}",
    "separable_convolution": "separable convolutions: {added} for {removed}",
    "learned_operand": "{added} for {removed} (* with a learned operand)",
    "grouped_queries": "other key and value heads for each query (grouped queries): {added}",
    "norm_place": "{added} for {removed}",
    "moved": "{added} in another place",
    "parallel": "attention and MLP side by side, and not one behind the other",
    "heads": "other heads: {added} for {removed}",
    "width": "other inner widths: {added} for {removed}, times the channels that it reads",
    "stride": "other strides: {added} for {removed}",
}


def edit_clause(kind: EditKind, removed: str, added: str) -> str:
    """An edit in words, without its number and place.

    Args:
        kind: What it is called.
        removed: Operators that go, in one line.
        added: Operators that come, in one line.

    Example:
        >>> edit_clause("layer_scale", "mul*", "")
        'no learned scale (layer scale)'
        >>> edit_clause("activation", "relu", "gelu")
        'gelu for relu'
    """
    if kind in _COMES and not (removed and added):
        return _COMES[kind][bool(removed)].format(removed=removed, added=added)
    if kind in _INSTEAD:
        return _INSTEAD[kind].format(removed=removed, added=added)
    if removed and added:
        return f"{added} for {removed}"
    return f"{added} more" if added else f"{removed} less"


# Chosen: operators of a run that are printed; a block of a transformer has some fifteen.
_SHOWN_OPERATORS: Final = 16
# Chosen: edits in a sentence, five lines of a terminal; the record has all of them.
_SHOWN_EDITS: Final = 6


@dataclass(frozen=True, slots=True)
class Edit:
    """One kind of change, with the number of its places.

    Attributes:
        kind: What it is called.
        times: How many places it has; of depth, how many blocks.
        removed: Operators of the first that the second lacks, in canonical order.
        added: Operators of the second that the first lacks.
        after: The operator that stands before most of the places; empty at the beginning.
        part: The part of the design where most of the places are.
    """

    kind: EditKind
    times: int
    removed: tuple[str, ...]
    added: tuple[str, ...]
    after: str = ""
    part: Part = "body"

    @property
    def text(self) -> str:
        """The edit in words.

        Example:
            >>> Edit("activation", 12, ("relu",), ("gelu",), "linear").text
            'gelu for relu (12 times)'
            >>> Edit("layer_scale", 1, (), ("mul*",), "linear").text
            'a learned scale (layer scale) after linear'
        """
        if self.kind == "depth":
            names, word = (self.added, "more") if self.added else (self.removed, "fewer")
            blocks = "block" if self.times == 1 else "blocks"
            return f"{self.times} {blocks} {word} ({_shortened(names)})"
        clause = edit_clause(self.kind, _shortened(self.removed), _shortened(self.added))
        is_placed = self.after and bool(self.added) != bool(self.removed)
        where = f" after {self.after}" if is_placed else ""
        times = f" ({self.times} times)" if self.times > 1 else ""
        return f"{clause}{where}{times}"

    def turned(self) -> "Edit":
        """The edit that makes the first of the second."""
        return replace(self, removed=self.added, added=self.removed)


def _shortened(names: Sequence[str]) -> str:
    more = len(names) - _SHOWN_OPERATORS
    return " ".join((*names[:_SHOWN_OPERATORS], *([f"and {more} more"] if more > 0 else [])))


@dataclass(frozen=True, slots=True)
class Edits:
    """How one graph becomes another one.

    Attributes:
        edits: Edits; the edit that changes most operators comes first.
        paired: For each graph the share of its operators that have a counterpart of the same kind
            and window, 0 to 1; widths, heads and strides may be others.
        at_inference: Whether normal forms were compared, and not the graphs as they are written.
    """

    edits: tuple[Edit, ...] = ()
    paired: tuple[float, float] = (1.0, 1.0)
    at_inference: bool = False

    @property
    def text(self) -> str:
        """All of them in words, the largest first; those that are too many are counted."""
        more = len(self.edits) - _SHOWN_EDITS
        shown = [edit.text for edit in self.edits[:_SHOWN_EDITS]]
        if not shown:
            return "no operator differs"
        rest = [f"{more} more {'change' if more == 1 else 'changes'}"] if more > 0 else []
        return "; ".join([*shown, *rest])

    def turned(self) -> "Edits":
        """How the second graph becomes the first."""
        edits = tuple(edit.turned() for edit in self.edits)
        return replace(self, edits=edits, paired=self.paired[::-1])
