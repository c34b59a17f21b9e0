"""Canonical rewrites: equal designs, written differently, become equal traces."""
