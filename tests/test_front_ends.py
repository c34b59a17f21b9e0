"""Every part of an answer is in every front end, or a table says why not."""

import json
from dataclasses import fields, replace
from io import StringIO

import pytest
from google.protobuf.json_format import MessageToJson
from graphs import graph_of
from rich.console import Console
from test_verdict import hits

from nar.answers.bodies import SharedBody
from nar.answers.coverage import Coverage, NewOperators
from nar.answers.design_card import DesignCard
from nar.answers.difference import Changes, Explanation, MotifCounts, MotifDifference, difference
from nar.answers.edits import Edit, Edits
from nar.answers.part_of import PartOf, Whole
from nar.answers.query import Answer
from nar.answers.supported import Closest, lists
from nar.answers.verdict import FamilyCount, FamilyVerdict, Resemblance
from nar.answers.words import sentences
from nar.answers.wrapping import TakenOff, Wrapped
from nar.ask import Relatives
from nar.client.questions import ANSWERS
from nar.graphs.architecture import Labels, architecture
from nar.graphs.assumed import Assumed, AssumedValue, Count, Unread
from nar.mcp_server import search_report
from nar.views.answer import LEFT_OUT, NO_ENGINE, NetworkRow, answer_report, answer_view
from nar.views.difference import difference_html
from nar.wire.records import decode_answer, encode_answer


def hit(name):
    [given] = hits(("fam", 0.9))
    return replace(given, name=f"lib:{name}", exact=name)


def verdict(name):
    return FamilyVerdict(10, (FamilyCount(name, 9, 0.97, 0.9, (f"{name}-twin",)),))


MOTIF = MotifCounts("00112233aabbccdd", ("conv", "relu"), 3, 2)
NEW = Answer(
    hits=(hit("a-hit"),),
    novelty=73.0,
    resemblance=Resemblance("family", "lib:like", "fam-like", 9, 10, 0.97),
    family=verdict("fam-own"),
    trunk=verdict("fam-trunk"),
    part_of=(Whole("lib:whole", PartOf(0.97, 0.51, "the end")),),
    bodies=(SharedBody("lib:body", ("head",)),),
    changes=(Changes("lib:changed", Edits((Edit("layer_scale", 24, (), ("mul*",), "linear"),))),),
    coverage=Coverage(0.125, 0.0, 0.25, (NewOperators("stft", 3),), "lib:covering", 0.5),
    card=DesignCard("encoder", 12, norm="rms", heads=24, attention="grouped", key_value_heads=8),
    shared=(Explanation("lib:explained", MotifDifference((MOTIF,), ()), ("head",)),),
    compared=37,
    assumed=Assumed(
        inputs=("x=1x3x32x32",),
        weights_reached=0.62,
        sizes_matter=True,
        is_sure=False,
        doubts=("the call reaches 62% of the weights",),
        values=(AssumedValue("width", "64", "configs/a.yaml:3"),),
        stand_ins=("apex: its norms are torch's",),
        skipped=("net.py:7: load_state_dict",),
    ),
    unread=Unread(
        unknown=(Count("com.microsoft::Odd", 4),),
        operators=9,
        cut=(Count("tolist", 2),),
        lost=1_056,
        parameters=11_880,
        facts=(Count("shape of onnx::If", 1),),
        without=("the derivative of net.py:9",),
    ),
)
# Of what is known nothing weaker is said.
NETWORK = replace(NEW, same_network=(hit("same-net"),), novelty=0.0)
INFERENCE = replace(NEW, same_at_inference=(hit("same-inference"),), novelty=0.0)
DESIGN = replace(NEW, same_design=(hit("same-design"),), novelty=0.0)
LORA = TakenOff("layers", count=24, rank=8)
WRAPPED = replace(NEW, wrapped=Wrapped("network", (hit("behind"),), (LORA,)), novelty=0.0)

# The number and the time that it stands for have this text in common.
STALE = replace(NEW, stale_since=1970.0)

