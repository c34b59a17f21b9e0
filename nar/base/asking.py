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
        example: The inputs as Python has them, in place of texts: a tensor, a shape, a tuple of
            these for arguments by position, or a mapping for arguments by name.
        runs: Whether the program in a file that is no Python file may be run, as TorchScript.
    """

    inputs: tuple[str, ...] = ()
    allowed: frozenset[Allowance] = frozenset()
    example: object = None
    runs: bool = False

    @property
    def states_inputs(self) -> bool:
        """Whether inputs are stated, in either form."""
        return bool(self.inputs) or self.example is not None


NOTHING_STATED: Final = Asking()
