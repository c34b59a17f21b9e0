"""The index: vectors of known architectures in Milvus, searched, filtered and loaded in bulk."""
