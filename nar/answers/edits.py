"""Edits: the records of how one graph becomes another one; `nar.answers.comparison` makes them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from nar.answers.edit_kinds import EditKind, Part, edit_clause

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
        edits: Edits, the one that changes most operators first.
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
