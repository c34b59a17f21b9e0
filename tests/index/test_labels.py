"""Labels of one's own: any key, one grammar of conditions, the same rows in every kind of index."""

from datetime import date

import numpy as np
import pyarrow.parquet as parquet
import pytest
from corpora import corpus, item
from google.protobuf import json_format
from google.protobuf.struct_pb2 import Value
from graphs import resnet
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import DIM, Oracle, passes, row

from nar.base.errors import InvalidInputError, InvalidQueryError
from nar.base.own_labels import MAX_LABELS, RESERVED, changed, read, typed, written
from nar.corpus import Corpus, read_corpus
from nar.index.dialect import expression
from nar.index.filters import CARD_WORDS, MAX_LABEL_CONDITIONS, Filter, LabelCondition, Range
from nar.index.rows import COLUMNS, OWN, Hit
from nar.index.where import MAX_WHERE_BYTES
from nar.v1 import retrieval_pb2 as wire
from nar.wire.queries import decode_filter, encode_filter
from nar.wire.records import decode_architecture, encode_architecture

EAST = np.eye(1, DIM, dtype=np.float32)


def labelled(name, **labels):
    return row(name, 1, own=written(labels))


ZOO = [
    labelled("a", team="vision", accuracy=0.91, stage="prod", since="2026-01-31", stable=True),
    labelled("b", team="vision", accuracy=0.5, stage="draft", stable=False),
    labelled("c", team='it\'s "q" \\ é', accuracy=1, since=date(2026, 6, 1)),
    labelled("d", team="speech", accuracy="0.91", url="https://x.example/a?b=c&d='e'"),
    labelled("e", accuracy=-1e-7, stable=1, count=123456789012),
    row("f", 1, family="vit", parameters=50),
]
ASKED = {
    'team = "vision"': "ab",
    "team = vision": "ab",
    "team != vision": "cdef",
    "not team = vision": "cdef",
    "team in (vision, 'speech')": "abd",
    "team not in (vision, 'speech')": "cef",
    'team = "it\'s \\"q\\" \\\\ é"': "c",
    "team exists": "abcd",
    "not team exists": "ef",
    "accuracy > 0.8": "ac",
    "accuracy >= 1": "c",
    "accuracy < 0.6": "be",
    "not accuracy > 0.8": "bdef",
    "accuracy = 0.91": "a",
    'accuracy = "0.91"': "d",
    "accuracy in (0.91, '0.91')": "ad",
    "accuracy > -1": "abce",
    "team = 'vision' and accuracy > 0.8": "a",
    "team = vision and accuracy <= 0.8 or since > 2026-02-01": "bc",
    "since >= 2026-01-31 and since < 2026-06-01": "a",
    "since = '2026-06-01'": "c",
    "stable = true": "a",
    "stable = false": "b",
    "stable = 1": "e",
    "stable exists": "abe",
    "count > 100G": "e",
    "unheard = 1": "",
    "not unheard > 1": "abcdef",
    "url = \"https://x.example/a?b=c&d='e'\"": "d",
    "family = vit": "f",
    "family != vit and (team = vision or team = speech) and not stage = draft": "ad",
    "parameters >= 50": "f",
    "parameters < 50 and team = speech": "d",
    "parameters in (10, 50) and not team exists": "ef",
    "parameters < 0": "",
    "nodes != 30": "",
    "": "abcdef",
}


def names(index, wanted):
    [hits] = index.search(EAST, 99, wanted)
    return "".join(sorted(hit.name for hit in hits))


def test_every_condition_means_the_same_everywhere(backend):
    index = backend.fill(ZOO)
    found = {text: names(index, Filter.where(text)) for text in ASKED}
    assert found == ASKED
    listed = index.page("", 99, Filter.where("team = vision"))
    assert sorted(entry.name for entry in listed) == ["a", "b"]


def test_labels_come_back_as_they_were(backend):
    index = backend.fill(ZOO)
    [hits] = index.search(EAST, 99)
    assert {hit.name: hit.labels for hit in hits} == {each.name: each.labels for each in ZOO}
    got = index.get(["a", "f"])
    assert got["a"].labels["since"] == date(2026, 1, 31)
    assert got["f"].labels == {}


def test_labels_are_replaced_with_their_row(backend):
    index = backend.fill(ZOO)
    index.upsert([labelled("a", team="speech"), labelled("f", team="vision")])
    assert names(index, Filter.where("team = vision")) == "bf"
    assert names(index, Filter.where("stage exists")) == "b"


HOSTILE = ["'", '"', "\\", "\\'", "'] or id not in ['", "x' or '1' == '1", "$meta", "true", "", "%"]


