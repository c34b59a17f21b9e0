"""Motifs: a graph cut into the blocks it repeats, and the macro graph that they form."""