# What shows that a field is there, and in which answer.
SHOWN = {
    "hits": (NEW, "lib:a-hit"),
    "same_network": (NETWORK, "lib:same-net"),
    "same_at_inference": (INFERENCE, "lib:same-inference"),
    "same_design": (DESIGN, "lib:same-design"),
    "novelty": (NEW, "73"),
    "resemblance": (NEW, "lib:like"),
    "family": (NEW, "fam-own"),
    "trunk": (NEW, "fam-trunk"),
    "part_of": (NEW, "lib:whole"),
    "bodies": (NEW, "lib:body"),
    "changes": (NEW, "lib:changed"),
    "coverage": (NEW, "lib:covering"),
    "shared": (NEW, "lib:explained"),
    "card": (NEW, "grouped"),
    "compared": (NEW, "37"),
    "assumed": (NEW, "x=1x3x32x32"),
    "unread": (NEW, "com.microsoft::Odd"),
    "wrapped": (WRAPPED, "lib:behind"),
    "stale_since": (STALE, "1970"),
}


def printed(answer, closest=None):
    console = Console(file=StringIO(), width=200)
    console.print(answer_view("mine", answer, [NetworkRow(each) for each in answer.hits], closest))
    return console.file.getvalue()


FRONT_ENDS = {
    "command": printed,
    "--json": lambda answer, closest=None: json.dumps(
        answer_report("mine", answer, [NetworkRow(each) for each in answer.hits], closest)
    ),
    "python": lambda answer, closest=None: repr(Relatives("mine", answer, closest)),
    "notebook": lambda answer, closest=None: Relatives("mine", answer, closest)._repr_html_(),
    "mcp": lambda answer, closest=None: json.dumps(search_report("mine", answer, closest)),
    "grpc": lambda answer: str(encode_answer(answer)),
    "http": lambda answer: MessageToJson(encode_answer(answer)),
    "client": lambda answer: repr(decode_answer(encode_answer(answer))),
}
SAME_AS = {"notebook": "python"}


@pytest.mark.parametrize("front_end", FRONT_ENDS)
@pytest.mark.parametrize("field", [each.name for each in fields(Answer)])
def test_every_field_is_shown_or_left_out_with_a_reason(front_end, field):
    answer, text = SHOWN[field]
    left_out = LEFT_OUT.get(SAME_AS.get(front_end, front_end), {})
    assert (text in FRONT_ENDS[front_end](answer)) is (field not in left_out)


@pytest.mark.parametrize("front_end", sorted(FRONT_ENDS.keys() - NO_ENGINE.keys()))
def test_what_an_engine_supports_is_shown_where_it_can_be_asked_for(front_end):
    closest = Closest(lists()["vllm"], 9, "OneForCausalLM", "lib:one", same="design")
    said = "vLLM supports this design, in other widths or other settings: OneForCausalLM"
    assert said in FRONT_ENDS[front_end](NEW, closest)
    assert said not in FRONT_ENDS[front_end](NEW)


def test_where_an_engine_cannot_be_asked_for_has_a_reason():
    assert NO_ENGINE.keys() <= FRONT_ENDS.keys() | {"page"}
    assert all(len(reason.split()) > 3 for reason in NO_ENGINE.values())


def test_what_is_left_out_is_a_field_and_has_a_reason():
    names = {each.name for each in fields(Answer)}
    for reasons in LEFT_OUT.values():
        assert reasons.keys() < names
        assert all(len(reason.split()) > 3 for reason in reasons.values())


@pytest.mark.parametrize("answer", [NEW, NETWORK, INFERENCE, DESIGN, WRAPPED, STALE, Answer(())])
def test_a_record_comes_over_the_wire_as_it_was(answer):
    assert decode_answer(encode_answer(answer)) == answer
    assert ANSWERS.decode(encode_answer(answer)) == answer


def test_what_was_not_asked_is_not_the_same_as_none():
    nothing = replace(NEW, part_of=(), bodies=(), shared=(), compared=0, trunk=None)
    assert decode_answer(encode_answer(nothing)) == nothing
    unasked = Answer(NEW.hits, novelty=None)
    assert decode_answer(encode_answer(unasked)) == unasked
    widths = replace(NEW.shared[0], differs=())
    told = replace(NEW, shared=(widths, replace(widths, differs=None)))
    assert decode_answer(encode_answer(told)) == told


