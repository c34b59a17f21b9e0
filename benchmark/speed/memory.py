"""The index in memory: searches for few and many hits beside numpy's, and writes of one row.

The vectors of the shipped atlas, asked with some of its own rows and with networks of the DARTS
space, which it does not have; and the same vectors again under other names, up to 100,000. Seconds
are of the processor. Numpy's search gives numbers of rows, that of the index gives hits with all
their columns, in order.

Run: python -m benchmark speed memory [results.json]
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from benchmark.speed.measure import Row, report
from benchmark.speed.vectors import Vectors, by_numpy
from nar.answers.atlas import read_atlas, shipped_atlas
from nar.index.exact import ExactIndex
from nar.index.rows import IndexRow, architecture_id
from nar.zoo.sources.darts.network import darts_graph
from nar.zoo.sources.darts.sampling import sample_classes

QUERIES = 50
HITS = (10, 100, 1_000)
LARGE = 100_000
# Written one by one before what was written is folded in, which a server does every two seconds.
WRITES = 200


def cpu_ms(act: Callable[[], object]) -> float:
    """Milliseconds of all cores that a call takes."""
    started = time.process_time()
    act()
    return 1_000 * (time.process_time() - started)


def searches(index: ExactIndex, known: Vectors, asked: Vectors, whose: str) -> Iterator[Row]:
    """Searches for so many hits, each beside numpy's, one after the other."""
    for hits in HITS:
        plain = by_numpy(known, hits)
        pairs = [
            (cpu_ms(partial(index.search, vector[None], hits)), cpu_ms(partial(plain, vector)))
            for vector in asked
        ]
        mine, numpys = zip(*pairs, strict=True)
        yield told(
            f"a search for {hits:,} hits, {whose}", len(known), mine, float(np.median(numpys))
        )


def writes(rows: Sequence[IndexRow], known: Vectors, asked: Vectors, size: int) -> Iterator[Row]:
    """Writes of one row into an index of so many rows, and what it takes to fold them in."""
    every = [
        replace(rows[number % len(rows)], id=architecture_id(name), name=name)
        for number in range(size + WRITES)
        for name in [f"row {number}"]
    ]
    index = ExactIndex(every[:size], dim=known.shape[1])
    index.prepare()
    took = []
    for each in every[size:]:
        started = time.process_time()
        index = index.changed([each])
        took.append(1_000 * (time.process_time() - started))
    numpys = np.median([cpu_ms(partial(by_numpy(known, 10), vector)) for vector in asked])
    numpys *= size / len(known)
    yield told(f"a write, the last of {WRITES}", size, took[-20:], float(numpys))
    search = [cpu_ms(partial(index.search, vector[None], 10)) for vector in asked]
    yield told(f"a search for 10 hits behind {WRITES} writes", size, search, float(numpys))
    yield told(f"folding {WRITES} writes", size, [cpu_ms(index.folded)], float(numpys))


def told(what: str, rows: int, took_ms: Sequence[float], numpy_ms: float) -> Row:
    """A row of the table: the median and the worst."""
    middle = float(np.median(took_ms))
    return {
        "what": what,
        "rows": f"{rows:,}",
        "CPU ms p50": f"{middle:.2f}",
        "CPU ms at most": f"{max(took_ms):.2f}",
        "numpy's search CPU ms": f"{numpy_ms:.2f}",
        "times numpy's": f"{middle / numpy_ms:.2f}",
    }


def main() -> None:
    atlas = read_atlas(shipped_atlas())
    rows = atlas.rows
    known = np.stack([each.embedding for each in rows])
    known /= np.linalg.norm(known, axis=1, keepdims=True)
    graphs = [darts_graph(member.genotype) for member in sample_classes(QUERIES, seed=1)]
    asked = atlas.embedder.embed(graphs)
    atlas.index.prepare()
    own = np.ascontiguousarray(known[:: len(known) // QUERIES])
    table = [
        *searches(atlas.index, known, own, "rows of the atlas"),
        *searches(atlas.index, known, asked, "DARTS networks"),
    ]
    for size in (len(rows), LARGE):
        table += writes(rows, known, asked, size)
    report(f"the index in memory, vectors of {known.shape[1]}", table)


if __name__ == "__main__":
    main()
