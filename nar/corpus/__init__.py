"""The corpus: captured architectures as Parquet shards with a manifest beside them.

One row an architecture. A shard is written whole or not at all, the manifest knows the digest of
each, and what was captured reads back identically.
"""

from nar.corpus.cards import Card, card_of
from nar.corpus.graphs import CorpusGraphs
from nar.corpus.location import Location, located
from nar.corpus.reading import (
    Found,
    default_corpus,
    find,
    iterate_card_columns,
    iterate_cards,
    iterate_corpus,
    iterate_names,
    iterate_shards,
    read_backbones,
    read_card_columns,
    read_corpus,
    read_named,
    shard_cards,
    shipped_corpus,
)
from nar.corpus.schema import SCHEMA, SCHEMA_VERSION
from nar.corpus.shards import ShardReader, read_cards, read_shard, write_shard

__all__ = [
    "SCHEMA",
    "SCHEMA_VERSION",
    "Card",
    "CorpusGraphs",
    "Found",
    "Location",
    "ShardReader",
    "card_of",
    "default_corpus",
    "find",
    "iterate_card_columns",
    "iterate_cards",
    "iterate_corpus",
    "iterate_names",
    "iterate_shards",
    "located",
    "read_backbones",
    "read_card_columns",
    "read_cards",
    "read_corpus",
    "read_named",
    "read_shard",
    "shard_cards",
    "shipped_corpus",
    "write_shard",
]
