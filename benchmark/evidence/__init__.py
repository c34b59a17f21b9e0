"""What is said of a query beside its hits, measured: what it is a part of, and its family."""
