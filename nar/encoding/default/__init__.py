"""The default encoder: a learned vector for every label, what is unknown told apart, and size."""
