"""The default encoder: a learned vector for every feature, what is unknown told apart, and size."""
