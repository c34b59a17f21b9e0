"""The models of timm that other libraries take as a backbone, from a checked-in table.

``timm_backbones.txt`` was written by trying each of ``timm.list_models()``; its head says how.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from nar.base.files import package_lines
from nar.zoo.libraries import import_library
from nar.zoo.sources.timm import timm_family


@dataclass(frozen=True, slots=True)
class TimmBackbone:
    """One row of the table.

    Attributes:
        name: timm's name of the model.
        size: Side of the square image it takes, in pixels.
        gives: ``tokens`` where all its maps have one scale, ``quarter`` where they begin at a
            quarter of the image, ``half`` at a half and ``whole`` at its full size.
        is_dilated: Whether it can be built with an output stride of 8 and 16.
    """

    name: str
    size: int
    gives: str
    is_dilated: bool

    @property
    def is_pretrained(self) -> bool:
        """Whether timm publishes weights of it: what people put their own heads on."""
        published: bool = import_library("timm.models").is_model_pretrained(self.name)
        return published

    @property
    def family(self) -> str:
        """Its family, as timm's own source labels it."""
        return timm_family(self.name)


@cache
def timm_backbones() -> Mapping[str, TimmBackbone]:
    """Every row whose model the installed timm registers, by name and in the table's order.

    Raises:
        MissingLibraryError: timm is not installed.
    """
    registered = frozenset(import_library("timm").list_models())
    rows = [line.split() for line in package_lines("zoo", "sources", "timm_backbones.txt")]
    return MappingProxyType(
        {
            name: TimmBackbone(name, int(size), gives, dilated == "dilated")
            for name, size, gives, dilated in rows
            if name in registered
        }
    )
