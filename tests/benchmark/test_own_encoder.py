"""What is said of an encoder of one's own: at which distance it is worth it, from how many on."""

import pytest

from benchmark.own_encoder import Measured, as_markdown, sentence

SHIPPED = [Measured(12, 0, (0.05,)), Measured(16, 0, (0.03,))]


def learned(distance, *scores):
    return [
        Measured(distance, count, (score, score + 0.01))
        for count, score in zip((100, 300, 1_000), scores, strict=True)
    ]


NEVER = "with none of up to 1,000"
SAID = {
    "near only": ((0.15, 0.2, 0.4), (0.03, 0.03, 0.03), "from 100 own models on", NEVER),
    "later": ((0.15, 0.05, 0.4), (0.03, 0.2, 0.3), "from 1,000 own models on", "from 300 own m"),
    "worse far away": ((0.05, 0.2, 0.4), (0.01, 0.01, 0.01), "from 300 own models on", NEVER),
}


@pytest.mark.parametrize(("near", "far", "said", "said_far"), SAID.values(), ids=SAID)
def test_a_gain_is_said_with_its_distance(near, far, said, said_far):
    text = sentence([*SHIPPED, *learned(12, *near), *learned(16, *far)])
    assert f"at 12 edits {said}; at 16 edits {said_far}" in text
    assert text in as_markdown([*SHIPPED, *learned(12, *near), *learned(16, *far)])


def test_without_a_gain_the_shipped_encoder_is_kept():
    text = sentence([*SHIPPED, *learned(12, 0.05, 0.05, 0.05), *learned(16, 0.03, 0.03, 0.03)])
    assert text.endswith("keep it.")
