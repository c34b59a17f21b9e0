"""The command of signatures: ``python -m cluster.signatures --output FILE``.

It takes the weights that a corpus has recorded. What the corpus lacks is built without weights and
without a forward pass, as far as the time goes; what was built is kept, so that it goes on where
it was stopped.
"""

import json
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Final

import typer

from nar.base.console import AsJson, progress, reporting_errors, show
from nar.base.errors import NarError
from nar.base.workspace import package_path
from nar.corpus import Corpus, located, shipped_corpus
from nar.corpus.signatures import SIGNATURES_FILE, write_signatures
from nar.graphs.weights import Shape, Weights, weights_of
from nar.own import resolve
from nar.zoo.building import shapes_built

# Chosen: the minutes that somebody waits; a named model takes a tenth of a second.
_MOST_MINUTES: Final = 20.0
# Models that are named come first, as files of weights are mostly theirs.
_TIERS: Final = ("named", "swept", "composed")
# Any order that is the same each time: a run that is stopped has some models of each source.
_SEED: Final = 0
app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
Kept = Annotated[
    Path | None, typer.Option(help="File that keeps the shapes of models that were built.")
]


@app.command()
@reporting_errors
def main(
    output: Annotated[Path | None, typer.Option(help="By default the file that NAR ships.")] = None,
    corpus: Annotated[str | None, typer.Option(metavar="DIR|URI")] = None,
    kept: Kept = None,
    minutes: Annotated[float, typer.Option(min=0, help="Time to build models in.")] = _MOST_MINUTES,
    as_json: AsJson = False,
) -> None:
    """Write the signatures of a corpus: which model has weights of which names and shapes."""
    path = output or package_path("data", SIGNATURES_FILE)
    source = Corpus(located(corpus) if corpus else shipped_corpus())
    recorded = dict(_recorded(source))
    missing = [name for name in _by_tier(source) if name not in recorded]
    built = {name: weights_of(shapes) for name, shapes in built_models(missing, kept, minutes)}
    weights = recorded | built
    rows = write_signatures(path, ((name, weights[name]) for name in sorted(weights)))
    size = path.stat().st_size
    report = {
        "file": str(path),
        "architectures": rows,
        "recorded": len(recorded),
        "built": len(built),
        "missing": len(missing) - len(built),
        "bytes": size,
        "bytes_each": round(size / max(rows, 1), 1),
    }
    line = (
        f"{path}: {rows:,} architectures in {size:,} bytes, {report['bytes_each']} each; "
        f"{len(recorded):,} recorded, {len(built):,} built, {report['missing']:,} missing"
    )
    show(report, lambda: line, as_json=as_json)


def _recorded(source: Corpus) -> Iterator[tuple[str, Weights]]:
    for _, shard in source.shards():
        yield from ((item.labels.name, item.weights) for item in shard if item.weights)


def _by_tier(source: Corpus) -> list[str]:
    columns = source.columns(["name", "tier"])
    rows = list(zip(*(columns.column(name).to_pylist() for name in ("name", "tier")), strict=True))
    random.Random(_SEED).shuffle(rows)
    return [name for name, _ in sorted(rows, key=lambda row: _TIERS.index(row[1]))]


def built_models(
    names: Sequence[str], kept: Path | None, minutes: float
) -> Iterator[tuple[str, Mapping[str, Shape]]]:
    """The shapes of models' weights, by name: those that are kept, then others as far as time goes.

    Args:
        names: Names of the corpus; a model that cannot be built is left out.
        kept: A line of JSON for each model that was built before; gets those that are built now.
        minutes: Time to build in.
    """
    before = read_built(kept) if kept and kept.is_file() else {}
    yield from ((name, before[name]) for name in names if name in before)
    end = time.monotonic() + 60 * minutes
    todo = [name for name in names if name not in before]
    with progress("building", len(todo)) as advance:
        for name in todo:
            if time.monotonic() > end:
                return
            shapes = _built(name)
            advance(1, failed=int(shapes is None))
            if shapes is None:
                continue
            if kept is not None:
                with kept.open("a") as file:
                    file.write(json.dumps([name, shapes]) + "\n")
            yield name, shapes


def read_built(kept: Path) -> dict[str, dict[str, Shape]]:
    """What `built_models` has kept: the shape of each weight by name, for each model."""
    rows = (json.loads(line) for line in kept.read_text().splitlines())
    return {
        name: {weight: tuple(shape) for weight, shape in shapes.items()} for name, shapes in rows
    }


def _built(name: str) -> dict[str, Shape] | None:
    try:
        return shapes_built(resolve(name).capture)
    except NarError:
        return None


if __name__ == "__main__":
    app()
