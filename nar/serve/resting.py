"""When no call is taken: while there is enough to do, more would only have to be refused."""

from collections.abc import Callable
from threading import Event
from time import monotonic
from typing import Final

# How long the event loop rests at most, and goes on before it rests again.
REST_S, GO_ON_S = 0.05, 0.0005
# The same after so many rests in which no thread has answered: all of them are at long work, or
# wait for a store, and who asks for health, or has to be refused, should hear.
IN_VAIN: Final = 4
HASTY_REST_S, HASTY_GO_ON_S = 0.002, 0.002


class Resting:
    """Lets the event loop rest while the threads have enough to do, until one of them answers.

    Beyond its peak a server would spend its time on refusing: at five times of it four calls of
    five, each of which keeps the threads from running Python for a third of a millisecond. While
    the loop rests, calls wait in grpc, and it drops those beyond a bound by itself, at once and
    without Python:

        calls ---> [ wait in grpc ] ---> event loop ---> [ wait for a thread ] ---> threads
                          | too many         ^                  enough?                |
                          v                  +-------- rests until one answers --------+
                       dropped

    Args:
        have_enough: Whether a further call would only wait, or be refused.
        answered: Set by a thread that has answered; cleared here.
    """

    def __init__(self, have_enough: Callable[[], bool], answered: Event) -> None:
        self._have_enough = have_enough
        self._answered = answered
        self._in_vain = 0
        self._rest_at = 0.0

    def before_a_call(self) -> None:
        """Rest if there is enough to do, unless the last rest has just ended."""
        if not self._have_enough() or monotonic() < self._rest_at:
            return
        is_hasty = self._in_vain >= IN_VAIN
        # On purpose nothing that is awaited: the loop would take the next calls.
        has_answered = self._answered.wait(HASTY_REST_S if is_hasty else REST_S)
        self._answered.clear()
        self._in_vain = 0 if has_answered else self._in_vain + 1
        self._rest_at = monotonic() + (HASTY_GO_ON_S if is_hasty else GO_ON_S)
