"""Designs written by hand from their papers, as researchers write them: `families.yaml` says what each is."""
