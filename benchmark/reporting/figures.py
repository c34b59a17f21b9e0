"""Figures of results, as PNG files. The library that draws is imported when one is asked for."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from benchmark.cells import CellResult
from benchmark.methods.registry import find_method
from benchmark.reporting.tables import read_part
from benchmark.scoring.evaluate import Score, Scored, summarise
from benchmark.tasks.datasets import NAS, REAL
from nar.base.errors import CorpusError, InvalidInputError
from nar.base.extras import missing_library

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats = NDArray[np.float32]

PERPLEXITY: Final = 30.0
MIN_SECONDS: Final = 0.1
_COLUMNS: Final = 3
# Ten colours, none of them grey; lines differ by their marks, too.
_COLOURS: Final = [f"C{number}" for number in (0, 1, 2, 3, 4, 5, 6, 8, 9)] + ["black"]
_MARKS: Final = "osD^vPX*<>"
# Table and protocol of each panel.
PANELS: Final = (("distinct", "distinct-named"), ("unseen", "unseen-named"))


@dataclass(frozen=True, slots=True, eq=False)
class Panel:
    """Vectors that are drawn as one map.

    Attributes:
        title: Above the map.
        vectors: Shape (items, dim), at least 2 of both.
        classes: Of each item.
    """

    title: str
    vectors: Floats
    classes: tuple[str, ...]

    def __post_init__(self) -> None:
        items, shape = len(self.classes), self.vectors.shape
        if len(shape) != 2 or min(shape) < 2 or shape[0] != items:
            reason = f"wanted ({items}, dim), both at least 2, came {shape}"
            raise InvalidInputError("panel.vectors", reason)


def difficulty_curve(path: Path, cells: Sequence[CellResult]) -> None:
    """Draw MAP@20, with its 95% interval, against the distance of the NAS networks, as PNG.

    Seeds are pooled; there is a line a method, in order of occurrence.

    Raises:
        InvalidInputError: There is no cell, or one of other data.
        MissingLibraryError: matplotlib is not installed.
    """
    curves = _curves(cells)
    figure = _figure(8.6, 4.2)
    axes = figure.add_subplot()
    for number, (method, scores) in enumerate(curves.items()):
        colour, mark = _look(number)
        ks, points = list(scores), list(scores.values())
        low, high = [point.low for point in points], [point.high for point in points]
        axes.fill_between(ks, low, high, color=colour, alpha=0.15, linewidth=0)
        means = [point.mean for point in points]
        axes.plot(ks, means, color=colour, marker=mark, label=find_method(method).title)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_xticks(sorted({k for scores in curves.values() for k in scores}))
    axes.set(xlabel="edits from the centre of the class", ylabel="MAP@20, 95%", ylim=(0, 1.02))
    # The lines cross every corner of the panel.
    axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
    _write(path, figure)


def trade_off(path: Path, tasks: Mapping[str, Mapping[str, tuple[float, float]]]) -> None:
    """Draw MAP@20 against the seconds that learning and embedding took, a panel a task, as PNG.

    Args:
        path: Gets the picture.
        tasks: By title of the task and of the method: seconds, MAP@20.

    Raises:
        MissingLibraryError: matplotlib is not installed.
    """
    figure = _figure(4.6 * len(tasks) + 2.4, 4.6)
    for number, (title, methods) in enumerate(tasks.items()):
        axes = figure.add_subplot(1, len(tasks), number + 1)
        for line, (method, (seconds, reached)) in enumerate(methods.items()):
            colour, mark = _look(line)
            taken = max(seconds, MIN_SECONDS)
            axes.plot(taken, reached, mark, color=colour, markersize=6, alpha=0.8, label=method)
        axes.spines[["top", "right"]].set_visible(False)
        axes.set(xscale="log", xlabel="seconds to learn and embed", ylim=(0, 1.02))
        axes.set_ylabel("MAP@20")
        axes.set_title(title, fontsize=10, loc="left")
        axes.margins(x=0.1)
    # Names beside the points would lie on each other; every panel has the same methods.
    figure.axes[-1].legend(fontsize=7, frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
    _write(path, figure)


def neighbourhood_map(path: Path, panels: Sequence[Panel]) -> None:
    """Draw vectors in the plane by t-SNE, three maps a row, as PNG: Figure 5 of the paper.

    The ten most frequent classes of a map have a colour each; the rest is grey.

    Raises:
        InvalidInputError: There is none.
        MissingLibraryError: matplotlib or scikit-learn is not installed.
    """
    if not panels:
        raise InvalidInputError("panels", "wanted at least one, came none")
    rows = -(-len(panels) // _COLUMNS)
    figure = _figure(4.2 * _COLUMNS + 1.5, 4.0 * rows)
    for number, panel in enumerate(panels):
        axes = figure.add_subplot(rows, _COLUMNS, number + 1)
        _scatter(axes, panel)
        # Maps of the same items share the legend of the last.
        if panel.classes not in [later.classes for later in panels[number + 1 :]]:
            axes.legend(fontsize=6, frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
    _write(path, figure)


def tsne(vectors: Floats) -> Floats:
    """Places in the plane that keep who is near whom by cosine: (items, dim) to (items, 2).

    It starts from principal components, so nothing is by lot.

    Raises:
        MissingLibraryError: scikit-learn is not installed.
    """
    try:
        from sklearn.manifold import TSNE
        from threadpoolctl import threadpool_limits
    except ImportError as error:
        raise missing_library("sklearn") from error
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit = vectors / np.where(lengths > 0, lengths, 1.0)
    # Vectors that are all alike have no principal component to start from.
    start = "pca" if np.ptp(unit, axis=0).any() else "random"
    perplexity = min(PERPLEXITY, (len(unit) - 1) / 3)
    # Its threads wait for each other by spinning: on a busy machine one is far faster.
    with threadpool_limits(1):
        drawn = TSNE(init=start, perplexity=perplexity, random_state=0).fit_transform(unit)
    return np.asarray(drawn, dtype=np.float32)


def _look(number: int) -> tuple[str, str]:
    """Colour and mark of a line: no two of the first hundred have both in common."""
    rounds, colour = divmod(number, len(_COLOURS))
    return _COLOURS[colour], _MARKS[(colour + rounds) % len(_MARKS)]


def _curves(cells: Sequence[CellResult]) -> Mapping[str, Mapping[int, Score]]:
    """MAP@20 by method, and by distance in ascending order."""
    seeds: defaultdict[str, defaultdict[int, list[Scored]]] = defaultdict(lambda: defaultdict(list))
    odd = sorted({result.cell.data for result in cells} - set(NAS))
    if odd or not cells:
        raise InvalidInputError("cells", f"wanted some of {', '.join(NAS)}, came {odd or 'none'}")
    for result in cells:
        seeds[result.cell.method][NAS[result.cell.data]].append(result.scored)
    return {
        method: {k: summarise(scored).scores["map@20"] for k, scored in sorted(of.items())}
        for method, of in seeds.items()
    }


def _scatter(axes: "Axes", panel: Panel) -> None:
    points, classes = tsne(panel.vectors), np.array(panel.classes)
    # The larger class first, then by name: the same colours in every map of the same items.
    ranked = sorted(Counter(classes.tolist()).items(), key=lambda pair: (-pair[1], pair[0]))
    named = {name: colour for (name, _), colour in zip(ranked, _COLOURS, strict=False)}
    rest = points[~np.isin(classes, list(named))]
    if len(rest):
        axes.scatter(rest[:, 0], rest[:, 1], 5, "lightgrey", label="other")
    for name, colour in named.items():
        mine = points[classes == name]
        axes.scatter(mine[:, 0], mine[:, 1], 5, colour, label=name)
    axes.set_title(panel.title, fontsize=10, loc="left")
    axes.set(xticks=[], yticks=[])


def _figure(width: float, height: float) -> "Figure":
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise missing_library("matplotlib") from error
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def _write(path: Path, figure: "Figure") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    # Without the version of the library, the same results give the same bytes.
    figure.savefig(path, dpi=120, metadata={"Software": None})


def write_trade_off(results: Path) -> None:
    """Draw every method of two tables, as ``tradeoff.png`` beside them; nothing is learned.

    Args:
        results: Holds the tables, gets the picture.

    Raises:
        CorpusError: A table is missing.
        MissingLibraryError: matplotlib is not installed.
    """
    panels = {f"{REAL}, {each[1]}": _reached(results, *each) for each in PANELS}
    trade_off(results / "tradeoff.png", panels)


def _reached(results: Path, table: str, protocol: str) -> dict[str, tuple[float, float]]:
    """By title of the method: seconds, MAP@20."""
    part = read_part(results, table, REAL, protocol)
    if part is None:
        raise CorpusError(
            f"{results} lacks {protocol}; make its table with "
            f"`python -m benchmark run {table} --results {results}`"
        )
    rows = part["rows"]
    return {row["title"]: (row["seconds"], row["scores"]["map@20"]["mean"]) for row in rows}
