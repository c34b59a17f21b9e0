"""How Milvus searches vectors: a word that settings, command and index share."""

from typing import Literal

# FLAT is exact and compares every row; HNSW is a graph of neighbours, faster and nearly exact.
IndexKind = Literal["FLAT", "HNSW"]
