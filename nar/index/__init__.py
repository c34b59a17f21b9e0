"""The index: vectors of known architectures in Milvus, searched, filtered and loaded in bulk."""

from typing import Literal

# FLAT is exact and compares every row; HNSW is a graph of neighbours, faster and nearly exact. The
# others take less memory and find less: `nar.index.dialect` says which server has them.
IndexKind = Literal["FLAT", "HNSW", "HNSW_SQ", "IVF_SQ8", "IVF_RABITQ", "DISKANN"]