@pytest.mark.parametrize("front_end", sorted(FRONT_ENDS.keys() - {"client"}))
@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("family", "It is of the family dit; its nearest relative is lib:dit."),
        ("near", "the nearest family is dit, 8 of 8 hits, loosely (0.66), as lib:dit."),
        ("unlike", "Nothing in the index is near it; the nearest is lib:dit (0.66)."),
    ],
)
def test_every_front_end_says_a_family_in_the_same_three_strengths(front_end, word, said):
    like = Resemblance(word, "lib:dit", "dit", 8, 8, 0.66)
    answer = replace(NEW, resemblance=like, part_of=(), bodies=())
    assert said in " ".join(FRONT_ENDS[front_end](answer).split())


@pytest.mark.parametrize("front_end", sorted(FRONT_ENDS.keys() - {"client"}))
def test_what_was_taken_off_is_said(front_end):
    said = "This is lib:behind, with low-rank adapters of rank 8 on 24 layers."
    assert said in FRONT_ENDS[front_end](WRAPPED).replace("\n", " ")


@pytest.mark.parametrize("front_end", FRONT_ENDS)
@pytest.mark.parametrize("shown", ["62% of the weights", "configs/a.yaml:3", "apex", "net.py:7"])
def test_all_that_was_assumed_is_said(front_end, shown):
    assert shown in FRONT_ENDS[front_end](NEW)


@pytest.mark.parametrize("front_end", FRONT_ENDS)
@pytest.mark.parametrize("shown", ["com.microsoft::Odd", "tolist", "880", "onnx::If", "net.py:9"])
def test_all_that_was_not_read_is_said(front_end, shown):
    assert shown in FRONT_ENDS[front_end](NEW)


@pytest.mark.parametrize("answer", [NEW, NETWORK, INFERENCE, DESIGN, WRAPPED])
def test_of_what_was_read_by_less_than_half_no_verdict_is_said(answer):
    unread = replace(NEW.unread, unknown=(Count("com.microsoft::Odd", 5),))
    said = [each.part for each in sentences(replace(answer, unread=unread))]
    assert set(said) == {"assumed.doubts", "unread", "assumed"}
    whole = [each.part for each in sentences(replace(answer, unread=None))]
    assert "unread" not in whole
    assert len(whole) > 4


@pytest.mark.parametrize("answer", [NEW, NETWORK, INFERENCE, DESIGN, WRAPPED])
def test_a_doubt_is_the_first_line_of_every_verdict(answer):
    doubt = "Not certain: the call reaches 62% of the weights."
    for front_end in ("command", "python"):
        assert FRONT_ENDS[front_end](answer).startswith(doubt)
    for front_end in ("--json", "mcp"):
        assert json.loads(FRONT_ENDS[front_end](answer))["sentences"][0].startswith(doubt)
    assert json.loads(FRONT_ENDS["http"](answer))["sentences"][0]["text"].startswith(doubt)
    sure = replace(answer, assumed=replace(answer.assumed, is_sure=True))
    assert not any("Not certain" in text(sure) for text in FRONT_ENDS.values())


def drawn(text, parameters=0):
    graph = replace(graph_of(text), parameters=parameters, flops=2 * parameters)
    return architecture(Labels("lib:drawn", "lib", "lib 1", "fam", "t"), graph)


def test_a_difference_shows_what_two_models_share_and_leaves_the_rest_out():
    written = drawn("input; conv 0; batch_norm 1; relu 2", 9)
    same, wide = difference(written, written), drawn("input; conv 0; batch_norm 1; relu 2", 7)
    other = difference(written, drawn("input; linear 0"))
    said = {
        "same_network": (same, "They are the same network:"),
        "same_design": (difference(written, wide), "the same design in other widths"),
        "same_at_inference": (
            difference(written, drawn("input; conv 0; relu 1", 9)),
            "the same network at inference",
        ),
        "bodies": (replace(other, differs=("head",)), "in the head alone"),
        "changes": (other, "From lib:drawn to lib:drawn: "),
        "shared": (same, "have a counterpart in the other"),
        "assumed": (replace(same, assumed=(None, NEW.assumed)), "lib:drawn: Assumed: --input x="),
        "unread": (replace(same, unread=(None, NEW.unread)), "lib:drawn: 4 of 9 operators"),
    }
    names = {each.name for each in fields(Answer)}
    assert said.keys() == names - LEFT_OUT["nar diff --html"].keys()
    for compared, text in said.values():
        assert text in difference_html(compared)[0]
