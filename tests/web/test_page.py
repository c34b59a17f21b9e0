"""The page in a real browser: search, dropped files, the map, blocks, comparisons, errors, keys."""

from base64 import b64encode

import pytest
from playwright.sync_api import expect

DROP = """([name, text]) => {
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const dropped = new DataTransfer();
  dropped.items.add(new File([bytes], name));
  return dropped;
}"""


def drop(page, name, content):
    held = page.evaluate_handle(DROP, [name, b64encode(content).decode()])
    page.dispatch_event("body", "drop", {"dataTransfer": held})


def test_a_name_is_chosen_by_keys_and_answered(visit):
    page = visit()
    page.keyboard.press("Escape")
    page.locator("h1").click()
    page.keyboard.press("/")
    page.keyboard.type("bert")
    page.wait_for_selector("[role=option]")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_selector(".hits")
    assert page.url.endswith("#/ask/hf%3Abert")
    assert page.locator(".verdict h1").text_content() == "hf:bert"
    assert page.locator(".hits tbody tr").count() >= 3


def test_the_verdict_names_an_equal_network(visit):
    page = visit("ask/timm%3Aa")
    assert "the same network as timm:b" in page.locator(".verdict").inner_text()


def test_arrows_move_from_hit_to_hit(visit):
    page = visit("ask/hf%3Abert")
    page.locator(".hits a.name").first.focus()
    page.keyboard.press("ArrowDown")
    second = page.locator(".hits a.name").nth(1)
    assert second.evaluate("(link) => link === document.activeElement")
    page.keyboard.press("Enter")
    page.wait_for_url("**/ask/timm**")


def test_filters_stand_in_the_address(visit):
    page = visit("ask/hf%3Abert")
    page.locator(".filters [name=family]").fill("resnet")
    page.locator(".filters [name=family]").press("Tab")
    page.wait_for_url("**family=resnet**")
    # The hits of before stand there until those of the filter come.
    expect(page.locator(".hits [data-label=Family]")).to_have_text(["resnet"])


def test_a_dropped_file_is_answered(visit, model_file):
    page = visit()
    page.locator("h1").wait_for()
    drop(page, "two.onnx", model_file.read_bytes())
    page.wait_for_selector(".hits")
    assert page.locator(".verdict h1").text_content() == "two.onnx"
    page.get_by_text("See its blocks").click()
    page.wait_for_selector(".block")
    assert "5" in page.locator(".facts").inner_text()


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [("two.pickle", b"x", "wanted an ONNX model"), ("two.onnx", b"no model", "two.onnx")],
)
def test_a_file_that_is_no_model_is_told(visit, name, content, said):
    page = visit()
    page.locator("h1").wait_for()
    drop(page, name, content)
    assert said in page.locator(".error[role=alert]:not([hidden])").inner_text()


def test_a_pasted_graph_is_answered(visit):
    page = visit()
    page.get_by_text("Paste a graph").click()
    page.get_by_role("textbox", name="A graph as JSON").fill("{")
    page.get_by_role("button", name="Ask").click()
    page.get_by_text("This is no JSON").wait_for()
    graph = (
        '{"operators": ["input", "conv", "relu"], "nodes": [0, 1, 2],'
        ' "edgeIndex": {"sources": [0, 1], "targets": [1, 2]}}'
    )
    page.get_by_role("textbox", name="A graph as JSON").fill(graph)
    page.get_by_role("button", name="Ask").click()
    page.wait_for_selector(".hits")
    assert page.locator(".verdict h1").text_content() == "pasted graph"


def test_an_unknown_name_is_told(visit):
    page = visit("ask/timm%3Anobody")
    assert "timm:nobody" in page.locator(".error").inner_text()


def test_the_map_draws_filters_and_takes_a_query(visit):
    page = visit("map?colour=source")
    page.wait_for_selector(".legend li")
    drawn = "(canvas) => canvas.map.frames.length && new Set(canvas.map.pixels).size"
    page.wait_for_function("() => document.querySelector('canvas').map.frames.length > 1")
    assert page.locator("canvas").evaluate(drawn) > 3
    page.locator(".legend button", has_text="timm").click()
    shown = "(canvas) => canvas.map.shown.reduce((sum, each) => sum + each, 0)"
    assert page.locator("canvas").evaluate(shown) == 3
    page.goto(page.url.split("#")[0] + "#/map?at=timm%3Aa")
    page.wait_for_selector(".near li")
    page.wait_for_function("() => document.querySelector('canvas').map.marks.rows.length === 4")
    page.locator("canvas").focus()
    before = page.locator("canvas").evaluate("(canvas) => canvas.map.view.zoom")
    page.keyboard.press("+")
    assert page.locator("canvas").evaluate("(canvas) => canvas.map.view.zoom") > before


def test_a_point_is_told_and_picked(visit):
    page = visit("map")
    page.wait_for_selector(".legend li")
    page.wait_for_function("() => document.querySelector('canvas').map.frames.length > 1")
    at = page.locator("canvas").evaluate(
        "(c) => c.map.at(0).map((each) => each / devicePixelRatio)"
    )
    name = page.locator("canvas").evaluate("(c) => c.map.points.length / 2")
    assert name == 5
    box = page.locator("canvas").bounding_box()
    page.mouse.move(box["x"] + at[0], box["y"] + at[1])
    page.wait_for_function("() => document.querySelector('.tip').textContent")
    page.mouse.down()
    page.mouse.up()
    page.wait_for_url("**at=**")


