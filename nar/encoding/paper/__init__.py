"""The paper's encoder: graph convolutions over motifs, then over macro graphs (Eq. 3 to 8)."""
