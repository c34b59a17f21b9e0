"""The networks that read tables of Gorishniy et al., arXiv:2106.11959."""

from nar.zoo.sources.tables import table_source

RTDL_REVISITING_MODELS = table_source(
    "rtdl_revisiting_models", licence="Apache-2.0", example="FTTransformer/california"
)
