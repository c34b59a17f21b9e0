"""Models written otherwise: does the same design, from other code, give the same graph?"""
