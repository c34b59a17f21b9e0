"""Named sources of architectures: a name in, a labelled spec that can be captured out.

``timm:resnet50``, ``torchvision:resnet50``, ``transformers:bert/BertForMaskedLM``,
``darts:<genotype>``. `nar.zoo.sources` has them all, and imports torch.
"""
