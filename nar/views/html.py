"""What a person sees in a terminal, as HTML that needs nothing beside it: no script, no request.

A table of a terminal has less in it where there is less room; in HTML it has everything.
"""

from html import escape
from typing import Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text, TextType

from nar.views.display import Fitted

_STYLE: Final = """
.nar {font: 14px/1.5 system-ui, sans-serif; color-scheme: light dark}
.nar table {border-collapse: collapse; margin: 1em 0}
.nar caption {text-align: left; font-weight: 600; padding: 4px 0}
.nar th, .nar td {padding: 2px 10px; text-align: left; vertical-align: top}
.nar th {border-bottom: 1px solid #8888}
.nar td.right {text-align: right; font-variant-numeric: tabular-nums}
.nar .line {white-space: pre-wrap; font-family: ui-monospace, monospace}
.nar .bold {font-weight: 600}
.nar .dim {opacity: .7}
.nar .yellow {background: #fd03}
.nar .green {background: #2b53}
.nar .red {background: #d333}
.nar .cyan {background: #29c3}
.nar .pair {display: flex; flex-wrap: wrap; gap: 24px; align-items: flex-start}
.nar svg {max-width: 100%; height: auto}
""".strip()


def fragment(*parts: str) -> str:
    """Pieces of HTML with the style that they need, as a notebook shows them."""
    return f'<div class="nar"><style>{_STYLE}</style>{"".join(parts)}</div>'


def document(title: str, *parts: str) -> str:
    """A whole page that may be kept and sent: nothing is fetched for it."""
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>{escape(title)}</title></head>\n<body>{fragment(*parts)}</body></html>\n"
    )


def html_of(view: RenderableType) -> str:
    """The HTML of a table, of a text, or of several.

    Example:
        >>> html_of(Text("a < b", "bold yellow"))
        '<div class="line bold yellow">a &lt; b</div>'
    """
    match view:
        case Group():
            return "".join(map(html_of, view.renderables))
        case Fitted():
            return html_of(view.whole)
        case Table():
            return _table(view)
        case Text():
            return f'<div class="line {escape(str(view.style))}">{_text(view)}</div>'
    return f'<div class="line">{_text(view)}</div>'


def side_by_side(*parts: str) -> str:
    """Pieces beside each other where there is room."""
    return f'<div class="pair">{"".join(f"<figure>{part}</figure>" for part in parts)}</div>'


def _table(table: Table) -> str:
    title = f"<caption>{_text(table.title)}</caption>" if table.title else ""
    below = "".join(f'<div class="dim">{escape(line)}</div>' for line in _lines(table.caption))
    heads = "".join(f"<th>{_text(column.header)}</th>" for column in table.columns)
    head = f"<tr>{heads}</tr>" if table.show_header else ""
    cells = zip(*(column.cells for column in table.columns), strict=True)
    sides = ["right" if column.justify == "right" else "" for column in table.columns]
    rows = "".join(
        f'<tr class="{escape(str(row.style or ""))}">{_cells(values, sides)}</tr>'
        for row, values in zip(table.rows, cells, strict=True)
    )
    return f"<table>{title}{head}{rows}</table>{below}"


def _lines(caption: TextType | None) -> list[str]:
    """What stands below a table, a line each."""
    return str(caption or "").splitlines()


def _cells(values: tuple[RenderableType, ...], sides: list[str]) -> str:
    pairs = zip(values, sides, strict=True)
    return "".join(f'<td class="{side}">{_text(value)}</td>' for value, side in pairs)


def _text(value: object) -> str:
    return escape(value.plain if isinstance(value, Text) else str(value))
