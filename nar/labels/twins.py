"""Twins: one published design, implemented in several libraries."""

from dataclasses import dataclass
from functools import cache

from nar.files import package_yaml


@dataclass(frozen=True, slots=True)
class TwinGroup:
    """Implementations of one published network.

    Attributes:
        id: Unique, lower snake case.
        design: What people call it, e.g. ``ResNet-50``.
        members: Names of architectures, from two sources or more: ``timm:resnet50``.
        citation: The paper that describes this network: ``arXiv:1512.03385``, or venue and year.
        note: Where the implementations are known to differ; empty where they are not.
    """

    id: str
    design: str
    members: tuple[str, ...]
    citation: str
    note: str


@cache
def twins() -> tuple[TwinGroup, ...]:
    """Every group of the reviewed table, in its order."""
    return tuple(
        TwinGroup(
            group["id"],
            group["design"],
            tuple(group["members"]),
            group["citation"],
            group.get("note", ""),
        )
        for group in package_yaml("labels", "twins.yaml")
    )
