"""One module a source of architectures."""
