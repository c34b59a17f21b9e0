"""The browser that the page is driven with: the one of the system."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, sync_playwright

_NAMES = ("chromium", "chromium-browser", "google-chrome")
MISSING = f"none of {', '.join(_NAMES)} is installed: apt-get install chromium"


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
