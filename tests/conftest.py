"""Fixtures that several suites share."""
