"""The language models of proteins that Meta published as ESM."""

from nar.zoo.sources.tables import table_source

ESM = table_source("esm", distribution="fair-esm", licence="MIT", example="ESM2/t6_8M")
