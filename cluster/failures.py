"""How a pool loses workers: errors that may be the process's fault and not the item's."""

from typing import Literal

from nar.base.errors import NarError

Loss = Literal["died", "timeout", "memory"]


class WorkerStartError(NarError):
    """No worker could be started: too little room in the cluster, or its state does not load."""


class WorkerLostError(NarError):
    """An item took its worker down, or longer or more memory than it may.

    Attributes:
        kind: ``died``, ``timeout`` or ``memory``.
        reason: The same in words.
    """

    def __init__(self, kind: Loss, reason: str) -> None:
        super().__init__(reason)
        self.kind = kind
        self.reason = reason

    def __reduce__(self) -> tuple[type["WorkerLostError"], tuple[Loss, str]]:
        """Cross process borders whole: the default would pass the message as one argument."""
        return type(self), (self.kind, self.reason)

    def after(self, tries: int) -> "WorkerLostError":
        """The same, with how often it was tried."""
        return type(self)(self.kind, f"{self.reason} ({tries} tries)")
