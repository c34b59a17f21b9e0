"""The index: vectors of known architectures in Milvus, searched, filtered and loaded in bulk."""

from typing import Literal

# FLAT is exact and compares every row; HNSW is a graph of neighbours, faster and nearly exact.
IndexKind = Literal["FLAT", "HNSW"]
