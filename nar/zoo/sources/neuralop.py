"""The networks of neuraloperator, which solve differential equations."""

from nar.zoo.sources.tables import table_source

NEURALOP = table_source(
    "neuralop", licence="MIT", example="FNO/small2d", distribution="neuraloperator"
)
