"""Screenshots of every view, of the real atlas: ``python tests/web/pictures.py DIRECTORY``.

For people: no test compares them.
"""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from playwright.sync_api import Browser
from web_browser import started

VIEWS = {
    "ask": "#/ask/timm%3Aresnet50",
    "map": "#/map?at=timm%3Aresnet50",
    "model": "#/model/timm%3Avit_base_patch16_224",
    "diff": "#/diff/timm%3Aresnet50/timm%3Aseresnet50",
}
SIZES = {"": (1280, 800), "-phone": (360, 740)}


@contextmanager
def served(*options: str) -> Iterator[str]:
    """Run `nar web` on a free port; its address."""
    program = "from nar.cli.app import app; app()"
    command = [sys.executable, "-c", program, "web", "--port", "0", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


def shoot(browser: Browser, home: str, directory: Path) -> None:
    """Every view, dark and light, on a desk and a phone."""
    for scheme in ("light", "dark"):
        for size, (width, height) in SIZES.items():
            context = browser.new_context(
                viewport={"width": width, "height": height}, color_scheme=scheme
            )
            page = context.new_page()
            for name, address in VIEWS.items():
                page.goto(home + address)
                page.locator("main > *").first.wait_for()
                page.locator(".busy").wait_for(state="detached")
                if name == "model":
                    page.locator(".block").nth(1).click()
                    page.locator(".opened svg").wait_for()
                page.evaluate("() => new Promise((done) => requestAnimationFrame(() => done()))")
                page.screenshot(path=directory / f"{name}-{scheme}{size}.png")
            context.close()


def main(directory: Path, *options: str) -> None:
    """Make the pictures.

    Args:
        directory: That gets them.
        options: Of `nar web`.
    """
    directory.mkdir(parents=True, exist_ok=True)
    with served(*options) as home, started() as browser:
        shoot(browser, home, directory)


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
