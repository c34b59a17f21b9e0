"""The networks of Demucs, which take music apart into its instruments."""

from nar.zoo.sources.tables import table_source

DEMUCS = table_source("demucs", licence="MIT", example="HTDemucs/htdemucs")
