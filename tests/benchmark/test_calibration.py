"""What novelty is measured by: groups that count the same, and changed models that are changed."""

from dataclasses import replace

import numpy as np
import pytest
from encoding import small_default, three_families

from benchmark.calibration import changed_distances, pooled
from benchmark.tasks.datasets import DataSet
from nar.answers.atlas import AtlasContent
from nar.corpus import read_cards, write_shard
from nar.encoding.embed import Embedder
from nar.graphs.architecture import Labels, architecture
from nar.index.exact import ExactIndex
from nar.index.rows import index_row

EMBEDDER = Embedder(small_default())


def labelled(source, names):
    """The first architectures of three families, by name."""
    labels = Labels("a name", source, "a library 1", "a family", "a task")
    return [
        architecture(replace(labels, name=f"{source}:{name}"), graph)
        for name, graph in zip(names, three_families(), strict=False)
    ]


def test_every_group_counts_the_same_however_many_it_has():
    few, many = np.array([0.5]), np.linspace(0.0, 0.4, 10_000)
    assert pooled({"few": few, "many": many}).percentile(0.55) == pytest.approx(50)


def test_a_change_whose_design_is_known_is_no_change(tmp_path):
    known = labelled("timm", "abc")
    vectors = EMBEDDER.embed([item.graph for item in known])
    rows = tuple(index_row(*pair) for pair in zip(known, vectors, strict=True))
    content = AtlasContent(EMBEDDER, ExactIndex(rows, dim=EMBEDDER.dim), None)
    asking = [*labelled("edits", "abcd"), *labelled("parts", "abcdefg")]
    write_shard(tmp_path / "asking.parquet", asking)
    dataset = DataSet(
        "small",
        tuple(read_cards(tmp_path / "asking.parquet")),
        tuple(item.graph for item in asking),
    )
    measured = changed_distances(content, dataset)
    designs = {row.topology for row in rows}
    new = [item for item in asking if item.topology not in designs]
    assert {name: len(each) for name, each in measured.items()} == {
        "edits of known models": sum(item.labels.source == "edits" for item in new),
        "parts of known models": sum(item.labels.source == "parts" for item in new),
    }
    parts = EMBEDDER.embed([item.graph for item in new if item.labels.source == "parts"])
    parts *= EMBEDDER.weights("design")
    parts /= np.linalg.norm(parts, axis=1, keepdims=True)
    assert measured["parts of known models"] == pytest.approx(1 - (parts @ vectors.T).max(axis=1))
