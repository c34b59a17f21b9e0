"""What two networks have in common where they are not the same, on drawn and on real graphs."""

import pytest
from graphs import Drawing, graph_of, renumbered
from hypothesis import given
from hypothesis import strategies as st

from nar.answers.bodies import MIN_LAYERS, Dissected, SharedBody, differing, shared_bodies
from nar.answers.words import apart, body_text
from nar.corpus import read_named, shipped_corpus
from nar.graphs.fingerprints import fingerprinted
from nar.graphs.ops import ATTRIBUTES, op_id

POOLED = "adaptive_avg_pool linear"
PERCEPTRON = "adaptive_avg_pool linear relu linear"


def network(head="", *, blocks=4, stem="conv", act="relu", norm="batch_norm"):
    """A residual network: two layers a block, each with a norm or without."""
    draw = Drawing()
    value = draw.chain(f"{stem} {act}", draw("input"))
    for _ in range(blocks):
        branch = draw.chain(f"conv {norm} {act} conv {norm}", value)
        value = draw(act, draw("add", branch, value))
    draw.chain(head, value)
    return fingerprinted(draw.graph())


def differs(first, second):
    return differing(Dissected(first), Dissected(second))


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        (network(PERCEPTRON), ("head",)),
        (network(""), ("head",)),
        (network(POOLED, stem="conv_grouped"), ("embedding",)),
        (network(PERCEPTRON, stem="conv_grouped"), ("embedding", "head")),
        (network(POOLED, act="gelu"), ("body",)),
        (network(PERCEPTRON, blocks=5), ("body", "head")),
        (network(PERCEPTRON, blocks=5, stem="conv_grouped"), ("embedding", "body", "head")),
        # Deployed, with another head.
        (network(PERCEPTRON, norm=""), ("head",)),
        # The same, or in other widths: that says more.
        (network(POOLED), None),
        (network(POOLED, norm=""), None),
    ],
)
def test_which_parts_differ(other, expected):
    own = network(POOLED)
    assert differs(own, other) == differs(other, own) == expected


def test_widths_alone_differ_where_one_is_deployed_and_far_larger():
    own, other = network(POOLED), network(POOLED, norm="")
    object.__setattr__(own.graph, "parameters", 1_000)
    object.__setattr__(other.graph, "parameters", 9_000)
    assert differs(own, other) == ()


def test_attributes_of_a_body_are_part_of_it_and_those_of_a_head_are_not():
    def changed(node_of, name):
        drawn = network(PERCEPTRON).graph
        attributes = drawn.attributes.copy()
        attributes[drawn.op_ids == op_id(node_of), ATTRIBUTES.index(name)] = 3
        object.__setattr__(drawn, "attributes", attributes)
        return fingerprinted(drawn)

    own = network(POOLED)
    assert differs(own, changed("linear", "channel_ratio")) == ("head",)
    assert differs(own, changed("conv", "kernel")) == ("embedding", "body", "head")


def test_of_a_body_with_few_layers_nothing_is_said():
    few, enough = (MIN_LAYERS // 2 - 1, MIN_LAYERS // 2)
    assert differs(network(POOLED, blocks=few), network(PERCEPTRON, blocks=few)) is None
    assert differs(network(POOLED, blocks=enough), network(PERCEPTRON, blocks=enough)) == ("head",)


def test_a_body_is_half_of_all_layers_at_least():
    heads = " ".join(["adaptive_avg_pool", *["linear relu"] * 9])
    assert differs(network(heads), network(POOLED)) is None


def test_who_shares_the_body_is_named_and_those_of_one_other_end_first():
    known = {
        "both": network(PERCEPTRON, stem="conv_grouped"),
        "itself": network(POOLED),
        "deeper": network(POOLED, blocks=5),
        "head": network(""),
        "stem": network(POOLED, stem="conv_grouped"),
    }
    assert shared_bodies(network(POOLED), known) == (
        SharedBody("head", ("head",)),
        SharedBody("stem", ("embedding",)),
        SharedBody("both", ("embedding", "head")),
    )
    assert shared_bodies(fingerprinted(graph_of("input; conv 0")), known) == ()


def test_it_is_said_in_whole_sentences():
    said = (
        "It has the body of timm:resnet50, widths aside, with another embedding and another head."
    )
    assert body_text(SharedBody("timm:resnet50", ("embedding", "head"))) == said
    assert apart(()) == "in widths alone"
    assert apart(("embedding", "body", "head")) == "in embedding, body and head"


@pytest.mark.slow
@given(st.randoms(use_true_random=False))
def test_numbering_changes_nothing(random):
    other = fingerprinted(renumbered(network(PERCEPTRON).graph, random))
    assert differs(network(POOLED), other) == ("head",)


BERT = "transformers:bert/Bert{}"
REAL = [
    *((BERT.format("Model"), BERT.format(f"For{task}"), ("head",)) for task in (
        "MaskedLM", "SequenceClassification", "TokenClassification", "QuestionAnswering",
        "PreTraining",
    )),
    ("transformers:gpt2/GPT2Model", "transformers:gpt2/GPT2LMHeadModel", ("head",)),
    ("transformers:t5/T5Model", "transformers:t5/T5ForConditionalGeneration", ("head",)),
    ("timm:convnext_tiny", "transformers:convnext/ConvNextModel", ("head",)),
    ("timm:vit_base_patch16_224", "transformers:vit/ViTModel", ("head",)),
    ("timm:vit_base_patch16_224", "timm:flexivit_base", ("embedding",)),
    # A decoder is no head, an encoder no body.
    ("timm:resnet34", "smp:unet/resnet34", ("body", "head")),
    ("transformers:t5/T5Model", "transformers:t5/T5EncoderModel", ("embedding", "body")),
    ("timm:resnet50", "timm:resnet101", ("body",)),
]  # fmt: skip


@pytest.fixture(scope="module")
def real():
    names = {name for first, second, _ in REAL for name in (first, second)}
    return read_named(shipped_corpus(), sorted(names), {name.split(":")[0] for name in names})


@pytest.mark.slow
@pytest.mark.parametrize(("first", "second", "expected"), REAL)
def test_real_models_of_one_body(real, first, second, expected):
    assert differs(real[first], real[second]) == expected
