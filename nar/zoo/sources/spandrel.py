"""The networks of spandrel, which restore and enlarge images, in the sizes that were published."""

from nar.zoo.sources.tables import table_source

SPANDREL = table_source("spandrel", licence="MIT", example="SwinIR/classical_x2")
