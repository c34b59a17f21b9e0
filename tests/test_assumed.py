"""Records of what was assumed of a user's own model."""

import json

import pytest

from nar.answers.words import assumed_texts, doubts_texts
from nar.base.errors import InvalidQueryError
from nar.graphs.assumed import Assumed, AssumedValue
from nar.v1 import retrieval_pb2 as wire
from nar.wire.assumed import MAX_TEXTS, decode_assumed, encode_assumed

WHOLE = Assumed(
    inputs=("ids=1x32:int64", "mask=none"),
    weights_reached=0.87,
    sizes_matter=True,
    is_sure=False,
    doubts=("the call reaches 87% of the weights",),
    values=(AssumedValue("width", "64", "configs/a.yaml:3"),),
    stand_ins=("apex: nothing of it was needed",),
    skipped=("net.py:7: load_state_dict",),
)


def test_programs_are_told_all_of_it():
    plain = json.loads(json.dumps(WHOLE.to_plain()))
    assert plain["values"] == [{"name": "width", "value": "64", "place": "configs/a.yaml:3"}]
    assert (plain["inputs"], plain["weights_reached"]) == (["ids=1x32:int64", "mask=none"], 0.87)


def test_a_share_that_nobody_counted_is_not_said():
    [text] = assumed_texts(Assumed(inputs=("x=1x3x224x224",)))
    assert text == "Assumed: --input x=1x3x224x224 (the inputs usual in its library)"


def test_what_was_assumed_comes_over_the_wire():
    for assumed in (WHOLE, Assumed()):
        assert decode_assumed(encode_assumed(assumed)) == assumed


def test_a_text_that_is_too_long_for_the_wire_is_cut():
    long = Assumed(values=(AssumedValue("config", "\u00e4" * 5_000, "a.py:3"),))
    [value] = decode_assumed(encode_assumed(long)).values
    assert value.value.startswith("\u00e4" * 2_000)
    assert value.value.endswith(" ...")


@pytest.mark.parametrize(
    ("message", "field"),
    [
        (wire.Assumed(weights_reached=2), "weights_reached"),
        (wire.Assumed(weights_reached=float("nan")), "weights_reached"),
        (wire.Assumed(skipped=["x", "y" * 5_000]), r"skipped\[1\]"),
        (wire.Assumed(values=[{"place": "y" * 5_000}]), r"values\[0\].place"),
        (wire.Assumed(doubts=["x"] * (MAX_TEXTS + 1)), "1000 texts, came 1001"),
    ],
)
def test_a_query_brings_no_more_than_an_answer_says_again(message, field):
    with pytest.raises(InvalidQueryError, match=field):
        decode_assumed(message)


def test_the_line_of_inputs_can_be_copied_into_a_shell():
    assumed = Assumed(("x=1x3x32x32", "batch.pos=[1x4, 2]"), 0.976, sizes_matter=False)
    assert list(assumed_texts(assumed)) == [
        "Assumed: --input x=1x3x32x32 --input 'batch.pos=[1x4, 2]' "
        "(98% of the weights are reached; other sizes run the same operators)"
    ]


def test_everything_that_was_assumed_is_told_and_long_lists_are_cut():
    texts = list(assumed_texts(WHOLE))
    assert texts == [
        "Assumed: --input ids=1x32:int64 --input mask=none "
        "(87% of the weights are reached; other sizes run other operators)",
        "Built with: width = 64 (configs/a.yaml:3).",
        "Not installed, and stood in for: apex: nothing of it was needed.",
        "Left out of the code: net.py:7: load_state_dict.",
    ]
    [told] = assumed_texts(Assumed(skipped=tuple(map(str, range(9)))))
    assert told == "Left out of the code: 0; 1; 2; 3; 4; 5; and 3 more."
    assert list(assumed_texts(None)) == list(assumed_texts(Assumed())) == []


def test_nothing_is_doubted_that_is_sure():
    assert list(doubts_texts(None)) == list(doubts_texts(Assumed())) == []
    [doubt] = doubts_texts(Assumed(is_sure=False))
    assert doubt.startswith("Not certain: its inputs may be others.")
