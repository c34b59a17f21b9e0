"""The page of the shipped atlas in a real browser: until it is painted, until it answers, its map.

`nar web` runs as a person starts it, on the same cores as the browser. Times are the browser's own:
from the address that changes until the answer stands there. A frame of the map is what the page
takes to draw it, whatever the screen's rate is; 250,000 points are those of the atlas, ten times,
each a little aside.

Run: python tests/bench/bench_page.py [results.json]
"""

import io
import json
import os
import shutil
import sys
import time
from base64 import b64decode, b64encode
from pathlib import Path
from urllib.parse import quote

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[1] / "web"))

import numpy as np
import torch
import torchvision
from measure import report
from pictures import served
from playwright.sync_api import Browser, Page, Route, sync_playwright
from test_page import drop

from nar.atlas import read_atlas, shipped_atlas

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
    shown = {"ms, median": f"{np.median(took):.1f}", "longest": f"{max(took):.1f}"}
    return {"what": name, "times": len(took), **shown}


def painted(browser: Browser, home: str) -> float:
    """Milliseconds until something is painted, in a browser that has seen nothing of it."""
    page = browser.new_context().new_page()
    page.goto(home)
    page.wait_for_function(PAINTED)
    took: float = page.evaluate(PAINTED)
    page.context.close()
    return took


def exported() -> bytes:
    """An ONNX file with its weights, as torch writes it."""
    file = io.BytesIO()
    model, example = torchvision.models.resnet18(), torch.zeros(1, 3, 224, 224)
    torch.onnx.export(model.eval(), (example,), file, dynamo=False)
    return file.getvalue()


def dropped(page: Page, home: str, content: bytes) -> float:
    """Milliseconds from a file that is dropped until its answer."""
    page.goto("about:blank")
    page.goto(home)
    page.locator(".welcome").wait_for()
    began = time.perf_counter()
    drop(page, "mine.onnx", content)
    page.wait_for_selector(".hits")
    return 1000 * (time.perf_counter() - began)


def tenfold(route: Route) -> None:
    """The map of the atlas with as many points as wanted."""
    said = route.fetch().json()
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
    route.fulfill(body=json.dumps({"names": names, "labels": labels, "points": drawn}))


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


def measured(browser: Browser, home: str) -> list[dict[str, object]]:
    """Every row."""
    rows = [milliseconds("first paint", [painted(browser, home) for _ in range(ROUNDS)])]
    page = browser.new_context(viewport={"width": 1280, "height": 800}).new_page()
    page.goto(home)
    page.goto(f"{home}#/model/timm%3Aresnet50")
    page.locator(".block").nth(1).click()
    users = page.locator(".opened a.button").get_attribute("href")
    largest = quote(max(read_atlas(shipped_atlas()).rows, key=lambda row: row.nodes).name, safe="")
    for name, (template, wanted) in VIEWS.items():
        address = template.format(users=users, largest=largest)
        took = [page.evaluate(GO, [address, wanted]) for _ in range(ROUNDS)]
        rows.append(milliseconds(name, took))
        if wanted == ".legend li":
            rows += drawn(page)
    content = exported()
    took = [dropped(page, home, content) for _ in range(ROUNDS)]
    rows.append(milliseconds(f"a dropped ONNX file of {len(content) / 1e6:.0f} MB", took))
    many = browser.new_context(viewport={"width": 1280, "height": 800}).new_page()
    many.route("**/page/map", tenfold)
    many.goto(home)
    took = [many.evaluate(GO, ["#/map", ".legend li"])]
    return [*rows, milliseconds(f"map, {MANY:,} points", took), *drawn(many)]


def main() -> None:
    with served() as home, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        report("The page of the atlas", measured(browser, home))


if __name__ == "__main__":
    main()
