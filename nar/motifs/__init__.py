"""Motifs: the blocks that a graph repeats, and the macro graph that they form."""
