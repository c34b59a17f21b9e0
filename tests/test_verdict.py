"""The votes of the first hits: near ones count, and who is far or alone says nothing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nar.answers.verdict import HALVING, HITS, UNLIKE, Resemblance, family_verdict, resemblance
from nar.answers.words import resemblance_text
from nar.graphs.architecture import UNKNOWN
from nar.index.rows import Hit, architecture_id


def hits(*pairs: tuple[str, float]) -> list[Hit]:
    """Hits of these families and scores."""
    return [
        Hit(
            id=architecture_id(f"lib:{number}"), name=f"lib:{number}", source="lib",
            library="lib 1", family=family, block="cnn", task="t", tier="named",
            parameters=1, flops=1, nodes=1, topology="a" * 64, exact="b" * 64,
            inference="c" * 64, score=score,
        )
        for number, (family, score) in enumerate(pairs)
    ]  # fmt: skip


def test_hits_that_agree_speak_for_their_family():
    told = family_verdict(hits(("bart", 0.97), ("bart", 0.96), ("t5", 0.9)))
    assert told.family == "bart"
    first = told.counts[0]
    assert (first.family, first.hits, first.score, told.of) == ("bart", 2, 0.97, 3)


def test_a_vote_halves_with_the_distance():
    told = family_verdict(hits(("bart", 0.97), ("t5", 0.97 - HALVING), ("t5", 0.97 - 2 * HALVING)))
    assert [count.vote for count in told.counts] == pytest.approx([4 / 7, 3 / 7])
    assert told.family == ""


def test_one_near_hit_stands_against_many_far_ones():
    told = family_verdict(hits(("small", 0.99), *[("large", 0.85)] * 9))
    assert told.family == "small"


def test_hits_that_are_far_say_nothing_however_they_agree():
    assert family_verdict(hits(*[("vgg", 0.5)] * 10)).family == ""


def test_without_hits_nothing_is_said():
    told = family_verdict([])
    assert (told.family, told.of, told.counts) == ("", 0, ())


def test_models_without_a_family_do_not_vote():
    told = family_verdict(hits((UNKNOWN, 1.0), ("gpt2", 0.9), ("gpt2", 0.89)))
    assert (told.family, told.of, len(told.counts)) == ("gpt2", 3, 1)
    assert told.counts[0].score == 0.9
    alone = family_verdict(hits((UNKNOWN, 1.0)))
    assert (alone.family, alone.of, alone.counts) == ("", 1, ())


def test_a_variant_of_a_model_without_a_family_is_of_none():
    told = resemblance(hits(("gpt2", 0.9)), hits((UNKNOWN, 0.95)))
    assert resemblance_text(told) == "It is a close variant of lib:0."


def test_what_a_hit_votes_for_may_be_something_else():
    told = family_verdict(hits(("unet", 0.9), ("fpn", 0.89)), lambda hit: "resnet")
    assert (told.family, told.counts[0].hits) == ("resnet", 2)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.floats(-1, 1)), max_size=15))
def test_votes_are_shares_of_the_first_hits(pairs):
    pairs = sorted(pairs, key=lambda pair: -pair[1])
    told = family_verdict(hits(*pairs))
    assert told.of == min(len(pairs), HITS) == sum(count.hits for count in told.counts)
    assert sum(count.vote for count in told.counts) == pytest.approx(1 if pairs else 0)
    votes = [count.vote for count in told.counts]
    assert votes == sorted(votes, reverse=True)


FAR = hits(("vgg", 0.5), ("resnet", 0.49))
KIN = hits(("bart", 0.97), ("bart", 0.96))
TORN = hits(("bart", 0.9), ("t5", 0.9), ("vgg", 0.9))


@pytest.mark.parametrize(
    ("by_design", "by_copy", "said"),
    [
        (TORN, hits(("bert", 0.85)), Resemblance("variant", "lib:0", "bert")),
        (KIN, hits(("bert", 0.79)), Resemblance("family", "lib:0", "bart")),
        (TORN, FAR, Resemblance("relative", "lib:0")),
        (FAR, hits(("vgg", 0.75)), Resemblance("relative", "lib:0")),
        (FAR, FAR, Resemblance("unlike", "lib:0")),
        (FAR, [], Resemblance("unlike", "lib:0")),
        ([], [], UNLIKE),
    ],
)
def test_what_a_design_resembles(by_design, by_copy, said):
    assert resemblance(by_design, by_copy) == said