def test_a_block_opens_and_says_who_uses_it(visit):
    page = visit("model/timm%3Adeep")
    page.wait_for_selector(".block")
    folded = page.locator(".block:has(.times)")
    folded.first.focus()
    page.keyboard.press("Enter")
    page.wait_for_selector(".opened svg")
    page.get_by_text("Used by").click()
    page.wait_for_selector(".families li")
    assert "timm:deep" in page.locator(".hits").inner_text()


def test_two_models_are_compared(visit):
    page = visit("diff/timm%3Aa/timm%3Adeep")
    page.wait_for_selector(".aligned")
    assert page.locator(".card").count() >= 4
    assert "timm:deep" in page.locator(".numbers").inner_text()
    page.get_by_role("button", name="Swap").click()
    page.wait_for_url("**/diff/timm%3Adeep/timm%3Aa")


def test_equal_networks_are_told(visit):
    page = visit("diff/timm%3Aa/timm%3Ab")
    assert "The same network." in page.locator(".verdict").inner_text()


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("map", "This index has no map"),
        ("model/timm%3Aa", "indexed without a graph"),
        ("users/0123456789abcdef", "nobody has counted"),
        ("ask/yours%3Aelsewhere.onnx", "drop it here again"),
    ],
)
def test_what_an_index_lacks_is_told(visit, address, said):
    page = visit(address, is_bare=True)
    assert said in page.locator(".error").inner_text()


def test_dark_and_light(visit):
    page = visit()
    ground = "() => getComputedStyle(document.body).backgroundColor"
    before = page.evaluate(ground)
    page.locator("#theme").click()
    assert page.evaluate(ground) != before
    page.reload()
    assert page.evaluate(ground) != before


@pytest.mark.parametrize(
    "address", ["", "ask/timm%3Aa", "map?at=timm%3Aa", "model/timm%3Aa", "diff/timm%3Aa/hf%3Abert"]
)
def test_a_phone_needs_no_sideways_scrolling(visit, address):
    page = visit(address)
    page.set_viewport_size({"width": 360, "height": 740})
    page.locator("main > *").first.wait_for()
    page.locator(".busy").wait_for(state="detached")
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 360


def test_a_misspelt_filter_is_told_with_what_it_may_be(visit):
    page = visit("ask/hf%3Abert?family=resnt")
    page.locator("main .error").wait_for()
    said = page.locator("main .error").inner_text()
    assert said == "No architecture has the family resnt; near: resnet."
    page = visit("ask/hf%3Abert?family=qqqq")
    expect(page.locator("main .error")).to_have_text("No architecture has the family qqqq.")


def test_a_dropped_configuration_is_answered(visit):
    page = visit()
    page.locator("h1").wait_for()
    config = {"model_type": "resnet", "architectures": ["ResNetModel"], "depths": [1, 1]}
    told = config | {"hidden_sizes": [8, 16], "embedding_size": 8, "layer_type": "basic"}
    drop(page, "config.json", json.dumps(told).encode())
    page.wait_for_selector(".hits")
    assert page.locator(".verdict h1").text_content() == "config.json"


def test_an_exported_program_is_answered_and_lands_on_the_map(visit, tmp_path):
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU(), torch.nn.Conv2d(4, 4, 3))
    torch.export.save(torch.export.export(model, (torch.zeros(1, 3, 8, 8),)), tmp_path / "m.pt2")
    page = visit()
    page.locator("h1").wait_for()
    drop(page, "m.pt2", (tmp_path / "m.pt2").read_bytes())
    page.get_by_text("Find it on the map").click()
    page.wait_for_selector(".near li")
    assert page.locator("canvas").evaluate("(canvas) => canvas.map.marks.centre.length") == 2


@pytest.mark.parametrize(
    ("of", "said"),
    [
        ("input; conv 0; relu 1", "the same design as"),
        ("input; conv 0; batch_norm 1; relu 2", "the same network at inference as"),
    ],
)
def test_the_verdict_says_how_a_pasted_graph_is_known(visit, of, said):
    page = visit()


@pytest.mark.parametrize("colour", ["family", "block", "task", "source"])
def test_the_map_is_coloured_by_a_label(visit, colour):
    page = visit("map")
    page.wait_for_selector(".legend li")
    page.get_by_label("Colour").select_option(colour)
    page.wait_for_url(f"**colour={colour}**")
    page.wait_for_selector(".legend li")
    told = page.locator(".legend li small").all_inner_texts()
    assert sum(map(int, told)) == 5


def test_the_wheel_zooms_to_where_it_points_and_a_name_is_found(visit):
    page = visit("map")
    page.wait_for_selector(".legend li")
    canvas = page.locator("canvas")
    view = "(canvas) => ({ ...canvas.map.view })"
    before = canvas.evaluate(view)
    box = canvas.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 4, box["y"] + box["height"] / 4)
    page.mouse.wheel(0, -400)
    page.wait_for_function(
        "(zoom) => document.querySelector('canvas').map.view.zoom > zoom", arg=before["zoom"]
    )
    after = canvas.evaluate(view)
    assert after["x"] < before["x"]
    assert after["y"] < before["y"]
    page.get_by_title("Find on the map").fill("timm:deep")
    page.wait_for_selector("[role=option]")
    page.keyboard.press("Enter")
    page.wait_for_url("**at=timm**")
    page.wait_for_selector(".near li")


def test_a_quarter_of_a_million_points_are_drawn_and_found(visit):
    page = visit("map")
    page.wait_for_selector(".legend li")
    row = page.evaluate(MANY)
    assert row == 123_456
