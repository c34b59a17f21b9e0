"""Running a repository's files where not all that they import is installed."""
