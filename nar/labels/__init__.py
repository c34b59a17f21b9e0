"""What people know of architectures beyond their graphs: families, lineage, twins, old labels."""
