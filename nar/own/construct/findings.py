"""What running and building a user's code told: stand-ins that were touched, what was left out."""

from collections.abc import Iterator
from contextlib import contextmanager

from nar.graphs.assumed import Assumed, AssumedValue


class Findings:
    """Collects, in the order of their appearance and each once, what `Assumed` says of a model."""

    def __init__(self) -> None:
        self._values: dict[str, AssumedValue] = {}
        self._stand_ins: dict[str, None] = {}
        self._skipped: dict[str, None] = {}

    def value(self, name: str, value: str, place: str) -> None:
        """A constructor's value; the last one of a name stays."""
        self._values[name] = AssumedValue(name, value, place)

    def forget_values(self) -> None:
        """Forget the values of a way that leads nowhere."""
        self._values = {}

    def stand_in(self, what: str) -> None:
        """A missing package that was touched, and what was taken instead."""
        self._stand_ins[what] = None

    def skip(self, what: str) -> None:
        """Something of the user's code that was left out."""
        self._skipped[what] = None

    @contextmanager
    def attempt(self) -> Iterator[None]:
        """Forget the values that are found inside where it ends with an error."""
        before = dict(self._values)
        try:
            yield
        except BaseException:
            self._values = before
            raise

    def assumed(self) -> Assumed:
        """The record so far; of inputs it says nothing."""
        return Assumed(
            values=tuple(self._values.values()),
            stand_ins=tuple(self._stand_ins),
            skipped=tuple(self._skipped),
        )
