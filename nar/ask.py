"""The atlas in one line of Python: `nar.search`, `nar.describe`, `nar.diff`, `nar.novelty_of`, ...

A model is a name of the atlas, anything else that the command line takes, a torch module with
example inputs, or a graph. Answers show themselves in a notebook and become tables.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from io import StringIO
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import pyarrow as pa
from rich.console import RenderableType

from nar.answers.atlas import AtlasContent, read_atlas, shipped_atlas
from nar.answers.bodies import SharedBody
from nar.answers.conditions import MemoryValues, as_field, check_values
from nar.answers.design_card import DesignCard, design_card
from nar.answers.difference import Difference, difference, motif_times
from nar.answers.map import read_map
from nar.answers.naming import Asked, named
from nar.answers.query import PARTS, Answer, Query
from nar.answers.retrieve import Retriever
from nar.answers.supported import Closest, closest, list_of, sharing
from nar.answers.verdict import Resemblance
from nar.base.asking import NOTHING_STATED, Asking
from nar.base.console import SafeConsole
from nar.base.errors import CorpusError
from nar.base.model_files import is_file_name
from nar.base.own_labels import reported
from nar.corpus import Corpus, CorpusGraphs, shipped_corpus
from nar.graphs.architecture import UNKNOWN, Architecture, Labels, architecture
from nar.graphs.by import By
from nar.graphs.graph import ComputationalGraph
from nar.index.filters import Filter
from nar.motifs.partition import MotifPartition, partition
from nar.own import capture_architecture
from nar.views import display
from nar.views.answer import NetworkRow, answer_view, one_row_a_network
from nar.views.difference import difference_html, difference_view
from nar.views.html import fragment, html_of
from nar.views.plots import map_of

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure
    from torch import nn

Model: TypeAlias = "str | Architecture | ComputationalGraph | nn.Module"
# Chosen: columns of a text that stands in a notebook or a log, in place of a terminal's.
_WIDTH: Final = 100


class Shown(ABC):
    """An answer that a terminal, a notebook and a table can show."""

    __slots__ = ()

    @abstractmethod
    def view(self) -> RenderableType:
        """What a person sees."""

    @abstractmethod
    def rows(self) -> list[Mapping[str, Any]]:
        """The rows of its table."""

    def __repr__(self) -> str:
        # In a notebook rich would show the text itself, in addition to returning it.
        text = StringIO()
        console = SafeConsole(
            file=text,
            width=_WIDTH,
            force_jupyter=False,
            force_terminal=False,
            color_system=None,
        )
        console.print(self.view())
        return text.getvalue().rstrip()

    def _repr_html_(self) -> str:
        return fragment(html_of(self.view()))

    def to_arrow(self) -> pa.Table:
        """The rows as a table of Arrow."""
        return pa.Table.from_pylist(self.rows())

    def to_pandas(self) -> "pd.DataFrame":
        """The rows as a data frame of pandas, which has to be installed."""
        return self.to_arrow().to_pandas()


@dataclass(frozen=True, slots=True, repr=False)
class Relatives(Shown):
    """The answer of `search`.

    Attributes:
        name: Name of the query.
        answer: The whole answer, see `nar.answers.query.Answer`.
        closest: What an engine supports; None where no engine was asked for. Its ``issue`` is a
            text for an issue of the engine.
    """

    name: str
    answer: Answer
    closest: Closest | None = None

    def view(self) -> RenderableType:
        """The sentences of the answer, and a table of the hits with a row for each network."""
        return answer_view(self.name, self.answer, self.networks, self.closest)

    @property
    def networks(self) -> list[NetworkRow]:
        """The networks among the hits, the nearest first, each with its copies."""
        return one_row_a_network(self.answer.hits, len(self.answer.hits), self.name)

    @property
    def resemblance(self) -> Resemblance | None:
        """What the model is like."""
        return self.answer.resemblance

    @property
    def bodies(self) -> tuple[SharedBody, ...]:
        """Which of the nearest hits have its body, with another head or embedding."""
        return self.answer.bodies or ()

    def plot(self) -> "Figure":
        """The map of the atlas with the hits on it, as a figure of matplotlib.

        Raises:
            MissingLibraryError: matplotlib is not installed.
            CorpusError: The atlas came without a map.
        """
        atlas = shipped_atlas()
        points = read_map(atlas)
        if points is None:
            raise CorpusError(f"{atlas.directory} holds no map; make it with `nar atlas draw`")
        places = {name: place for place, name in enumerate(_content().index.values("name"))}
        return map_of(self.name, points, [places[row.hit.name] for row in self.networks])

    def rows(self) -> list[Mapping[str, Any]]:
        """A row for each network: its first hit, and the names of its copies."""
        return [{**reported(asdict(row.hit)), "copies": list(row.copies)} for row in self.networks]


@dataclass(frozen=True, slots=True, repr=False)
class Motifs(Shown):
    """The motif types of a model.

    Attributes:
        name: Name of the model.
        cut: The motifs of the model.
    """

    name: str
    cut: MotifPartition

    def view(self) -> RenderableType:
        """A table of the motif types, the largest share of the nodes first."""
        return display.motifs(self.name, self.cut)

    def rows(self) -> list[Mapping[str, Any]]:
        """A row for each motif type, by first occurrence."""
        return [asdict(each) for each in motif_times(self.cut)]


@dataclass(frozen=True, slots=True, repr=False)
class Compared(Shown):
    """Two models side by side.

    Attributes:
        difference: What they share, and where they differ.
    """

    difference: Difference

    def view(self) -> RenderableType:
        """Verdict, sizes, operators, motifs and nodes."""
        return difference_view(self.difference)

    def rows(self) -> list[Mapping[str, Any]]:
        """A row for each motif type of either model."""
        motifs = self.difference.motifs
        return [asdict(each) for each in (*motifs.shared, *motifs.other)]

    def _repr_html_(self) -> str:
        return fragment(*difference_html(self.difference))


@dataclass(frozen=True, slots=True, repr=False)
class Described(Shown):
    """What a model is made of.

    Attributes:
        name: Name of the model.
        card: Its card; a field is None where it was not read or does not apply.
    """

    name: str
    card: DesignCard

    def view(self) -> RenderableType:
        """A sentence, and a line for each field."""
        return display.card(self.name, self.card)

    def rows(self) -> list[Mapping[str, Any]]:
        """One row, with all fields."""
        return [{"name": self.name, **asdict(self.card)}]


def search(
    model: Model,
    example: object = None,
    *,
    top_k: int = 10,
    wanted: Filter | None = None,
    by: By | None = None,
    explain: bool = False,
    among: str | None = None,
) -> Relatives:
    """Find the architectures of the atlas whose design is nearest to a model's.

    Args:
        model: See the module.
        example: Inputs of one call, where the model is a module or of a Python file: a tensor, a
            shape, a text as `--input` takes it, a tuple or list of these for arguments by position,
            or a mapping for arguments by name. Without it the inputs are found. An `Asking` also
            says what the code of a file may do.
        top_k: Number of relatives; copies of one network are one.
        wanted: Conditions that relatives must meet.
        by: What relatives share with the model: the design, the family, the trunk, or most of the
            structure. By default the design, and most of the structure ``among`` an engine.
        explain: Whether to name the motifs that the first hits share with the model.
        among: An engine, such as ``vllm``: relatives are what it supports, and the closest is said
            with what differs.

    Raises:
        CaptureError: The model could not be captured, or no inputs were found that it runs on.
        InvalidQueryError: A setting is out of range.
        InvalidInputError: The atlas has no such family, source or the like; the nearest are given.

    Example:
        >>> relatives = search("timm:resnet18", top_k=3)
        >>> relatives.to_arrow()["family"].to_pylist()
        ['resnet', 'sharesnet', 'resnet']
        >>> "torchvision:resnet18" in relatives.rows()[0]["copies"]
        True
        >>> search("transformers:codegen/CodeGenForCausalLM", among="vllm").closest.architecture
        'GPTJForCausalLM'
    """
    conditions = wanted or Filter()
    check_values(MemoryValues(_content().index), conditions, as_field)
    listed = list_of(among) if among is not None else None
    if listed:
        conditions = listed.narrowed(conditions)
    asked = asked_of(model, example)
    item = asked.architecture
    parts = frozenset(PARTS if explain else set(PARTS) - {"shared"})
    query = Query(
        item,
        top_k,
        conditions,
        sharing(by, listed),
        parts,
        assumed=asked.assumed,
        counted="networks",
        unread=asked.unread,
    )
    retriever = _retriever()
    answer = retriever.answer(query)
    name = item.labels.name
    compared = item if query.has_verdict else name
    supported = closest(listed, compared, answer, retriever.graphs) if listed else None
    return Relatives(name, answer, supported)


def architecture_of(model: Model, example: object = None) -> Architecture:
    """A model as NAR reads it: labels, canonical graph, fingerprints; arguments as for `search`.

    Example:
        >>> architecture_of("timm:resnet50").graph.parameters
        25557032
    """
    return asked_of(model, example).architecture


def asked_of(model: Model, example: object = None) -> Asked:
    """A model as NAR reads it, and what was assumed of it; arguments as for `search`."""
    if isinstance(model, Architecture):
        return Asked(model)
    if isinstance(model, str):
        found = named(model, shipped_corpus())
        known = _known([found.name]).get(found.name)
        stated = _stated(example) if is_file_name(found.name) else NOTHING_STATED
        asked = Asked(known) if known else Asked.of(capture_architecture(found.name, stated))
        return asked.noted(found)
    if isinstance(model, ComputationalGraph):
        return Asked(architecture(_labels("graph"), model))
    # Who has a module has torch; names and files need none.
    from nar.capture.record import with_unread
    from nar.own.calling import capture_lent

    name = type(model).__name__
    stated = _stated(example)
    inputs = (stated.inputs or None) if stated.example is None else stated.example
    captured = capture_lent(name, model, inputs)
    item = architecture(_labels(name), captured.network, captured.weights, with_unread(captured))
    return Asked(item, captured.assumed, captured.unread)


def motifs_of(model: Model, example: object = None) -> Motifs:
    """The repeated blocks that a model is made of; arguments as for `search`.

    Example:
        >>> motifs_of("timm:resnet50").to_arrow()["times"].to_pylist()
        [1, 4, 12, 1]
    """
    item = architecture_of(model, example)
    return Motifs(item.labels.name, partition(item.graph))


def describe(model: Model, example: object = None) -> Described:
    """What a model is made of: kind, blocks, norm, attention, both ends; arguments as for `search`.

    Example:
        >>> describe("timm:vit_tiny_patch16_224").card.stem
        'patches of 16'
    """
    item = architecture_of(model, example)
    return Described(item.labels.name, design_card(item.graph, item.details))


def diff(first: Model, second: Model, example: object = None) -> Compared:
    """What two models share, and where they differ; arguments as for `search`.

    Example:
        >>> diff("timm:resnet50", "timm:resnet101").difference.motifs.other
        ()
    """
    one, other = asked_of(first, example), asked_of(second, example)
    compared = difference(one.architecture, other.architecture)
    assumed, unread = (one.assumed, other.assumed), (one.unread, other.unread)
    return Compared(replace(compared, assumed=assumed, unread=unread))


def novelty_of(model: Model, example: object = None) -> float | None:
    """How many of a hundred designs of known families have a nearer relative in the atlas.

    It is 0 where the design is known, and None where less than half of the model was read;
    arguments as for `search`.

    Example:
        >>> novelty_of("timm:resnet50")
        0.0
    """
    asked = asked_of(model, example)
    return _retriever().answer(Query(asked.architecture, 1, unread=asked.unread)).novelty


@cache
def _content() -> AtlasContent:
    """The atlas, which is read with the first question: that takes a while."""
    return read_atlas(shipped_atlas())


def _retriever() -> Retriever:
    """The retriever over the atlas and the shipped corpus."""
    content = _content()
    graphs = CorpusGraphs(shipped_corpus())
    return Retriever(content.embedder, content.index, content.novelty, graphs)


def _known(names: Sequence[str]) -> Mapping[str, Architecture]:
    """The architectures that the shipped corpus has; their libraries are not imported."""
    sources = {name.partition(":")[0] for name in names}
    return Corpus(shipped_corpus()).graphs(names, sources, with_details=True)


def _stated(example: object) -> Asking:
    return example if isinstance(example, Asking) else Asking(example=example)


def _labels(name: str) -> Labels:
    return Labels(name=name, source="python", library="-", family=UNKNOWN, task=UNKNOWN)
