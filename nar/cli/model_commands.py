"""What `nar capture` and `nar motifs` do: look at one model."""

from nar.cli import display, reports
from nar.cli.lookup import captured
from nar.console import show
from nar.motifs.partition import partition


def capture(name: str, *, graph: bool, as_json: bool) -> None:
    """Show a captured model, or every node of it."""
    model = captured(name)
    show(
        reports.capture(model),
        lambda: str(model.architecture.graph) if graph else display.capture(model),
        as_json=as_json,
    )


def motifs(name: str, *, as_json: bool) -> None:
    """Show the motif types of a model."""
    cut = partition(captured(name).architecture.graph)
    show(reports.motifs(name, cut), lambda: display.motifs(name, cut), as_json=as_json)
