"""Where the bulk work runs: the library's steps under Ray, and no algorithm."""
