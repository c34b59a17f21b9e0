"""How fast it is, beside the stored figures of results/bench: ``python -m benchmark speed``."""