def test_no_value_changes_the_meaning_of_a_condition(backend):
    index = backend.fill([labelled(f"row {at}", k=text) for at, text in enumerate(HOSTILE)])
    for at, text in enumerate(HOSTILE):
        assert names(index, Filter(labels=(LabelCondition("k", "in", (text,)),))) == f"row {at}"


KEYS = st.sampled_from(["team", "accuracy", "since", "K9_"])
VALUES = st.one_of(
    st.sampled_from([*HOSTILE, "vision", True, False, date(2026, 1, 1), "2026-01-01", 0.0, 1]),
    st.floats(allow_nan=False, allow_infinity=False, width=32),
    st.text(st.characters(exclude_categories=["Cs", "Cc", "Cf", "Zl", "Zp"]), max_size=6),
)
NUMBERS = st.one_of(st.floats(-2, 2, allow_nan=False), st.dates(), st.integers(-3, 3))
CONDITIONS = st.one_of(
    st.builds(LabelCondition, KEYS, st.just("exists")),
    st.builds(LabelCondition, KEYS, st.just("in"), st.lists(VALUES, min_size=1).map(tuple)),
    st.builds(
        LabelCondition, KEYS, st.sampled_from(["<", "<=", ">", ">="]), NUMBERS.map(lambda n: (n,))
    ),
)
PLAIN = st.builds(Filter, labels=st.lists(CONDITIONS, max_size=3).map(tuple))
SOME = st.lists(PLAIN, max_size=2).map(tuple)
FILTERS = st.builds(
    Filter, labels=PLAIN.map(lambda one: one.labels), any_of=SOME, none_of=SOME, all_of=SOME
)


@pytest.mark.slow
def test_any_labels_mean_what_they_say(backend):
    @settings(max_examples=backend.examples, deadline=None)
    @given(
        rows=st.lists(st.dictionaries(KEYS, VALUES, max_size=4), max_size=8),
        asked=st.lists(FILTERS, min_size=1, max_size=4),
    )
    def holds(rows, asked):
        items = [labelled(f"row {at}", **labels) for at, labels in enumerate(rows)]
        index = backend.fill(items)
        for wanted in asked:
            [hits] = index.search(EAST, 99, wanted)
            assert {hit.name for hit in hits} == {r.name for r in items if passes(wanted, r)}

    holds()


def test_the_largest_filter_is_not_too_deep():
    # Milvus reads about 46 operators inside each other: see `nar.index.dialect`.
    labels = tuple(LabelCondition(f"k{at}", ">", (1,)) for at in range(MAX_LABEL_CONDITIONS // 8))
    wanted = Filter(labels=labels, families=("a",), nodes=Range(1, 2))
    for _ in range(7):
        wanted = Filter(labels=labels, nodes=Range(1, 2), none_of=(wanted, Filter(tasks=("b",))))
    text = expression(wanted)
    depth = deepest = 0
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        deepest = max(deepest, depth)
    assert deepest < 40


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("team", "letter 5: wanted one of = != < <= > >=, in, or exists, came the end"),
        ("team = ", "letter 8: wanted a value, came the end"),
        ("= 3", "letter 1: wanted a key"),
        ("team = vision accuracy > 3", "letter 15: wanted and, or, or the end, came 'accuracy'"),
        ("(team = vision", r"letter 15: wanted \), came the end"),
        ("team in vision", r"letter 9: wanted \( and a list of values"),
        ("team > vision", "letter 1: wanted one number or one date behind >"),
        ("family > 3", "letter 1: wanted = or in behind family, which is a text"),
        ("family = 3", "wanted a text behind family, came a number; put it in quotes"),
        ("family exists", "every row has a family"),
        ("nodes = 0.5", "wanted a whole number behind nodes"),
        ("score > 3", "'score' is a field of every row"),
        ("id == 'x'", "letter 5: wanted a value"),
        ("team = 'vision", "letter 8: wanted a key, a sign or a value"),
        ("team = vision; drop", "letter 14: wanted a key, a sign or a value, came ';"),
        ("a = 1e999", "letter 5: wanted a number that 64 bits can hold"),
        ("a > 2026-02-30", "letter 5: wanted a date, came 2026-02-30"),
        ("(" * 99 + "a = 1", "at most 32 parentheses inside each other"),
        ("not " * 20 + "a = 1", "filters at most 8 deep"),
        (" and ".join(["a = 1"] * 65), "at most 64 conditions on labels"),
        ("a" * (MAX_WHERE_BYTES + 1), "at most 65536 bytes"),
    ],
)
def test_a_text_at_fault_is_refused_with_the_letter(text, message):
    with pytest.raises(InvalidQueryError, match=message):
        Filter.where(text)


