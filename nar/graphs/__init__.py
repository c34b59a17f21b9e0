"""Computational graphs: operators, canonical order, normal form and fingerprints."""
