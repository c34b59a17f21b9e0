"""The networks of Asteroid, which take a mixture of sounds apart."""

from nar.zoo.sources.tables import table_source

ASTEROID = table_source("asteroid", licence="MIT", example="ConvTasNet/wham")
