"""Who answers: every way to turn graphs into vectors, trained or not."""
