"""A directed graph as SVG: layers from top to bottom, no script, no font of its own."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from html import escape
from textwrap import wrap
from typing import Final

# In pixels.
_LINE: Final = 16
_LETTER: Final = 7.2
_PAD: Final = 8
_GAP_X: Final = 24
_GAP_Y: Final = 28
_LETTERS_A_LINE: Final = 36


@dataclass(frozen=True, slots=True)
class Box:
    """What stands for a node.

    Attributes:
        label: Its text.
        kind: Boxes of one kind have one colour.
    """

    label: str
    kind: str


@dataclass(frozen=True, slots=True)
class _Placed:
    """A box with its lines; x and y of the middle of its upper edge."""

    box: Box
    lines: tuple[str, ...]
    x: float
    y: float
    width: float
    height: float


def svg(title: str, boxes: Sequence[Box], edges: Iterable[tuple[int, int]]) -> str:
    """Draw a graph.

    Args:
        title: What it is, for who hears it read.
        boxes: In an order in which most edges go forward.
        edges: Pairs of positions.

    Example:
        >>> text = svg("two", [Box("conv", "a"), Box("relu", "b")], [(0, 1)])
        >>> text.count("<rect"), text.count("<path")
        (2, 1)
    """
    links = list(edges)
    placed = _placed(boxes, _layers(len(boxes), links))
    right = max((each.x + each.width / 2 for each in placed), default=0.0)
    left = min((each.x - each.width / 2 for each in placed), default=0.0) - 2 * _GAP_X
    width, height = right - left + 2 * _GAP_X, max((_bottom(each) for each in placed), default=0.0)
    size = f"{width:.0f} {height + _GAP_Y:.0f}"
    frame = f'viewBox="{left:.0f} 0 {size}" width="{width:.0f}" height="{height + _GAP_Y:.0f}"'
    lines = [_path(placed[source], placed[target]) for source, target in links]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {frame} '
            'font-family="ui-monospace, monospace" font-size="12">',
            f"<title>{escape(title)}</title>",
            f'<g fill="none" stroke="#888">{"".join(lines)}</g>',
            *map(_rectangle, placed),
            "</svg>",
            "",
        ]
    )


def _layers(nodes: int, edges: Iterable[tuple[int, int]]) -> list[int]:
    """Layer of each node: below all that it reads, edges that go back left aside.

    Example:
        >>> _layers(4, [(0, 1), (1, 2), (0, 3), (2, 1)])
        [0, 1, 2, 1]
    """
    layers = [0] * nodes
    for source, target in sorted(edges, key=lambda edge: edge[1]):
        if source < target:
            layers[target] = max(layers[target], layers[source] + 1)
    return layers


def _placed(boxes: Sequence[Box], layers: Sequence[int]) -> list[_Placed]:
    rows: dict[int, list[int]] = defaultdict(list)
    for node, layer in enumerate(layers):
        rows[layer].append(node)
    placed: dict[int, _Placed] = {}
    top = float(_GAP_Y)
    for layer in sorted(rows):
        texts = [tuple(wrap(boxes[node].label, _LETTERS_A_LINE)) for node in rows[layer]]
        widths = [max(map(len, lines), default=1) * _LETTER + 2 * _PAD for lines in texts]
        height = max(len(lines) for lines in texts) * _LINE + 2 * _PAD
        x = -(sum(widths) + _GAP_X * (len(widths) - 1)) / 2
        for node, lines, width in zip(rows[layer], texts, widths, strict=True):
            placed[node] = _Placed(boxes[node], lines, x + width / 2, top, width, height)
            x += width + _GAP_X
        top += height + _GAP_Y
    return [placed[node] for node in range(len(boxes))]


def _bottom(placed: _Placed) -> float:
    return placed.y + placed.height


def _path(source: _Placed, target: _Placed) -> str:
    """A line; one that passes other layers goes round them, on the left."""
    start, end = _bottom(source), target.y
    skips = not 0 < end - start <= _GAP_Y
    bend = (max(source.width, target.width) / 2 + _GAP_X) * skips
    middle = (end - start) / 2 if not skips else _GAP_Y
    return (
        f'<path d="M{source.x:.0f} {start:.0f}C{source.x - bend:.0f} {start + middle:.0f} '
        f'{target.x - bend:.0f} {end - middle:.0f} {target.x:.0f} {end:.0f}"/>'
    )


def _rectangle(placed: _Placed) -> str:
    hue = int.from_bytes(blake2b(placed.box.kind.encode(), digest_size=2).digest()) % 360
    left = placed.x - placed.width / 2
    texts = "".join(
        f'<text x="{placed.x:.0f}" y="{placed.y + _PAD + _LINE * (line + 0.8):.0f}" '
        f'text-anchor="middle" fill="#111">{escape(text)}</text>'
        for line, text in enumerate(placed.lines)
    )
    return (
        f'<g><rect x="{left:.0f}" y="{placed.y:.0f}" width="{placed.width:.0f}" '
        f'height="{placed.height:.0f}" rx="4" fill="hsl({hue} 60% 85%)" '
        f'stroke="hsl({hue} 40% 45%)"/>{texts}</g>'
    )
