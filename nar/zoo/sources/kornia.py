"""The networks of Kornia: descriptors of patches, detectors and transformers."""

from nar.zoo.sources.tables import table_source

KORNIA = table_source("kornia", licence="Apache-2.0", example="VisionTransformer/b_16")
