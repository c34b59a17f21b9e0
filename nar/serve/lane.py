"""How long a call would wait for a thread: what calls of its kind took, and who is before it."""

from typing import Final

from nar.serve.calls import Call
from nar.serve.status import OverloadedError

# Weight of the newest call in the mean of its method: about ten calls are remembered.
NEWEST: Final = 0.1
# What is expected is a mean: of the time that a caller has, a wait may take so much.
SURE: Final = 0.5


class Lane:
    """Calls that wait for the same threads.

    Args:
        threads: How many serve them.
        max_wait_s: Calls that would wait longer are shed, whatever their deadlines.
    """

    def __init__(self, threads: int, max_wait_s: float) -> None:
        self._threads = threads
        self._max_wait_s = max_wait_s
        self._mean_s: dict[str, float] = {}
        self._owed_s = 0.0

    @property
    def expected_wait_s(self) -> float:
        """Work that is still owed to the calls in this lane, shared by its threads."""
        return self._owed_s / self._threads

    def refusal(self, method: str, remaining_s: float) -> OverloadedError | None:
        """What is said to a call that would wait for too long if it came now.

        Args:
            method: Which.
            remaining_s: How long its caller still waits.
        """
        # Without a wait it may try: what is expected of it was learned from others.
        spare_s = max(remaining_s - self._mean_s.get(method, 0.0), 0)
        wait_s = self.expected_wait_s
        if wait_s <= min(self._max_wait_s, SURE * spare_s):
            return None
        return OverloadedError(
            f"the call would wait {wait_s:.1f} s for a thread; try again", wait_s
        )

    def enter(self, call: Call) -> float:
        """Let a call wait here.

        Returns:
            The seconds of a thread that it is expected to take, for `leave`.

        Raises:
            OverloadedError: It would wait for longer than it may, or would not be answered while
                its caller waits.
        """
        if refusal := self.refusal(call.method, call.clock.patience.remaining_s):
            raise refusal
        expected_s = self._mean_s.get(call.method, 0.0)
        self._owed_s += expected_s
        return expected_s

    def leave(self, call: Call, expected_s: float) -> None:
        """No thread works on a call any more; learn how long one did."""
        self._owed_s -= expected_s
        if call.took_s is not None:
            known_s = self._mean_s.get(call.method, 0.0)
            self._mean_s[call.method] = known_s + NEWEST * (call.took_s - known_s)
