"""A small corpus of drawn graphs, in memory and as files."""

from itertools import pairwise

from graphs import bert, resnet, swin

from nar.corpus import write_shard
from nar.corpus.manifest import Manifest, count_corpus
from nar.graphs.architecture import Labels, architecture
from nar.graphs.canonical import canonical


def item(name, graph, **labels):
    source = name.partition(":")[0]
    named = {"family": "family", "task": "task", **labels}
    return architecture(Labels(name, source, f"{source} 1.0", **named), canonical(graph))


def rows():
    return [
        item("timm:a", resnet([1])),
        item("timm:b", resnet([1])),
        item("hf:bert", bert(2)),
        item("smp:unet/swin", swin([2, 2]), tier="composed", backbone="swin"),
    ]


def corpus(directory, items=None, failures=(), size=None):
    """A corpus of two rows and the others, or of so many rows a shard."""
    held = rows() if items is None else items
    directory.mkdir(parents=True, exist_ok=True)
    starts = range(0, len(held), size) if size else (0, 2)
    parts = [held[low:high] for low, high in pairwise([*starts, len(held)])]
    shards = tuple(
        write_shard(directory / f"shard-{number}.parquet", part)
        for number, part in enumerate(parts)
    )
    counts = count_corpus(held, failures)
    manifest = Manifest(
        packages={},
        shards=shards,
        sources=counts.sources,
        totals=counts.totals,
        failures=failures,
    )
    manifest.write(directory)
    return directory
