"""All names of the transformers source: its types as they are by default, and published sizes."""

from nar.zoo.sources.transformers import models, sizes
from nar.zoo.spec import ArchitectureSpec


def list_transformers() -> list[str]:
    """Every class of the auto tables, then every published size: no model is built."""
    return [*models.list_transformers(), *sizes.list_sizes()]


def resolve_transformers(name: str) -> ArchitectureSpec:
    """The spec behind ``transformers:<type>/<class>`` or ``transformers:<type>/<class>@<size>``.

    Raises:
        UnknownArchitectureError: Neither the auto tables nor the table of sizes has that name.
    """
    if sizes.MARK in name:
        return sizes.resolve_sizes(name)
    return models.resolve_transformers(name)
