"""The page of the shipped atlas in a real browser: until it is painted, until it answers, its map.

`nar web` runs as a person starts it, on the same cores as the browser. Times are the browser's own:
from the address that changes, or the file that is dropped, until the answer stands there. The
longest is mostly the first, for which the page or the server reads what it keeps. A frame of the
map is what the page takes to draw it, whatever the screen's rate is; 250,000 points are those of
the atlas, ten times, each a little aside, and their map is timed from when its columns have come.

Run: python -m benchmark speed page [results.json]
"""

import gzip
import io
import json
import os
import urllib.request
import warnings
from base64 import b64decode, b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import quote

import numpy as np
import torch
from playwright.sync_api import Browser, Page
from web_browser import MISSING, executable, started
from web_dropping import held

from benchmark.pictures import served, users_address
from benchmark.speed.measure import report
from nar.answers.atlas import read_atlas, shipped_atlas
from nar.zoo.libraries import import_library

ROUNDS = int(os.environ.get("NAR_BENCH_ROUNDS", "10"))
MANY = 250_000
# Address of a view, and what stands there once it has answered.
VIEWS = {
    "a name": ("#/ask/timm%3Aresnet50", ".hits"),
    "its blocks": ("#/model/timm%3Aresnet50", ".block"),
    "its blocks, of the most operators": ("#/model/{largest}", ".block"),
    "two models beside each other": ("#/diff/timm%3Aresnet50/timm%3Aseresnet50", ".aligned"),
    "who uses a block": ("{users}", ".families li"),
    "the map": ("#/map", ".legend li"),
    "a query on the map": ("#/map?at=timm%3Aresnet50", ".near li"),
}
GO = """async ([address, wanted]) => {
  const frame = () => new Promise(requestAnimationFrame);
  location.hash = "#/";
  while (!document.querySelector(".welcome")) await frame();
  const began = performance.now();
  location.hash = address;
  while (!document.querySelector(wanted)) await frame();
  return performance.now() - began;
}"""
ZOOM = """async () => {
  const map = document.querySelector("canvas").map;
  const frame = () => new Promise(requestAnimationFrame);
  map.frames = [];
  for (let step = 0; step < 60; step++) {
    map.zoomBy(step < 30 ? 1.1 : 1 / 1.1);
    await frame();
  }
  await frame();
  return map.frames;
}"""
DROP = """async ([held, wanted]) => {
  const frame = () => new Promise(requestAnimationFrame);
  location.hash = "#/";
  while (!document.querySelector(".welcome")) await frame();
  const began = performance.now();
  document.body.dispatchEvent(new DragEvent("drop", { bubbles: true, dataTransfer: held }));
  while (!document.querySelector(wanted)) await frame();
  return performance.now() - began;
}"""
# Since the page was asked for; since the columns of the map have come.
SINCE_ASKED = """async (wanted) => {
  while (!document.querySelector(wanted)) await new Promise(requestAnimationFrame);
  return performance.now();
}"""
SINCE_COLUMNS = """async (wanted) => {
  while (!document.querySelector(wanted)) await new Promise(requestAnimationFrame);
  const [columns] = performance.getEntriesByName(new URL("/page/map", location).href);
  return performance.now() - columns.responseEnd;
}"""
HOVER = """() => {
  const map = document.querySelector("canvas").map;
  const box = map.canvas.getBoundingClientRect();
  const middle = box.top + box.height / 2;
  const at = (step) => ({ clientX: box.left + (box.width * step) / 200, clientY: middle });
  const began = performance.now();
  for (let step = 0; step < 200; step++) map.rowAt(at(step));
  return (performance.now() - began) / 200;
}"""
LEGEND = """() => {
  const button = document.querySelector(".legend button");
  const map = document.querySelector("canvas").map;
  const took = [];
  for (let round = 0; round < 10; round++) {
    const began = performance.now();
    button.click();
    map.draw();
    took.push(performance.now() - began);
  }
  return took;
}"""
PAINTED = "() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime"


def milliseconds(name: str, took: list[float]) -> dict[str, object]:
    """A row: what was done, how often, its median and its longest time."""
    shown = {"ms, median": f"{np.median(took):.2f}", "longest": f"{max(took):.2f}"}
    return {"what": name, "times": len(took), **shown}


@contextmanager
def new_page(browser: Browser) -> Iterator[Page]:
    """A page of a browser that has kept nothing."""
    with browser.new_context(viewport={"width": 1280, "height": 800}) as context:
        yield context.new_page()


