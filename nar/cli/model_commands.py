"""What `nar list`, `nar capture` and `nar motifs` do: names, and one model."""

from collections.abc import Iterator
from fnmatch import fnmatchcase

from nar.answers.atlas import read_atlas, shipped_atlas
from nar.answers.filter_checks import Held, check_values
from nar.answers.naming import meant
from nar.base.console import DEFAULT_WORK, show
from nar.choices import CorpusChoice
from nar.cli.lookup import Shape, captured, fresh_or_known
from nar.corpus import shipped_corpus
from nar.index.filters import Filter
from nar.motifs.partition import partition
from nar.views import display, reports


def known_names(pattern: str, wanted: Filter) -> Iterator[str]:
    """Names of the atlas, in their order.

    Args:
        pattern: As in a shell; letters may be large or small.
        wanted: What they must be.

    Raises:
        InvalidInputError: The filter asks for a value that nothing has.
    """
    index = read_atlas(shipped_atlas()).index
    check_values(Held(index), wanted)
    names = sorted(entry.name for entry in index.page("", index.count(), wanted))
    return (name for name in names if fnmatchcase(name.lower(), pattern.lower()))


def capture(name: str, input_shape: Shape, *, graph: bool, as_json: bool) -> None:
    """Show a captured model, or every node of it."""
    model = captured(meant(name, shipped_corpus()), input_shape)
    show(
        reports.capture(model),
        lambda: str(model.architecture.graph) if graph else display.capture(model),
        as_json=as_json,
    )


def motifs(name: str, input_shape: Shape, *, as_json: bool) -> None:
    """Show the motif types of a model."""
    model = fresh_or_known(CorpusChoice(DEFAULT_WORK), name, fresh=False, input_shape=input_shape)
    name, cut = model.labels.name, partition(model.graph)
    show(reports.motifs(name, cut), lambda: display.motifs(name, cut), as_json=as_json)
