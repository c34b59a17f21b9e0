"""Models that a person changed, and parts of models: does the nearest design name the original?"""
