"""The page in a real browser: search, verdicts, filters, dropped files, errors, keys, a phone."""

import csv
import io
import json
from dataclasses import fields, replace

import pytest
from google.protobuf.json_format import MessageToDict, MessageToJson
from graphs import graph_of
from playwright.sync_api import expect
from test_front_ends import SHOWN
from web_dropping import drop

from nar.answers.query import Answer
from nar.answers.retrieve import Retriever
from nar.graphs.normal_form import normal_form
from nar.index.cards import cards_file
from nar.index.filters import Filter, conditions_of
from nar.v1.retrieval_pb2 import SearchResponse
from nar.views.answer import LEFT_OUT
from nar.wire.graphs import encode_graph
from nar.wire.records import encode_answer


def paste(page, text):
    page.get_by_text("Paste a graph").click()
    page.get_by_role("textbox", name="A graph as JSON").fill(text)
    page.get_by_role("button", name="Ask").click()


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


def test_the_page_asks_for_networks_and_not_for_their_copies(visit):
    page = visit()
    with page.expect_request("**/v1/search") as asked:
        page.evaluate("location.hash = '#/ask/timm%3Aa'")
    [query] = asked.value.post_data_json["queries"]
    assert (query["topK"], query["counted"]) == (20, "COUNTED_NETWORKS")


def test_the_verdict_names_an_equal_network(visit):
    page = visit("ask/timm%3Aa")
    assert "already known as timm:b" in page.locator(".verdict").inner_text()


@pytest.mark.parametrize(
    ("written", "said"),
    [
        (lambda graph: graph, "This network is already known as timm:a, timm:b."),
        (
            lambda graph: replace(graph, parameters=7),
            "This design is already known, in equal widths with a table of another size or another "
            "sharing of weights, as timm:a; timm:b has it, too.",
        ),
        (
            normal_form,
            "At inference this is the same network as timm:a, timm:b: a batch norm folded, "
            "branches or adapters merged.",
        ),
    ],
    ids=["network", "design", "inference"],
)
def test_the_verdict_says_how_a_pasted_graph_is_known(visit, items, written, said):
    page = visit()
    paste(page, json.dumps(MessageToDict(encode_graph(written(items[0].graph)))))
    page.wait_for_selector(".verdict.known")
    assert page.locator(".verdict p.lead").all_inner_texts() == [said]


@pytest.mark.parametrize("field", [each.name for each in fields(Answer)])
def test_every_part_of_an_answer_is_on_the_page(visit, field):
    answer, text = SHOWN[field]
    if field in LEFT_OUT["page"]:
        return
    page = visit()
    reply = MessageToJson(SearchResponse(results=[encode_answer(answer)]))
    page.route("**/v1/search", lambda route: route.fulfill(json=json.loads(reply)))
    paste(page, json.dumps(MessageToDict(encode_graph(graph_of("input; conv 0")))))
    page.wait_for_selector(".hits")
    assert text in page.locator("main").inner_text()


def test_the_verdict_says_how_new_a_graph_of_ones_own_is(visit, indexed, novelty):
    _, embedder, _, index = indexed
    graph = graph_of("input; conv 0; relu 1; conv 2; relu 3")
    new = Retriever(embedder, index, novelty).search(graph).novelty
    said = f"Novelty {new:.0f}: so many of 100 designs of known families have a nearer relative."
    page = visit()
    paste(page, json.dumps(MessageToDict(encode_graph(graph))))
    page.wait_for_selector(".hits")
    assert said in page.locator(".verdict").inner_text()
    # Of a known model nobody asks whether it is new.
    page = visit("ask/timm%3Adeep")
    page.wait_for_selector(".hits")
    assert "have a nearer relative" not in page.locator(".verdict").inner_text()


def test_arrows_move_from_hit_to_hit(visit):
    page = visit("ask/hf%3Abert")
    page.locator(".hits a.name").first.focus()
    page.keyboard.press("ArrowDown")
    second = page.locator(".hits a.name").nth(1)
    assert second.evaluate("(link) => link === document.activeElement")
    page.keyboard.press("Enter")
    page.wait_for_url("**/ask/timm**")


