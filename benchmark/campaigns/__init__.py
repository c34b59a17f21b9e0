"""What is done to it again and again, and what comes of it: ``python -m benchmark campaign``."""
