"""The end of a process that was told to stop, whatever its threads do."""

import logging
import os
import threading
from typing import Final

log = logging.getLogger(__name__)

# After the grace of the calls: for the index to close, and for threads to notice.
MARGIN_S: Final = 5.0
EXIT_CODE: Final = 1


class LastResort:
    """Ends the process some time after it was told to stop, unless it came to its end by itself.

    No thread can be stopped from outside, and an interpreter waits for all of them.

    Args:
        limit_s: How long the stop may take.
    """

    def __init__(self, limit_s: float) -> None:
        self._limit_s = limit_s
        self._timer = threading.Timer(limit_s, self._leave)
        self._timer.daemon = True

    def begin(self) -> None:
        """The process was told to stop; telling it twice changes nothing."""
        if not self._timer.ident:
            self._timer.start()

    def cancel(self) -> None:
        """Nothing is left that could keep the process."""
        self._timer.cancel()

    def _leave(self) -> None:
        log.error("not stopped after %g s: leaving threads at their work", self._limit_s)
        logging.shutdown()
        os._exit(EXIT_CODE)
