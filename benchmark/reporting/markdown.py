"""How tables of results are laid out: who asked, a row a method, the differences, in Markdown."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from benchmark.reporting.rows import METRICS, PrintedRow, Row, best_idle, metric_title
from benchmark.scoring.evaluate import Difference, Evaluation, Score
from nar.base.files import write_whole

_COST: Final = ("dim", "seconds")


def keep_page(results: Path, name: str, text: str) -> None:
    """Write a page whole into the directory of results, which is made where there is none."""
    results.mkdir(parents=True, exist_ok=True)
    write_whole(results / name, lambda part: part.write_text(text, encoding="utf-8"))


def result_blocks(
    headline: str, rows: Sequence[Row], printed: Sequence[PrintedRow], ceiling: Evaluation
) -> list[str]:
    """Who asked, the table, the printed numbers, the best untrained baseline, the differences."""
    title = metric_title(headline)
    whole, reference = rows[-1].evaluation, rows[-1].method.title
    who = f"{whole.queries:,} queries of {whole.clusters:,} families"
    asked = f"{who} over {_seeds(whole.seeds)}"
    best = best_idle(rows, headline)
    idle = f"{best.method.title}, {best.evaluation.scores[headline].mean:.3f}" if best else "none"
    quoted = [[row.title, *map(_shown, row.scores.values())] for row in printed]
    metrics = columns_of(headline)
    header = ("method", *map(metric_title, metrics), f"{title}, 95%", f"{title}, macro", *_COST)
    return [
        f"{asked}; {whole.gallery:,} may answer. "
        f"Ceiling of {title}: {_shown(ceiling.scores[headline].mean)}.",
        markdown_table(header, [*_lines(rows, metrics, headline), *quoted]),
        *_against_printed(rows, printed),
        f"Best untrained baseline, by {title}: {idle}.",
        f"Differences: {title} less that of {reference}, query by query; none: 95% includes 0.",
        markdown_table(("method", "difference", "95%"), _differences(rows)),
        *_kinds(rows, headline, best),
    ]


def _against_printed(rows: Sequence[Row], printed: Sequence[PrintedRow]) -> list[str]:
    """By how much ours differ from the numbers of the paper."""
    reached = {row.method.name: row for row in rows}
    lines = []
    for quoted in printed:
        if quoted.method not in reached:
            continue
        ours = reached[quoted.method]
        means = {name: score.mean for name, score in ours.evaluation.scores.items()}
        apart = (f"{means[name] - value:+.3f}" for name, value in quoted.scores.items())
        lines.append([f"{ours.method.title}, less {quoted.title}", *apart])
    header = ("ours", *map(metric_title, METRICS))
    return ["By how much they differ:", markdown_table(header, lines)] if lines else []


def _kinds(rows: Sequence[Row], headline: str, best: Row | None) -> list[str]:
    """The headline by kind of change, of the best untrained baseline and of the last row."""
    shown = [row for row in rows if row is best or row is rows[-1]]
    header = ("change", "queries", *(row.method.title for row in shown))
    lines = [
        [name, f"{kind.queries:,}", *(_shown(row.kinds[name].mean) for row in shown)]
        for name, kind in rows[-1].kinds.items()
    ]
    return [f"{metric_title(headline)} by change:", markdown_table(header, lines)] if lines else []


def _numbers(reached: Evaluation, metrics: Sequence[str], headline: str) -> list[float]:
    """What bold is for: every mean, then the macro mean of the headline."""
    return [*(reached.scores[name].mean for name in metrics), reached.scores[headline].macro]


def columns_of(headline: str) -> tuple[str, ...]:
    """The nine columns of every table, after the headline where that is none of them."""
    return METRICS if headline in METRICS else (headline, *METRICS)


def _lines(rows: Sequence[Row], metrics: Sequence[str], headline: str) -> Iterator[list[str]]:
    """Rows of the table, the best of each column in bold; who has fewer seeds does not compete."""
    numbers = [_numbers(row.evaluation, metrics, headline) for row in rows]
    whole = [_has_every_seed(row, rows[-1]) for row in rows]
    competing = (mine for mine, competes in zip(numbers, whole, strict=True) if competes)
    best = [_shown(max(column)) for column in zip(*competing, strict=True)]
    for row, mine, competes in zip(rows, numbers, whole, strict=True):
        pairs = zip(map(_shown, mine), best, strict=True)
        *means, macro = (
            f"**{text}**" if competes and text == most else text for text, most in pairs
        )
        interval = _interval(row.evaluation.scores[headline])
        title = _title(row, rows[-1])
        yield [title, *means, interval, macro, f"{row.dim:,}", f"{row.seconds:,.1f}"]


def _title(row: Row, reference: Row) -> str:
    """What a method is called; where it was run with fewer seeds than the last row, with how many.

    Such a row is compared with the same seeds of the last one, under "differences".
    """
    if _has_every_seed(row, reference):
        return row.method.title
    return f"{row.method.title} ({_seeds(row.evaluation.seeds)})"


def _seeds(count: int) -> str:
    return f"{count} seed{'s' if count > 1 else ''}"


def _has_every_seed(row: Row, reference: Row) -> bool:
    return row.evaluation.seeds == reference.evaluation.seeds


def _differences(rows: Sequence[Row]) -> list[list[str]]:
    return [
        [_title(row, rows[-1]), "none" if apart.is_none else f"{apart.mean:+.3f}", _interval(apart)]
        for row in rows
        if (apart := row.difference)
    ]


def markdown_table(header: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """A table in Markdown; short lines end with empty columns."""
    filled = [[*line, *[""] * (len(header) - len(line))] for line in lines]
    every = [header, ["---"] * len(header), *filled]
    return "\n".join(f"| {' | '.join(line)} |" for line in every)


def _shown(number: float) -> str:
    return f"{number:.3f}"


def _interval(ends: Score | Difference) -> str:
    return f"{ends.low:.3f} to {ends.high:.3f}"
