"""Encoders: from motifs to a unit vector an architecture, how they learn, where they are kept."""
