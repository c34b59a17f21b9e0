"""NAR, the search engine for neural architectures."""