def painted(browser: Browser, home: str) -> float:
    """Milliseconds until something is painted, in a browser that has seen nothing of it."""
    with new_page(browser) as page:
        page.goto(home)
        page.wait_for_function(PAINTED)
        return float(page.evaluate(PAINTED))


def answered(browser: Browser, home: str) -> float:
    """Milliseconds until a name is answered, in a browser that has seen nothing of the page."""
    address, wanted = VIEWS["a name"]
    with new_page(browser) as page:
        page.goto(home + address, wait_until="commit")
        return float(page.evaluate(SINCE_ASKED, wanted))


def exported() -> bytes:
    """ResNet-18 as an ONNX file with its weights, as torch writes it."""
    file = io.BytesIO()
    model, example = import_library("torchvision.models").resnet18(), torch.zeros(1, 3, 224, 224)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch warns about its own older exporter
        torch.onnx.export(model.eval(), (example,), file, dynamo=False)
    return file.getvalue()


def tenfold(home: str) -> str:
    """The columns of the atlas' map, with as many points as wanted."""
    with urllib.request.urlopen(f"{home}page/map") as answer:
        said = json.loads(gzip.decompress(answer.read()))
    times = -(-MANY // len(said["names"]))
    names = [f"{name}#{copy}" for copy in range(times) for name in said["names"]][:MANY]
    points = np.frombuffer(b64decode(said["points"]), np.uint16).astype(np.int64)
    aside = np.random.default_rng(1).integers(-400, 401, (times, points.size))
    moved = np.clip(points + aside, 0, np.iinfo(np.uint16).max).astype("<u2")
    labels = {
        name: column | {"codes": again(column["codes"], times)}
        for name, column in said["labels"].items()
    }
    drawn = b64encode(moved.reshape(-1, 2)[:MANY].tobytes()).decode()
    return json.dumps({"names": names, "labels": labels, "points": drawn})


def again(codes: str, times: int) -> str:
    """Codes of labels for as many points."""
    return b64encode(np.tile(np.frombuffer(b64decode(codes), np.uint16), times)[:MANY]).decode()


def drawn(page: Page) -> list[dict[str, object]]:
    """What one does with a map."""
    count = page.evaluate("() => document.querySelector('canvas').map.colours.length")
    return [
        milliseconds(f"a frame of {count:,} points", page.evaluate(ZOOM)),
        milliseconds(f"the nearest of {count:,} points", [page.evaluate(HOVER)]),
        milliseconds(f"a family of {count:,} points alone", page.evaluate(LEGEND)),
    ]


def opened(browser: Browser, home: str) -> list[dict[str, object]]:
    """In browsers that have seen nothing of the page."""
    return [
        milliseconds("first paint", [painted(browser, home) for _ in range(ROUNDS)]),
        milliseconds("a name in a new tab", [answered(browser, home) for _ in range(ROUNDS)]),
    ]


def viewed(page: Page, home: str) -> list[dict[str, object]]:
    """Every view of a page that is open, and a file."""
    users = users_address(page, home)
    largest = quote(max(read_atlas(shipped_atlas()).rows, key=lambda row: row.nodes).name, safe="")
    rows = []
    for name, (template, wanted) in VIEWS.items():
        address = template.format(users=users, largest=largest)
        took = [page.evaluate(GO, [address, wanted]) for _ in range(ROUNDS)]
        rows.append(milliseconds(name, took))
        if name == "the map":
            rows += drawn(page)
    content = exported()
    file = held(page, "mine.onnx", content)
    took = [page.evaluate(DROP, [file, ".hits"]) for _ in range(ROUNDS)]
    return [*rows, milliseconds(f"a dropped ONNX file of {len(content) / 1e6:.0f} MB", took)]


def enlarged(page: Page, home: str) -> list[dict[str, object]]:
    """The map of many points."""
    columns = tenfold(home)
    page.route(
        "**/page/map", lambda route: route.fulfill(body=columns, content_type="application/json")
    )
    page.goto(f"{home}#/map", wait_until="commit")
    took = [page.evaluate(SINCE_COLUMNS, ".legend li")]
    return [milliseconds(f"a map of {MANY:,} points", took), *drawn(page)]


def main() -> None:
    if executable() is None:
        report("The page of the atlas", [{"not measured": MISSING}])
        return
    with served() as home, started() as browser:
        rows = opened(browser, home)
        with new_page(browser) as page:
            rows += viewed(page, home)
        with new_page(browser) as page:
            rows += enlarged(page, home)
        report("The page of the atlas", rows)


if __name__ == "__main__":
    main()
