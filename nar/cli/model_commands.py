"""What `nar capture` and `nar motifs` do: look at one model."""

from nar.cli import display, reports
from nar.cli.lookup import captured
from nar.console import show
from nar.motifs.partition import partition


def capture(name: str, *, graph: bool, as_json: bool) -> None:
    """Show a captured model, or every node of it."""
    found = captured(name)
    item, unknown = found.architecture, found.unknown_operators
    show(
        reports.architecture(item, unknown),
        lambda: str(item.graph) if graph else display.architecture(item, unknown),
        as_json=as_json,
    )


def motifs(name: str, *, as_json: bool) -> None:
    """Show the motif types of a model."""
    cut = partition(captured(name).architecture.graph)
    show(reports.motifs(name, cut), lambda: display.motifs(name, cut), as_json=as_json)
