"""A learned pair scorer: query and answer by the exact codes that they share."""