def test_every_condition_that_can_be_offered_is_a_filter(visit):
    page = visit("ask/hf%3Abert")
    page.locator(".filters").wait_for()
    offered = page.locator(".filters input").evaluate_all("(all) => all.map((each) => each.name)")
    wanted = []
    for condition in conditions_of(Filter):
        if condition.is_range:
            wanted += [f"min-{condition.flag}", f"max-{condition.flag}"]
        elif condition.is_label or (condition.words and cards_file().is_file()):
            wanted.append(condition.column)
    assert offered == [*wanted, "where"]


def test_filters_stand_in_the_address(visit):
    page = visit("ask/hf%3Abert")
    page.locator(".filters [name=family]").fill("resnet")
    page.locator(".filters [name=family]").press("Tab")
    page.wait_for_url("**family=resnet**")
    # The hits of before stand there until those of the filter come.
    expect(page.locator(".hits [data-label=Family]")).to_have_text(["resnet"])


def test_a_misspelt_filter_is_told_with_what_it_may_be(visit):
    page = visit("ask/hf%3Abert?family=resnt")
    faults = page.locator("main .error")
    expect(faults).to_have_text(["No architecture has the family resnt; near: resnet."])
    assert page.get_by_text("No architecture of the index passes these filters.").count() == 1
    page = visit("ask/hf%3Abert?family=qqqq&source=tim")
    said = [
        "No architecture has the source tim; near: timm.",
        "No architecture has the family qqqq.",
    ]
    expect(faults).to_have_text(said)
    # Each is known, and nothing is both.
    page = visit("ask/hf%3Abert?family=resnet&source=hf")
    page.locator(".filters").wait_for()
    expect(faults).to_have_count(0)


@pytest.mark.parametrize("text", ["many", "1.2.3", "1,000"])
def test_a_range_that_is_no_number_is_told(visit, text):
    page = visit(f"ask/hf%3Abert?min-parameters={text}&max-parameters=5G")
    page.wait_for_selector(".hits")
    wanted = f"{text} is no number of parameters: write 30M, or 30000000."
    expect(page.locator("main .error")).to_have_text([wanted])
    assert page.locator(".filters [name=min-parameters]").input_value() == text


def test_a_dropped_file_is_answered(visit, model_file):
    page = visit()
    page.locator("h1").wait_for()
    drop(page, "two.onnx", model_file.read_bytes())
    page.wait_for_selector(".hits")
    assert page.locator(".verdict h1").text_content() == "two.onnx"
    page.get_by_text("See its blocks").click()
    page.wait_for_selector(".block")
    assert "5" in page.locator(".facts").inner_text()


def test_a_dropped_configuration_is_answered(visit):
    page = visit()
    page.locator("h1").wait_for()
    config = {"model_type": "resnet", "architectures": ["ResNetModel"], "depths": [1, 1]}
    sizes = {"hidden_sizes": [8, 16], "embedding_size": 8, "layer_type": "basic"}
    drop(page, "config.json", json.dumps(config | sizes).encode())
    page.wait_for_selector(".hits")
    assert page.locator(".verdict h1").text_content() == "config.json"
    assert page.locator(".hits tbody tr").count() >= 3


def test_a_file_is_asked_for_once_and_again_when_it_is_dropped_again(visit, model_file):
    page = visit()
    page.locator("h1").wait_for()
    searches = []
    page.on("request", lambda request: searches.append(request.url.endswith("/v1/search")))
    for times in (1, 2):
        with page.expect_response("**/v1/search"):
            drop(page, "two.onnx", model_file.read_bytes())
        page.wait_for_selector(".hits")
        assert sum(searches) == times


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
    paste(page, "{")
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


