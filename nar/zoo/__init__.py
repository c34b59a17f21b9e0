"""Named sources of architectures: a name in, a labelled spec that can be captured out.

``timm:resnet50``, ``torchvision:resnet50``, ``transformers:bert/BertForMaskedLM``,
``darts:<genotype>``.
"""

from nar.base.errors import UnknownArchitectureError
from nar.zoo.sources import source_names, source_of
from nar.zoo.spec import ArchitectureSpec, ZooCapture

__all__ = ["ArchitectureSpec", "ZooCapture", "list_specs", "source_names", "source_of"]


def list_specs(source: str) -> list[str]:
    """Names that a source offers, without building any model.

    Raises:
        UnknownArchitectureError: No such source.
        MissingLibraryError: The source's library is not installed.
        PluginError: Another package registers the source, and it cannot be used.
    """
    record = source_of(source)
    if record is None or record.name != source:
        raise UnknownArchitectureError(f"{source}: no such source; wanted one of {source_names()}")
    return record.specs()
