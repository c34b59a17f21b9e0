"""Building what a user's file defines: imports, arguments, weights and devices of a repository.

Evidence is taken in one order: what the user states, what the code states, what the code shows by
failing, what is usual. Each value that was not stated carries the place that it comes from.
"""
