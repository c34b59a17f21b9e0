"""The votes of the first hits: near ones count, and who is far or alone says nothing."""

from dataclasses import replace

import pytest
from graphs import graph_of
from hypothesis import given
from hypothesis import strategies as st

from nar.answers.bodies import SharedBody
from nar.answers.part_of import PartOf, Whole
from nar.answers.verdict import (
    COMPOSED_MARGIN,
    HALVING,
    HITS,
    UNLIKE,
    Resemblance,
    exchanged,
    family_verdict,
    resemblance,
)
from nar.answers.words import resemblance_text
from nar.graphs.architecture import UNKNOWN
from nar.graphs.canonical import topology_fingerprint
from nar.index.rows import Hit, architecture_id


def hits(*pairs: tuple[str, float]) -> list[Hit]:
    """Hits of these families and scores."""
    return [
        Hit(
            id=architecture_id(f"lib:{number}"), name=f"lib:{number}", source="lib",
            library="lib 1", family=family, block="cnn", task="t", tier="named",
            parameters=1, flops=1, nodes=1, topology=f"{number:064x}", exact="b" * 64,
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


@pytest.mark.slow
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
LOOSE = hits(("dit", 0.66), ("dit", 0.65), ("dit", 0.64))
NOTHING = hits(("vgg", 0.4))
SCATTERED = hits(("vgg", 0.485), ("fcn", 0.484), *[("mixer", 0.477)] * 3)
TORN = hits(("bart", 0.9), ("t5", 0.9), ("vgg", 0.9))


@pytest.mark.parametrize(
    ("by_design", "by_copy", "said"),
    [
        (TORN, hits(("bert", 0.85)), Resemblance("variant", "lib:0", "bert", score=0.85)),
        (KIN, hits(("bert", 0.79)), Resemblance("family", "lib:0", "bart", 2, 2, 0.97)),
        (TORN, FAR, Resemblance("relative", "lib:0", "bart", score=0.9)),
        (FAR, FAR, Resemblance("near", "lib:0", "vgg", 1, 2, 0.5)),
        (LOOSE, [], Resemblance("near", "lib:0", "dit", 3, 3, 0.66)),
        (NOTHING, FAR, Resemblance("unlike", "lib:0", "vgg", score=0.4)),
        (SCATTERED, FAR, Resemblance("unlike", "lib:0", "vgg", score=0.485)),
        (hits((UNKNOWN, 0.9)), [], Resemblance("relative", "lib:0", of=1, score=0.9)),
        (hits((UNKNOWN, 0.6)), [], Resemblance("relative", "lib:0", of=1, score=0.6)),
        (hits((UNKNOWN, 0.97), ("vgg", 0.3)), [], Resemblance("relative", "lib:0", score=0.97)),
        (hits((UNKNOWN, 0.4)), [], Resemblance("unlike", "lib:0", of=1, score=0.4)),
        ([], [], UNLIKE),
    ],
)
def test_what_a_design_resembles(by_design, by_copy, said):
    assert resemblance(by_design, by_copy) == said


BODY = SharedBody("lib:1", ("head",))
WHOLE = Whole("lib:1", PartOf(0.97, 0.5, "the end"))


@pytest.mark.parametrize("scores", [(0.66, 0.65), (0.3, 0.2)])
def test_an_exact_part_or_body_is_never_unlike_what_has_it(scores):
    far = hits(("bart", scores[0]), ("marian", scores[1]))
    part = resemblance(far, far, wholes=(WHOLE,))
    assert (part.word, part.name, part.family) == ("part", "lib:1", "marian")
    body = resemblance(far, [], bodies=(BODY,), wholes=(WHOLE,))
    assert (body.word, body.name, body.score) == ("body", "lib:1", scores[1])
    elsewhere = resemblance(far, [], wholes=(replace(WHOLE, name="lib:9"),))
    assert elsewhere == Resemblance("part", "lib:9")


def test_what_is_near_enough_to_be_named_keeps_its_name_beside_a_part():
    assert resemblance(KIN, [], wholes=(WHOLE,)).word == "family"


def test_families_that_have_one_design_vote_together():
    one, other, third = hits(("wav2vec2", 0.91), ("hubert", 0.91), ("bart", 0.9))
    told = family_verdict([one, replace(other, topology=one.topology), third])
    first = told.counts[0]
    assert (first.family, first.also, first.hits, first.score) == ("wav2vec2", ("hubert",), 2, 0.91)
    assert first.vote == pytest.approx(2 / (2 + 2**-0.5))
    apart = family_verdict([one, other, third])
    assert [count.also for count in apart.counts] == [(), (), ()]


def test_three_families_are_one_by_two_shared_designs():
    a, b, c, d = hits(("vae", 0.8), ("beta_vae", 0.8), ("beta_vae", 0.79), ("info_vae", 0.79))
    joined = [a, replace(b, topology=a.topology), c, replace(d, topology=c.topology)]
    told = family_verdict(joined)
    assert told.family == "beta_vae"
    assert set(told.counts[0].also) == {"vae", "info_vae"}


def test_a_composed_model_wins_over_a_named_one_by_a_margin_only():
    composed, named = hits(("linknet", 0.9), ("simplepose", 0.88))
    composed = replace(composed, tier="composed")
    assert family_verdict([composed, named]).counts[0].family == "simplepose"
    near = replace(named, score=0.9 - 2 * COMPOSED_MARGIN)
    assert family_verdict([composed, near]).counts[0].family == "linknet"
    alone = family_verdict([composed, replace(composed, id="other")])
    assert (alone.family, alone.counts[0].score) == ("linknet", 0.9)


def test_a_variant_is_of_the_voted_family_where_that_is_as_near():
    voted = hits(("swin", 0.94), ("swin", 0.93))
    copies = hits(("video_swin", 0.9), ("swin", 0.89))
    assert resemblance(voted, copies).family == "swin"
    far = hits(("video_swin", 0.9), ("swin", 0.85))
    assert resemblance(voted, far).family == "video_swin"


KNOWN = "input; conv 0; batch_norm 1; relu 2; conv 3; batch_norm 4; add 2 5; relu 6"


@pytest.mark.parametrize(
    "own",
    [
        KNOWN.replace("relu", "silu"),
        KNOWN.replace("relu 6", "prelu 6"),  # one of two
        KNOWN.replace("relu 2", "gelu 2").replace("relu 6", "silu 6"),
        KNOWN.replace("batch_norm", "group_norm"),
        KNOWN.replace("batch_norm", "rms_norm").replace("relu", "gelu"),
    ],
)
def test_a_design_with_other_activations_or_norms_is_a_variant_whatever_the_scores_are(own):
    far = hits(("vgg", 0.4), ("resnet", 0.3), ("resnet", 0.3))
    far[1] = replace(far[1], topology=topology_fingerprint(graph_of(KNOWN)))
    told = resemblance(far, [], graph=graph_of(own))
    assert told == Resemblance("variant", "lib:1", "resnet", score=0.3)


@pytest.mark.parametrize(
    "own",
    [
        KNOWN,  # is known: said elsewhere
        KNOWN.replace("relu", "sigmoid"),  # a gate
        KNOWN.replace("add 2 5", "mul 2 5"),
    ],
)
def test_other_changes_are_no_exchange(own):
    known = replace(*hits(("resnet", 0.3)), topology=topology_fingerprint(graph_of(KNOWN)))
    assert exchanged(graph_of(own), [known]) is None


def test_of_a_large_graph_the_commonest_exchanges_alone_are_tried():
    long = "input; conv 0; " + "; ".join(f"{{0}} {node}" for node in range(1, 8_000))
    tried = ["relu", "gelu", "mish"]
    relu, gelu, mish = (graph_of(long.format(name)) for name in tried)
    known = replace(*hits(("resnet", 0.3)), topology=topology_fingerprint(relu))
    assert exchanged(gelu, [known]) == known
    assert exchanged(mish, [replace(known, topology=topology_fingerprint(gelu))]) is None
