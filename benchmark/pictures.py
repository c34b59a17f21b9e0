"""Screenshots of every view, of the real atlas: ``python -m benchmark pictures DIRECTORY``.

For people: no test compares them. README and docs show those of a light desk.
"""

import io
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page
from web_browser import started

VIEWS = {
    "ask": "#/ask/timm%3Aresnet50",
    "map": "#/map?at=timm%3Aresnet50",
    "model": "#/model/timm%3Avit_base_patch16_224",
    "diff": "#/diff/timm%3Aresnet50/timm%3Aseresnet50",
    "users": "{users}",
}
# Chosen: with 96 colours no point of the map changes its own, and five pictures have 195 KB.
COLOURS = 96
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


def users_address(page: Page, home: str) -> str:
    """The view of what uses a block, of the bottleneck that ResNet-50 begins with."""
    page.goto(f"{home}#/model/timm%3Aresnet50")
    page.locator(".block").nth(1).click()
    return page.locator(".opened a.button").get_attribute("href") or ""


def shoot(browser: Browser, home: str, directory: Path) -> None:
    """Every view, dark and light, on a desk and a phone."""
    for scheme in ("light", "dark"):
        for size, (width, height) in SIZES.items():
            context = browser.new_context(
                viewport={"width": width, "height": height}, color_scheme=scheme
            )
            page = context.new_page()
            users = users_address(page, home)
            for name, address in VIEWS.items():
                page.goto(home + address.format(users=users))
                page.locator("main > *").first.wait_for()
                page.locator(".busy").wait_for(state="detached")
                if name == "model":
                    page.locator(".block").nth(1).click()
                    page.locator(".opened svg").wait_for()
                # The pointer would light up what comes to be below it.
                page.mouse.move(0, 0)
                page.evaluate("() => new Promise((done) => requestAnimationFrame(() => done()))")
                keep(page.screenshot(), directory / f"{name}-{scheme}{size}.png")
            context.close()


def keep(shot: bytes, path: Path) -> None:
    """Write a picture with few colours: a third of the bytes.

    The colours cover what there is, for those that few points have tell the most.
    """
    picture = Image.open(io.BytesIO(shot)).convert("RGB")
    few = picture.quantize(COLOURS, Image.Quantize.MAXCOVERAGE, kmeans=1, dither=Image.Dither.NONE)
    few.save(path, optimize=True)


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