def test_a_misspelt_name_is_told_with_what_is_called_alike(visit):
    page = visit("ask/hf%3Abertt")
    expect(page.locator(".error")).to_contain_text("Did you mean hf:bert")
    page.locator(".error").get_by_role("link", name="hf:bert").click()
    expect(page.locator(".verdict h1")).to_have_text("hf:bert")
    # What is wrong with something else than the name offers no names.
    page = visit("ask/hf%3Abert?by=nothing")
    expect(page.locator(".error")).not_to_contain_text("Did you mean")


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("map", "This index has no map"),
        ("model/timm%3Aa", "indexed without a graph"),
        ("users/0123456789abcdef", "were not counted"),
        ("ask/yours%3Aelsewhere.onnx", "drop it here again"),
    ],
)
def test_what_an_index_lacks_is_told(visit, address, said):
    page = visit(address, is_bare=True)
    assert said in page.locator(".error").inner_text()


@pytest.mark.parametrize("address", ["map", "ask/hf%3Abert?family=nobody"])
def test_what_comes_too_late_leaves_the_next_view_alone(visit, address):
    page = visit()
    held = []
    page.route("**/page/map", lambda route: held.append(route))
    with page.expect_request("**/page/map"):
        page.evaluate("(address) => { location.hash = address; }", f"#/{address}")
    page.evaluate("() => { location.hash = '#/'; }")
    page.locator(".welcome").wait_for()
    held[0].continue_()
    # Whoever asks now gets the columns last, for they are asked for once.
    page.evaluate("async () => (await import('/js/columns.js')).columns()")
    page.evaluate("() => new Promise(requestAnimationFrame)")
    assert page.locator("main > *").count() == 2
    assert page.locator(".welcome").count() == 1


def test_dark_and_light(visit):
    page = visit()
    ground = "() => getComputedStyle(document.body).backgroundColor"
    before = page.evaluate(ground)
    page.locator("#theme").click()
    assert page.evaluate(ground) != before
    page.reload()
    assert page.evaluate(ground) != before


@pytest.mark.parametrize(
    "address",
    [
        "",
        "ask/timm%3Aa",
        "map?at=timm%3Aa",
        "model/timm%3Aa",
        "diff/timm%3Aa/hf%3Abert",
        "users/{motif}?from=timm%3Adeep",
    ],
)
def test_a_phone_needs_no_sideways_scrolling(visit, motif, address):
    page = visit(address.format(motif=motif))
    page.set_viewport_size({"width": 360, "height": 740})
    page.locator("main > *").first.wait_for()
    page.locator(".busy").wait_for(state="detached")
    assert page.locator(".error:visible").count() == 0
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 360


def test_an_answer_is_copied_as_other_programs_read_it(visit):
    page = visit("ask/timm%3Aa")
    page.wait_for_selector(".hits")
    # A browser without a window to click into lends no clipboard; the page's own call is kept.
    page.evaluate(
        "() => Object.defineProperty(navigator, 'clipboard', { value: "
        "{ writeText: async (text) => { window.copied = text; } } })"
    )
    tools = page.get_by_role("group", name="Copy the answer")

    def copied(form):
        tools.get_by_role("button", name=form, exact=True).click()
        tools.get_by_text(f"Copied as {form}.").wait_for()
        return page.evaluate("() => window.copied")

    def parameters(hit):
        # The wire leaves a zero out.
        return str(hit["architecture"].get("parameters", 0))

    hits = json.loads(copied("JSON"))["hits"]
    wanted = [
        [*(hit["architecture"][name] for name in ("name", "family", "task")), parameters(hit)]
        for hit in hits
    ]
    table = list(csv.reader(io.StringIO(copied("CSV"))))
    assert table[0] == ["name", "family", "task", "parameters", "score"]
    assert [row[:-1] for row in table[1:]] == wanted
    lines = copied("Markdown").splitlines()
    assert len(lines) == len(hits) + 2
    assert lines[2].startswith(f"| {wanted[0][0]} | {wanted[0][1]} |")


