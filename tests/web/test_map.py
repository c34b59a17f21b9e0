"""The map in a real browser: its points, colours and legend, the pointer, the wheel, what lands."""

from collections import Counter

import pytest
import torch
from playwright.sync_api import expect
from web_dropping import drop

MANY = """async () => {
  const { MapCanvas } = await import("/js/map_canvas.js");
  const canvas = document.createElement("canvas");
  canvas.style.width = canvas.style.height = "600px";
  document.getElementById("main").replaceChildren(canvas);
  // Multiples of two numbers without a common measure fill the square evenly, each at a place of
  // its own.
  const steps = [0.7548776662466927, 0.5698402909980532];
  const place = (_, at) => 65_536 * ((Math.floor(at / 2) * steps[at % 2]) % 1);
  const points = Uint16Array.from({ length: 500_000 }, place);
  const map = new MapCanvas(canvas, points, { hovered() {}, picked() {} });
  map.colours.fill(0xff0000ff);
  const ratio = devicePixelRatio;
  const box = canvas.getBoundingClientRect();
  while (!map.frames.length) await new Promise(requestAnimationFrame);
  map.draw();
  const nearest = (row) => {
    let [best, least] = [-1, Infinity];
    for (let other = 0; other < map.shown.length; other++) {
      const [dx, dy] = [0, 1].map((axis) => points[2 * other + axis] - points[2 * row + axis]);
      const square = dx * dx + dy * dy;
      if (map.shown[other] && square < least) [best, least] = [other, square];
    }
    return best;
  };
  return [0, 123_456, 249_999].map((row) => {
    const [x, y] = map.at(row);
    const pixel = map.pixels[Math.floor(y) * canvas.width + Math.floor(x)];
    const event = { clientX: box.left + x / ratio, clientY: box.top + y / ratio };
    const found = map.rowAt(event);
    map.shown[row] = 0;
    const [beside, isDrawn] = [map.rowAt(event), pixel === 0xff0000ff];
    return { row, found, isDrawn, beside, nearest: nearest(row) };
  });
}"""


def drawn(page):
    """The canvas, once all of it is there."""
    page.wait_for_selector(".legend li")
    page.wait_for_function("() => document.querySelector('canvas').map.frames.length > 1")
    return page.locator("canvas")


def test_the_map_draws_filters_and_takes_a_query(visit):
    page = visit("map?colour=source")
    canvas = drawn(page)
    assert canvas.evaluate("(canvas) => new Set(canvas.map.pixels).size") > 3
    page.locator(".legend button", has_text="timm").click()
    shown = "(canvas) => canvas.map.shown.reduce((sum, each) => sum + each, 0)"
    assert canvas.evaluate(shown) == 3
    page.goto(page.url.split("#")[0] + "#/map?at=timm%3Aa")
    page.wait_for_selector(".near li")
    page.wait_for_function("() => document.querySelector('canvas').map.marks.rows.length === 4")
    page.locator("canvas").focus()
    before = page.locator("canvas").evaluate("(canvas) => canvas.map.view.zoom")
    page.keyboard.press("+")
    assert page.locator("canvas").evaluate("(canvas) => canvas.map.view.zoom") > before


@pytest.mark.parametrize("colour", ["family", "block", "task", "source"])
def test_the_map_is_coloured_by_a_label(visit, items, colour):
    page = visit("map?at=timm%3Aa")
    page.wait_for_selector(".near li")
    # What is chosen already is no change.
    page.get_by_label("Colour").select_option("task" if colour == "family" else "family")
    page.get_by_label("Colour").select_option(colour)
    page.wait_for_url(f"**/map?at=timm%3Aa&colour={colour}")
    labels = [each if colour == "block" else each.labels for each in items]
    counts = Counter(getattr(each, colour) for each in labels)
    for value, count in counts.items():
        told = page.locator(".legend li", has=page.get_by_text(value, exact=True)).locator("small")
        expect(told).to_have_text(str(count))
    expect(page.locator(".legend li")).to_have_count(len(counts))
    # It stays while one goes from neighbour to neighbour.
    page.locator(".near li a").first.click()
    page.wait_for_url(f"**/map?at=timm%3Ab&colour={colour}")


