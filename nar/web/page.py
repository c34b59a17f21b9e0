"""The parts of the page: its files, and what answers them about one index."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from threading import Thread
from typing import Final

import numpy as np
from numpy.typing import NDArray

from nar.answers.atlas import Atlas
from nar.answers.map import read_map
from nar.answers.uses import Uses, read_uses
from nar.base.files import package_path
from nar.serve.explaining import Graphs
from nar.serve.http import PageParts
from nar.web.catalogue import Listed
from nar.web.pages import Pages, Sources
from nar.wire.settings import ServerConfig

STATIC: Final = package_path("web", "static")


@dataclass(frozen=True, slots=True, eq=False)
class Drawn:
    """What was computed of an atlas for the page alone; without an atlas, nothing.

    Attributes:
        points: Where architectures stand on the map, by name.
        uses: Who contains which motif, and the names of its rows.
    """

    points: Mapping[str, NDArray[np.float32]] = field(default_factory=dict)
    uses: tuple[Uses, tuple[str, ...]] | None = None


def drawn(atlas: Atlas, names: tuple[str, ...]) -> Drawn:
    """What lies beside the vectors of an atlas.

    Args:
        atlas: Which.
        names: Of its architectures, in the order of the corpus.

    Raises:
        CorpusError: It is damaged.
    """
    points, uses = read_map(atlas), read_uses(atlas)
    return Drawn(
        {} if points is None else dict(zip(names, points, strict=True)),
        None if uses is None else (uses, names),
    )


def page_of(
    config: ServerConfig, graphs: Graphs | None, known: Drawn
) -> Callable[[Listed], PageParts]:
    """What makes the parts of the page for an index, once that is open."""

    def make(index: Listed) -> PageParts:
        sources = Sources(index, graphs, known.points, known.uses)
        pages = Pages(sources, config)
        Thread(target=pages.warm_up, name="page", daemon=True).start()
        return PageParts(pages.by_path(), STATIC)

    return make
