"""Asking: what a person states about a model of their own, and what its code may do."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Allowance(StrEnum):
    """What the code of a model is refused unless it is allowed."""

    COMMANDS = "commands"
    NETWORK = "network"
    WRITES = "writes"


@dataclass(frozen=True, slots=True)
class Asking:
    """How a model of a user's own is built and called, as far as they say so.

    Attributes:
        inputs: Inputs of one call, each as ``--input`` takes it: ``x=1x3x224x224``.
        allowed: What its code may do beside computing.
    """

    inputs: tuple[str, ...] = ()
    allowed: frozenset[Allowance] = frozenset()


NOTHING_STATED: Final = Asking()
