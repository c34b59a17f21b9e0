"""What people know of architectures and no graph can say: families, lineage, twins, old labels."""