def test_a_point_is_told_and_picked(visit):
    page = visit("map")
    canvas = drawn(page)
    assert canvas.evaluate("(c) => c.map.points.length / 2") == 5
    at = canvas.evaluate("(c) => c.map.at(0).map((each) => each / devicePixelRatio)")
    box = canvas.bounding_box()
    page.mouse.move(box["x"] + at[0], box["y"] + at[1])
    page.wait_for_function("() => document.querySelector('.tip').textContent")
    page.mouse.down()
    page.mouse.up()
    page.wait_for_url("**at=**")


def test_the_wheel_zooms_to_where_it_points_and_a_drag_moves(visit):
    page = visit("map")
    canvas = drawn(page)
    left, top, zoom = 200, 150, "(canvas) => canvas.map.view.zoom"
    under = "(canvas, [x, y]) => canvas.map.toMap(x * devicePixelRatio, y * devicePixelRatio)"
    before, was = canvas.evaluate(zoom), canvas.evaluate(under, [left, top])
    box = canvas.bounding_box()
    page.mouse.move(box["x"] + left, box["y"] + top)
    page.mouse.wheel(0, -400)
    page.wait_for_function(
        "(zoom) => document.querySelector('canvas').map.view.zoom > 1.5 * zoom", arg=before
    )
    assert canvas.evaluate(under, [left, top]) == pytest.approx(was)
    page.mouse.down()
    page.mouse.move(box["x"] + left + 60, box["y"] + top + 40)
    page.mouse.up()
    assert canvas.evaluate(under, [left + 60, top + 40]) == pytest.approx(was)
    assert page.url.endswith("#/map")


def test_a_name_is_found_on_the_map(visit):
    page = visit("map")
    page.wait_for_selector(".legend li")
    page.get_by_role("combobox", name="Find on the map").fill("deep")
    page.wait_for_selector("[role=option]")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_url("**/map?at=timm%3Adeep")
    page.wait_for_selector(".near li")
    place = "(canvas) => [canvas.map.marks.centre, canvas.map.view.x, canvas.map.view.y]"
    centre, x, y = page.locator("canvas").evaluate(place)
    assert centre == [x, y]
    assert page.locator(".near h2").inner_text() == "timm:deep"


def test_an_exported_program_is_answered_and_lands_on_the_map(visit, tmp_path):
    layers = torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU(), torch.nn.Conv2d(4, 4, 3)
    program = torch.export.export(torch.nn.Sequential(*layers), (torch.zeros(1, 3, 8, 8),))
    torch.export.save(program, tmp_path / "m.pt2")
    page = visit()
    page.locator("h1").wait_for()
    drop(page, "m.pt2", (tmp_path / "m.pt2").read_bytes())
    page.get_by_text("Find it on the map").click()
    page.wait_for_selector(".near li")
    assert page.locator(".near h2").inner_text() == "m.pt2"
    # It is no point of the map: it lands amid those that are like it.
    marks = """({ map }) => [map.marks.centre, map.marks.rows.map((row) =>
      [map.points[2 * row], map.points[2 * row + 1]])]"""
    centre, near = page.locator("canvas").evaluate(marks)
    for axis, place in enumerate(centre):
        places = [point[axis] for point in near]
        assert min(places) <= place <= max(places)


def test_a_quarter_of_a_million_points_are_drawn_and_found(visit):
    page = visit()
    page.locator(".welcome").wait_for()
    asked = page.evaluate(MANY)
    assert [each["row"] for each in asked] == [0, 123_456, 249_999]
    for each in asked:
        assert each["isDrawn"]
        assert each["found"] == each["row"]
        # Where the point is hidden, the nearest of all others is found.
        assert each["beside"] == each["nearest"] != each["row"]
