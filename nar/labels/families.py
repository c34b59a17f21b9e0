"""One family name across libraries, from the module or type that defines a model."""

from functools import cache
from importlib.resources import files

import yaml


def family_of(library: str, defining: str) -> str:
    """The family of a model.

    Args:
        library: Import name of the library: ``timm``, ``torchvision``, ``transformers``, ...
        defining: What the library's code calls it: its module, model type, class or decoder.

    Returns:
        The reviewed name, or ``defining`` in lower case with ``_`` where the table has none.
    """
    plain = defining.lower().replace("-", "_")
    return _table().get(library, {}).get(plain, plain)


@cache
def _table() -> dict[str, dict[str, str]]:
    text = files("nar.labels").joinpath("families.yaml").read_text(encoding="utf-8")
    table: dict[str, dict[str, str]] = yaml.safe_load(text) or {}
    return table
