"""The page: what a browser shows of an index, and the JSON that only the page asks for."""
