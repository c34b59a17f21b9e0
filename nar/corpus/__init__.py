"""The corpus: captured architectures as Parquet shards with a manifest beside them.

One row an architecture. A shard is written whole or not at all, the manifest knows the digest of
each, and what was captured reads back identically.
"""

from nar.corpus.columns import SCHEMA, SCHEMA_VERSION, Card, card_of
from nar.corpus.location import Location, located
from nar.corpus.reading import (
    Corpus,
    CorpusGraphs,
    Found,
    default_corpus,
    read_corpus,
    read_named,
    shipped_corpus,
)
from nar.corpus.shards import ShardChangedError, ShardReader, read_cards, read_shard, write_shard

__all__ = [
    "SCHEMA",
    "SCHEMA_VERSION",
    "Card",
    "Corpus",
    "CorpusGraphs",
    "Found",
    "Location",
    "ShardChangedError",
    "ShardReader",
    "card_of",
    "default_corpus",
    "located",
    "read_cards",
    "read_corpus",
    "read_named",
    "read_shard",
    "shipped_corpus",
    "write_shard",
]
