"""What a person sees of two corpora beside each other."""

from collections import Counter
from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from nar.corpus.comparison import Change, Comparison
from nar.views.corpus_display import new_table

_SHOWN_CHANGES = 30
_SHOWN_NAMES = 12


def comparison(compared: Comparison) -> RenderableType:
    """What became of a corpus: how many models, and how the graphs of others changed."""
    common = compared.equal + len(compared.changed)
    counts = Text.assemble(
        f"{compared.before:,} architectures before, {compared.after:,} now; {common:,} in both: ",
        (f"{compared.equal:,} of the same exact fingerprint", "bold"),
        f", {len(compared.changed):,} of another one.",
    )
    return Group(
        counts,
        _changes(compared.changed),
        _few("no longer there", compared.gone),
        _few("new", compared.new),
        _few("with other labels", compared.relabelled),
        _few("with another number of parameters", compared.resized),
    )


def _changes(changes: Sequence[Change]) -> Table:
    kinds = Counter((change.gained, change.lost, change.same_design) for change in changes)
    example = {(each.gained, each.lost, each.same_design): each.name for each in reversed(changes)}
    commonest = kinds.most_common(_SHOWN_CHANGES)
    rest = (
        f", the commonest {len(commonest)} of {len(kinds):,}" if len(kinds) > len(commonest) else ""
    )
    columns = ["gained", "lost", "design", "for example"]
    table = new_table(f"Graphs that changed, by operators{rest}", columns, ["models"])
    for kind, count in commonest:
        gained, lost, same_design = kind
        design = "the same" if same_design else "another"
        table.add_row(_words(gained), _words(lost), design, example[kind], f"{count:,}")
    return table


def _words(operators: Sequence[str]) -> str:
    return ", ".join(operators) or "-"


def _few(title: str, names: Sequence[str]) -> Text:
    more = ", ..." if len(names) > _SHOWN_NAMES else ""
    shown = f": {', '.join(names[:_SHOWN_NAMES])}{more}" if names else ""
    return Text(f"{len(names):,} {title}{shown}")
