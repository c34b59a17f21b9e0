"""A source of architectures is one record: all else follows from its row in the registry."""

import pytest
import torch
from torch import nn

from cluster.capture_worker import CaptureWorker
from cluster.provenance import identity, packages
from cluster.shards import cut
from nar.base.asking import Asking
from nar.base.errors import UnknownArchitectureError
from nar.base.workspace import DISTRIBUTION
from nar.capture import CaptureInputs
from nar.corpus import read_shard, write_shard
from nar.corpus.datasheet import datasheet
from nar.corpus.manifest import Manifest, Totals
from nar.graphs.ops import op_name
from nar.own import capture_architecture, resolve
from nar.zoo import sources
from nar.zoo.libraries import library_version
from nar.zoo.selections import select
from nar.zoo.source import Entry, Source, by_forward
from nar.zoo.sources import list_specs

WIDTHS = {"narrow": 4, "wide": 8}


def entry(model):
    if model not in WIDTHS:
        return None
    capture = by_forward(
        lambda: nn.Sequential(nn.Conv2d(3, WIDTHS[model], 3), nn.ReLU()),
        lambda _module: CaptureInputs((torch.empty(1, 3, 8, 8),)),
    )
    return Entry("ToyNet", "image-classification", capture)


TOY = Source(
    name="toy",
    library="scipy",
    licence="BSD-3-Clause",
    form="<width>",
    example="wide",
    names=lambda: list(WIDTHS),
    entry=entry,
)


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    """The one thing that a new source asks for: a row of the registry."""
    monkeypatch.setitem(sources.MODULES, "toy", __name__)


def test_it_is_listed_and_selected():
    assert list_specs("toy") == ["toy:narrow", "toy:wide"]
    assert select("toy").names == ("toy:narrow", "toy:wide")


def test_its_names_are_resolved_and_wrong_ones_answered():
    assert resolve("toy:wide").labels.name == "toy:wide"
    with pytest.raises(UnknownArchitectureError, match="did you mean toy:narrow"):
        resolve("toy:narow")
    with pytest.raises(UnknownArchitectureError, match="wanted toy:<width>, as toy:wide"):
        resolve("toy:something else")
    with pytest.raises(UnknownArchitectureError, match="toy:<model>"):
        resolve("tyo:wide")


def test_its_models_are_captured_and_labelled():
    item = capture_architecture("toy:wide").architecture
    assert [op_name(op) for op in item.graph.op_ids.tolist()] == ["input", "conv", "relu"]
    assert item.graph.parameters == 8 * 3 * 9 + 8
    labels = item.labels
    assert (labels.source, labels.library) == ("toy", library_version("scipy"))
    assert (labels.family, labels.task, labels.tier) == ("toynet", "image-classification", "named")


@pytest.mark.slow
def test_jobs_identify_capture_and_store_them(tmp_path):
    assert identity("toy:wide") == identity("toy:narrow") != identity("timm:resnet50")
    assert packages(["toy"]).keys() == {DISTRIBUTION, "scipy", "torch"}
    item = CaptureWorker(None).capture("toy:wide", Asking()).capture.architecture
    (shard,) = cut([item.labels.name], size=10)
    entry = write_shard(tmp_path / shard.file, [item])
    assert (entry.file, entry.source, entry.rows) == ("toy-00000.parquet", "toy", 1)
    assert read_shard(tmp_path / shard.file) == [item]


def test_its_licence_stands_in_the_datasheet():
    text = datasheet(Manifest(packages={"scipy": "1.16"}, shards=(), sources={}, totals=Totals()))
    assert "| scipy | 1.16 | BSD-3-Clause |" in text
