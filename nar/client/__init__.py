"""Clients of the query server."""