@pytest.mark.slow
@given(st.text(max_size=30))
def test_any_text_is_a_filter_or_refused(text):
    try:
        wanted = Filter.where(text)
    except InvalidQueryError:
        return
    expression(wanted)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ({"family": "x"}, "'family' is a field of every row"),
        ({"and": "x"}, "'and' is a field of every row or a word of conditions"),
        ({"a b": "x"}, "wanted a key of at most 64 letters"),
        ({"k" * 65: 1}, "wanted a key"),
        ({"k": None}, "labels.k: wanted a text, a number, a date or a boolean, came NoneType"),
        ({"k": float("nan")}, "labels.k: wanted a number that 64 bits can hold"),
        ({"k": 2**53 + 1}, "labels.k: wanted a number"),
        ({"k": "x" * 1_025}, "labels.k: wanted at most 1024 bytes, came 1025"),
        ({"k": "a\x1b[2J"}, "labels.k: wanted no control characters"),
        ({"k": "\ud800"}, "lone surrogate"),
        ({f"k{at}": 1 for at in range(MAX_LABELS + 1)}, "wanted at most 64 labels, came 65"),
        ({f"k{at}": "x" * 1_000 for at in range(9)}, "wanted at most 8192 bytes together"),
    ],
)
def test_labels_that_cannot_be_are_refused(labels, message):
    with pytest.raises(InvalidInputError, match=message):
        written(labels)


def test_a_row_of_other_labels_is_refused_before_it_is_written():
    index = Oracle()
    for own, message in (
        ('{"a": 1}', r"rows\[0\].own: wanted labels as"),
        ("no", r"rows\[0\].labels: wanted JSON"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            index.upsert([row("x", 1, own=own)])


def test_the_order_of_labels_does_not_count():
    assert written({"b": 1, "a": True}) == written({"a": True, "b": 1.0}) == '{"a":true,"b":1.0}'


@pytest.mark.slow
@given(st.dictionaries(KEYS, VALUES))
def test_labels_read_back(labels):
    text = written(labels)
    assert written(read(text)) == text


def test_labels_are_set_and_taken_away():
    text = changed(written({"a": 1, "b": 2}), {"b": typed("draft"), "c": typed("'3'")}, {"a"})
    assert read(text) == {"b": "draft", "c": "3"}


def test_fields_of_rows_are_no_keys_of_labels():
    fields = {*COLUMNS, OWN, "labels", "score", *CARD_WORDS}
    assert fields <= RESERVED
    assert set(Hit.__slots__) <= RESERVED


def test_labels_and_conditions_go_over_the_wire_and_back():
    wanted = Filter.where(
        "team = vision and (accuracy >= 0.5 or since < 2026-06-01) and not k = true"
    )
    assert decode_filter(encode_filter(wanted)) == wanted
    message = wire.Filter(where="team = vision", families=["vit"])
    assert decode_filter(message) == Filter(
        families=("vit",), all_of=(Filter.where("team = vision"),)
    )
    for at_fault in (
        wire.Filter(where="team ="),
        wire.Filter(labels=[wire.LabelCondition(key="a b", sign=2)]),
        wire.Filter(labels=[wire.LabelCondition(key="a", sign=9)]),
        wire.Filter(labels=[wire.LabelCondition(key="a", values=[Value(null_value=0)])]),
        wire.Filter(labels=[wire.LabelCondition(key="a")]),
    ):
        with pytest.raises(InvalidQueryError):
            decode_filter(at_fault)
    entry = labelled("a", team="vision", accuracy=1, since=date(2026, 1, 31), stable=True)
    hit = decode_architecture(encode_architecture(entry))
    assert hit.labels == entry.labels
    assert json_format.MessageToDict(encode_architecture(entry))["labels"] == {
        "accuracy": 1.0,
        "since": "2026-01-31",
        "stable": True,
        "team": "vision",
    }


def test_labels_are_kept_in_a_corpus(tmp_path):
    own = written({"team": "vision", "accuracy": 0.9})
    items = [item("a", resnet([1]), own=own), item("b", resnet([2]))]
    directory = corpus(tmp_path / "corpus", items)
    assert [card.labels.own for card in Corpus(directory).cards()] == [own, ""]
    assert [each.labels.own for each in read_corpus(directory)] == [own, ""]
    plain = corpus(tmp_path / "plain", items[1:])
    assert all("own" not in parquet.read_schema(path).names for path in plain.glob("*.parquet"))


@pytest.mark.parametrize("text", ["nodes = " + "1" * 60_000 + "z", "a = 1 and " * 6_000 + "a = 1"])
def test_the_longest_text_of_a_condition_is_read_or_refused_at_once(text):
    """Each was read in time that grows with its square: seconds in which nobody was answered."""
    with pytest.raises(InvalidQueryError, match=r"^where: |conditions"):
        Filter.where(text)
