"""The parsers of SuPar: recurrent layers below scores of all pairs of words."""

from nar.zoo.sources.tables import table_source

SUPAR = table_source("supar", licence="MIT", example="BiaffineDependencyModel")
