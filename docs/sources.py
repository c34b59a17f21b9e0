"""``python docs/sources.py``: the table of sources in `docs/corpus.md`, from their records."""

import tomllib
from collections import Counter, defaultdict
from pathlib import Path

import pyarrow.parquet as pq

from nar.zoo.source import Source
from nar.zoo.sources import shipped_sources

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "corpus.md"
BEGIN, END = "<!-- sources -->\n", "<!-- /sources -->\n"
HEAD = "| source | extra | for example | models | tasks |\n|---|---|---|---|---|\n"
# Chosen: a row stays one line of a page, and most sources have no more tasks.
TASKS = 2


def table() -> str:
    """A row for each source, by name: its extras, a model, and how much of it the corpus holds."""
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    extras = pyproject["project"]["optional-dependencies"]
    tasks: dict[str, Counter[str]] = defaultdict(Counter)
    for shard in sorted((ROOT / "nar" / "data" / "corpus").glob("*.parquet")):
        rows = pq.read_table(shard, columns=["source", "task"]).to_pylist()
        for row in rows:
            tasks[row["source"]][row["task"]] += 1
    sources = sorted(shipped_sources(), key=lambda source: source.name)
    return HEAD + "".join(_row(source, set(extras), tasks[source.name]) for source in sources)


def _row(source: Source, extras: set[str], tasks: Counter[str]) -> str:
    needed = [name for name in (source.library, *source.parts) if name in extras]
    named = ", ".join(f"`{name}`" for name in dict.fromkeys(needed)) or "-"
    first = ", ".join(
        task for task, _ in sorted(tasks.items(), key=lambda kv: (-kv[1], kv[0]))[:TASKS]
    )
    rest = f" and {len(tasks) - TASKS} more" if len(tasks) > TASKS else ""
    models = f"{tasks.total():,}" if tasks else "-"
    example = source.example if len(source.example) < 50 else source.form
    return f"| `{source.name}` | {named} | `{example}` | {models} | {first or '-'}{rest} |\n"


def with_table(page: str) -> str:
    """The page with the table of today between its marks."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}{table()}{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
