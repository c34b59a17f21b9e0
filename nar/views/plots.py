"""Pictures of a corpus, as PNG files. The library that draws is imported when one is asked for."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nar.base.errors import InvalidInputError
from nar.base.extras import missing_library
from nar.corpus import Corpus, Location
from nar.corpus.columns import numbers_of
from nar.corpus.manifest import TIERS, Counts, SourceCounts
from nar.corpus.summary import SIZES, Group, Summary

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Chosen: groups in a picture; more names would not be readable on one page.
_SHOWN_GROUPS = 30
# Chosen: bars of a histogram, several to each factor of ten.
_BINS = 48
# Chosen: a query, which has no place of its own on the map, is drawn amid so many first hits.
_NEAREST = 3
# Chosen: dots an inch, sharp at half the size in print; more makes larger files.
_DPI = 120
# Distinguished by lightness too, so that they survive grey print.
_COLOURS = {"raw": "#c3d2e3", "exact": "#5b8db8", "topology": "#1f3a5f"}
_WORDS = {"raw": "captured", "exact": "distinct networks", "topology": "distinct designs"}
_TIER_COLOURS = {"named": "#1f3a5f", "composed": "#5b8db8", "swept": "#e0a458"}


def write_plots(
    directory: Path, corpus: Location, numbers: Summary, sources: Mapping[str, SourceCounts]
) -> tuple[Path, ...]:
    """Draw sources, tasks, families, sizes and copies of a corpus.

    Args:
        directory: Gets the PNG files; made if it is not there.
        corpus: Directory of the corpus.
        numbers: Its summary, from `nar.corpus.summary.summarise`.
        sources: Counts by source, from its manifest.

    Returns:
        The files.

    Raises:
        MissingLibraryError: matplotlib is not installed.
        InvalidInputError: The directory cannot be made or written into.
    """
    pictures: dict[str, Callable[[], Figure]] = {
        "sources": lambda: _sources(sources),
        "tasks": lambda: _groups("Tasks", numbers.tasks),
        "families": lambda: _groups("Families", numbers.families),
        "sizes": lambda: _sizes(corpus),
        "copies": lambda: _copies(numbers),
    }
    try:
        directory.mkdir(parents=True, exist_ok=True)
        return tuple(_written(directory / f"{name}.png", draw()) for name, draw in pictures.items())
    except OSError as error:
        reason = f"wanted a directory to write into: {error.strerror}"
        raise InvalidInputError(str(directory), reason) from error


def _written(path: Path, figure: "Figure") -> Path:
    # Without the version of the library, the same corpus gives the same bytes.
    figure.savefig(path, dpi=_DPI, metadata={"Software": None})
    return path


def _figure(width: float, height: float, columns: int = 1) -> tuple["Figure", list["Axes"]]:
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise missing_library("matplotlib") from error
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    axes = [figure.add_subplot(1, columns, column + 1) for column in range(columns)]
    for each in axes:
        each.spines[["top", "right"]].set_visible(False)
        each.tick_params(labelsize=8)
    return figure, axes


def _bars(axes: "Axes", names: Sequence[str], counts: Sequence[Group | Counts]) -> None:
    """Draw three bars for each name, the longest one behind the others."""
    rows = np.arange(len(names))
    for name, height in (("raw", 0.82), ("exact", 0.54), ("topology", 0.26)):
        values = [getattr(count, name) for count in counts]
        axes.barh(rows, values, height, color=_COLOURS[name], label=_WORDS[name])
    for row, count in zip(rows, counts, strict=True):
        axes.annotate(
            f"{count.raw:,} / {count.exact:,} / {count.topology:,}",
            (count.raw, row),
            xytext=(3, 0),
            textcoords="offset points",
            va="center",
            fontsize=7,
        )
    # Room for the numbers behind the longest bar.
    axes.set_xlim(0, 1.22 * max((count.raw for count in counts), default=1))
    axes.set_yticks(rows, names)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_xlabel("architectures", fontsize=8)
    axes.legend(fontsize=8, frameon=False, loc="lower right")


def _sources(sources: Mapping[str, SourceCounts]) -> "Figure":
    ordered = sorted(sources.items(), key=lambda pair: (-pair[1].raw, pair[0]))
    figure, (axes,) = _figure(8, 1.4 + 0.34 * len(ordered))
    _bars(axes, [name for name, _ in ordered], [count for _, count in ordered])
    axes.set_title("Sources", fontsize=10, loc="left")
    return figure


def _groups(title: str, groups: Sequence[Group]) -> "Figure":
    shown = groups[:_SHOWN_GROUPS]
    figure, (axes,) = _figure(8, 1.4 + 0.26 * len(shown))
    _bars(axes, [group.name or "(none)" for group in shown], shown)
    more = f", the largest {len(shown)} of {len(groups)}" if len(groups) > len(shown) else ""
    axes.set_title(f"{title}{more}", fontsize=10, loc="left")
    return figure


def _sizes(corpus: Location) -> "Figure":
    figure, panels = _figure(11, 3.4, columns=3)
    words = {"parameters": "parameters", "flops": "FLOPs", "nodes": "operators"}
    cards = Corpus(corpus).columns(["tier", *(SIZES[name] for name in words)])
    tiers = np.array(cards["tier"].to_pylist(), dtype=str)
    for axes, (name, word) in zip(panels, words.items(), strict=True):
        values = numbers_of(cards[SIZES[name]])
        _histogram(axes, {tier: values[tiers == tier] for tier in TIERS})
        axes.set_xlabel(word, fontsize=8)
    panels[0].set_ylabel("architectures", fontsize=8)
    for axes in panels:
        if axes.get_legend_handles_labels()[0]:
            axes.legend(fontsize=8, frameon=False)
    figure.suptitle("Sizes", fontsize=10, x=0.01, ha="left")
    return figure


def _histogram(axes: "Axes", values: Mapping[str, NDArray[np.int64]]) -> None:
    """Sizes stacked by tier on a logarithmic axis, without sizes of zero."""
    kept = {tier: mine[mine > 0] for tier, mine in values.items()}
    kept = {tier: mine for tier, mine in kept.items() if len(mine)}
    if not kept:
        return
    low = min(mine.min() for mine in kept.values())
    high = max(mine.max() for mine in kept.values())
    axes.hist(
        list(kept.values()),
        bins=np.geomspace(low, high + 1, _BINS).tolist(),
        stacked=True,
        color=[_TIER_COLOURS[tier] for tier in kept],
        label=list(kept),
    )
    axes.set_xscale("log")


def _copies(summary: Summary) -> "Figure":
    figure, panels = _figure(9, 3.4, columns=2)
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    for axes, copies in zip(panels, summary.copies, strict=True):
        sizes = np.array(list(copies.by_size), dtype=np.int64)
        groups = np.array(list(copies.by_size.values()), dtype=np.int64)
        if not copies.by_size:
            continue
        axes.scatter(sizes, groups, s=14, color=_COLOURS["topology"])
        axes.set_xscale("log")
        axes.set_yscale("log")
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            axis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
            axis.set_minor_formatter(NullFormatter())
        axes.set_xlabel(
            f"architectures that share one {copies.fingerprint} fingerprint", fontsize=8
        )
        axes.set_title(
            f"{copies.distinct:,} distinct, {copies.groups:,} shared, "
            f"{copies.across_sources:,} across sources",
            fontsize=9,
            loc="left",
        )
    panels[0].set_ylabel("groups of that size", fontsize=8)
    figure.suptitle("Copies", fontsize=10, x=0.01, ha="left")
    return figure


def map_of(name: str, points: NDArray[np.float32], hits: Sequence[int]) -> "Figure":
    """A query on the map of an atlas: all architectures, its hits, and itself among the nearest.

    Args:
        name: Name of the query.
        points: Shape (architectures, 2), where each architecture lies.
        hits: Positions of the hits in `points`, nearest first.

    Raises:
        MissingLibraryError: matplotlib is not installed.
    """
    figure, (axes,) = _figure(6, 6)
    axes.scatter(points[:, 0], points[:, 1], s=1, color="0.8", linewidths=0)
    near = points[list(hits)]
    axes.scatter(near[:, 0], near[:, 1], s=14, color="tab:blue", label=f"{len(near)} relatives")
    if len(near):
        own = near[:_NEAREST].mean(axis=0)
        axes.scatter(own[0], own[1], s=90, marker="*", color="tab:red", label=name)
    axes.set_axis_off()
    axes.legend(fontsize=8, frameon=False, loc="lower left")
    return figure
