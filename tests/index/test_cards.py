"""Conditions on design cards: rows are found by the fingerprints of networks that have them."""

import pytest
from oracle import DIM, row

from nar.base.errors import CorpusError, InvalidQueryError
from nar.index.cards import VARIABLE, known_cards, write_cards
from nar.index.dialect import expression
from nar.index.exact import ExactIndex
from nar.index.filters import CARD_WORDS, Filter

LLAMA, GPT, RESNET = "a" * 64, "b" * 64, "c" * 64
ROWS = {
    LLAMA: ("decoder-only", "rms", "silu", "gated", "grouped", "rotary"),
    GPT: ("decoder-only", "layer", "gelu", "plain", "multi-head", "learned"),
    RESNET: ("cnn", "batch", "relu", "", "none", ""),
}


@pytest.fixture
def cards(tmp_path, monkeypatch):
    path = tmp_path / "cards.parquet"
    write_cards(path, ROWS)
    monkeypatch.setenv(VARIABLE, str(path))
    return path


@pytest.fixture
def index():
    named = {"lib:llama": LLAMA, "lib:gpt": GPT, "lib:resnet": RESNET, "mine:new": "d" * 64}
    return ExactIndex([row(name, 1, exact=exact) for name, exact in named.items()], dim=DIM)


def names(index, wanted):
    return {entry.name for entry in index.page("", 9, wanted)}


def test_what_is_written_reads_back(cards):
    read = known_cards()
    assert read.exacts == tuple(ROWS)
    assert dict(read.words) == dict(zip(CARD_WORDS, zip(*ROWS.values(), strict=True), strict=True))


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (Filter(norms=("rms",)), {"lib:llama"}),
        (Filter(kinds=("decoder-only",)), {"lib:llama", "lib:gpt"}),
        (Filter(kinds=("decoder-only",), positions=("learned",)), {"lib:gpt"}),
        (Filter(attentions=("grouped", "none")), {"lib:llama", "lib:resnet"}),
        (Filter(mlps=("mixture",)), set()),
        # What was not read as such passes, and so does a row without a card.
        (Filter(none_of=(Filter(mlps=("gated",)),)), {"lib:gpt", "lib:resnet", "mine:new"}),
    ],
)
def test_rows_pass_by_their_cards(cards, index, wanted, found):
    assert names(index, wanted) == found


def test_a_search_takes_conditions_on_cards(cards, index):
    [hits] = index.search(row("q", 1).embedding[None], 3, Filter(norms=("layer", "batch")))
    assert {hit.name for hit in hits} == {"lib:gpt", "lib:resnet"}


def test_milvus_is_asked_for_fingerprints(cards):
    assert expression(Filter(norms=("rms",))) == f"exact in ['{LLAMA}']"


def test_a_word_that_no_card_has_is_told_with_all_words():
    with pytest.raises(InvalidQueryError, match=r"norms.0.: wanted one of none, layer, rms, batch"):
        Filter(norms=("lrn",))


def test_missing_cards_are_told_with_the_way_out(tmp_path, monkeypatch, index):
    monkeypatch.setenv(VARIABLE, str(tmp_path / "absent.parquet"))
    with pytest.raises(InvalidQueryError, match=r"norms: no cards .* `nar corpus cards"):
        index.page("", 9, Filter(norms=("rms",)))


def test_a_file_of_something_else_is_named(tmp_path, monkeypatch):
    path = tmp_path / "cards.parquet"
    path.write_text("no parquet")
    monkeypatch.setenv(VARIABLE, str(path))
    with pytest.raises(CorpusError, match=r"cards\.parquet holds no cards"):
        known_cards()
