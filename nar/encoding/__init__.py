"""Encoders: from motifs to a unit vector for each architecture; training and checkpoints."""
