"""The networks that nnU-Net builds: plain and residual U-Nets, and transformers of volumes."""

from nar.zoo.sources.tables import table_source

DYNAMIC_NETWORK_ARCHITECTURES = table_source(
    "dynamic_network_architectures", licence="Apache-2.0", example="PlainConvUNet/brain_tumour"
)