def test_what_is_copied_keeps_commas_and_bars_and_is_no_formula(visit):
    page = visit()
    page.locator("h1").wait_for()
    odd = '=a,"b"|\n\\'
    result = {"hits": [{"architecture": {"name": odd, "family": "-1"}, "score": 1}]}
    page.evaluate(
        """async (result) => {
          const { copyTools } = await import("/js/copying.js");
          document.getElementById("main").replaceChildren(copyTools(result));
          Object.defineProperty(navigator, "clipboard", { value: undefined });
        }""",
        result,
    )
    field = page.get_by_role("textbox", name="The answer as text")
    # Without a clipboard the text stands in a field.
    page.get_by_role("button", name="CSV").click()
    page.get_by_text("lends no clipboard: copy the CSV").wait_for()
    [_, row] = csv.reader(io.StringIO(field.input_value()))
    assert row == [f"'{odd}", "'-1", "", "0", "1.000"]
    page.get_by_role("button", name="Markdown").click()
    page.get_by_text("copy the Markdown").wait_for()
    assert field.input_value().splitlines()[2] == '| =a,"b"\\| \\\\ | -1 |  | 0 | 1.000 |'


def test_what_was_asked_lately_stands_on_the_first_screen(visit):
    page = visit()
    page.locator(".welcome").wait_for()
    assert page.locator(".recent").count() == 0
    for name in ("timm:a", "hf:bert", "timm:a", "timm:nobody"):
        page.evaluate("(name) => { location.hash = `#/ask/${encodeURIComponent(name)}`; }", name)
        ended = ".error" if name == "timm:nobody" else ".copying"
        page.locator(f".verdict h1:text-is('{name}'), .error").first.wait_for()
        page.wait_for_selector(ended)
    page.goto(page.url.split("#")[0] + "#/")
    page.reload()
    # The last first, each once; what had no answer is not kept.
    expect(page.locator(".recent a")).to_have_text(["timm:a", "hf:bert"])
    page.get_by_role("button", name="Forget").click()
    expect(page.locator(".recent")).to_have_count(0)
    page.reload()
    page.locator(".welcome").wait_for()
    assert page.locator(".recent").count() == 0


def test_a_file_that_is_read_can_be_given_up(visit, model_file):
    page = visit()
    page.locator("h1").wait_for()
    held = []
    page.route("**/page/file?*", lambda route: held.append(route))
    with page.expect_request("**/page/file?*"):
        drop(page, "two.onnx", model_file.read_bytes())
    page.get_by_text("Reading two.onnx (").wait_for()
    with page.expect_event("requestfailed"):
        page.get_by_role("button", name="Cancel").click()
    expect(page.locator(".reading")).to_have_count(0)
    assert page.locator("main > .error").count() == 0
    # The next file is read.
    page.unroute("**/page/file?*")
    drop(page, "two.onnx", model_file.read_bytes())
    page.wait_for_selector(".hits")


def test_paper_shows_the_answer_and_nothing_to_press(visit):
    page = visit("ask/timm%3Aa")
    page.wait_for_selector(".hits")
    page.locator("#theme").click()
    page.emulate_media(media="print")
    assert page.locator(".verdict h1").is_visible()
    assert page.locator(".hits").is_visible()
    assert page.locator("button:visible, input:visible, select:visible").count() == 0
    ground = "() => getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(ground) == "rgb(255, 255, 255)"


def test_equal_rows_of_a_comparison_are_folded(visit):
    page = visit("diff/timm%3Aa/timm%3Ab")
    # Equal networks: every row is folded, and opened it shows them on both sides.
    rows = page.locator(".folded")
    rows.wait_for()
    assert page.locator(".card:visible").count() == 0
    count = int(rows.locator("summary").inner_text().split()[0])
    rows.locator("summary").click()
    assert page.locator(".card:visible").count() == 2 * count >= 6
    # What differs stays in sight.
    page = visit("diff/timm%3Aa/hf%3Abert")
    page.locator(".card.alone").first.wait_for()
    assert page.locator(".card.alone:visible").count() == page.locator(".card.alone").count()
