"""Twins: one published design, implemented in several libraries."""

from dataclasses import dataclass
from functools import cache

from nar.base.workspace import package_yaml


@dataclass(frozen=True, slots=True)
class TwinGroup:
    """Implementations of one published network.

    Attributes:
        id: Unique, lower snake case.
        design: What people call it, e.g. ``ResNet-50``.
        members: Names of architectures, from two sources or more: ``timm:resnet50``. The benchmark
            asks for them, and they identify the group.
        citation: The paper that describes this network: ``arXiv:1512.03385``, or venue and year.
        note: Where the implementations are known to differ; empty if no difference is known.
        also: Implementations that were found later: the benchmark accepts them as answers, and
            does not ask for them.
    """

    id: str
    design: str
    members: tuple[str, ...]
    citation: str
    note: str
    also: tuple[str, ...] = ()

    @property
    def implementations(self) -> tuple[str, ...]:
        """The names of all implementations."""
        return self.members + self.also


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
            tuple(group.get("also", ())),
        )
        for group in package_yaml("labels", "twins.yaml")
    )
