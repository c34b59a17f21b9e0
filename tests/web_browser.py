"""The browser that the page is driven with: the one of the system."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, sync_playwright

_NAMES = ("chromium", "chromium-browser", "google-chrome")
MISSING = f"none of {', '.join(_NAMES)} is installed: apt-get install chromium"


# Chosen: on an idle machine the slowest view, of a file that is read, takes five seconds.
_IDLE_LIMIT_S = 30.0


def limit_ms() -> float:
    """How long a test waits for the page: as many times longer as each core has processes."""
    processes = max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
    return 1_000 * _IDLE_LIMIT_S * processes


def executable() -> str | None:
    """Its path; None where there is none."""
    return next(filter(None, map(shutil.which, _NAMES)), None)


@contextmanager
def started() -> Iterator[Browser]:
    """The browser, running."""
    with sync_playwright() as playwright:
        # Root has no sandbox of its own.
        browser = playwright.chromium.launch(executable_path=executable(), args=["--no-sandbox"])
        yield browser
        browser.close()
