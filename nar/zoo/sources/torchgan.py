"""The generators and discriminators of TorchGAN."""

from nar.zoo.sources.tables import table_source

TORCHGAN = table_source("torchgan", licence="MIT", example="DCGAN/generator_x64")
