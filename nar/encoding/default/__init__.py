"""The default encoder: learned vectors for features, projections of unknown features, and size."""
