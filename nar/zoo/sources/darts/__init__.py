"""The NAS space of DARTS: genotypes, edits, networks, and classes of networks."""
