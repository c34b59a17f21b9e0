"""How one graph becomes another one, in the words of the field."""

from functools import cache

import numpy as np
import pytest
from graphs import Drawing, random_graph

from nar.answers.comparison import edits_between
from nar.answers.edits import Edits, kind_of_run
from nar.corpus import Corpus, shipped_corpus
from nar.graphs.canonical import canonical
from nar.graphs.graph import ComputationalGraph
from nar.graphs.ops import ATTRIBUTES

LEARNED = ATTRIBUTES.index("parameter_operands")


def drawn(block: str, blocks: int = 3, head: str = "linear", stem: str = "conv relu"):
    """A stem, residual blocks, and a head; ``mul*`` has a learned operand."""
    draw, learned = Drawing(), []

    def chain(operators: str, value: int) -> int:
        for operator in operators.split():
            value = draw(operator.rstrip("*"), value)
            learned.extend([value] * operator.endswith("*"))
        return value

    value = chain(stem, draw("input"))
    for _ in range(blocks):
        for branch in block.split("|"):
            before, _, after = branch.partition("+")
            value = chain(after, draw("add", chain(before, value), value))
    chain(f"layer_norm mean {head}", value)
    graph = draw.graph()
    graph.attributes[learned, LEARNED] = 1
    return canonical(graph)


MLP = "layer_norm linear gelu linear"
CNN = "conv relu conv"
# The first block, the second block, and what is said.
NAMED = [
    (MLP, f"{MLP} mul*", "a learned scale (layer scale) after linear (3 times)"),
    (f"{MLP} mul*", MLP, "no learned scale (layer scale) after linear (3 times)"),
    (MLP, "rms_norm linear gelu linear", "rms_norm for layer_norm (3 times)"),
    (MLP, "layer_norm linear silu linear", "silu for gelu (3 times)"),
    (CNN, "conv relu conv_grouped", "conv_grouped for conv (3 times)"),
    (CNN, "conv relu conv_depthwise", "conv_depthwise for conv (3 times)"),
    (MLP, f"{MLP} layer_norm", "a norm more (layer_norm) after linear (3 times)"),
    (MLP, f"roll {MLP}", "shifted windows (roll) after add (3 times)"),
]


@pytest.mark.parametrize(("first", "second", "said"), NAMED)
def test_a_named_pattern_is_said_by_its_name(first, second, said):
    assert edits_between(drawn(first), drawn(second)).text == said


@pytest.mark.parametrize(
    ("run", "kind"),
    [
        ("add", "shortcut"),
        ("conv add", "shortcut"),
        ("linear add", "shortcut"),
        ("conv_grouped add", "shortcut"),
        ("conv mul add", "operators"),
    ],
)
def test_a_sum_that_comes_or_goes_is_a_shortcut(run, kind):
    assert kind_of_run("", run, "body") == kind_of_run(run, "", "body") == kind


def test_no_operator_differs():
    assert edits_between(drawn(MLP), drawn(MLP)) == Edits(at_inference=True)
    assert edits_between(drawn(MLP), drawn(MLP)).text == "no operator differs"


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"blocks": 8}, "5 blocks more (layer_norm linear gelu linear add)"),
        ({"head": "linear tanh linear"}, "another head, with tanh linear after linear"),
        ({"head": ""}, "another head, without linear after mean"),
        ({"head": "linear softmax"}, "softmax on the result after linear"),
        ({"stem": "conv relu conv relu"}, "a stem of more layers, with relu conv after conv"),
    ],
)
def test_depth_head_and_stem(more, said):
    assert edits_between(drawn(MLP), drawn(MLP, **more)).text.startswith(said)


def test_what_stands_behind_the_sum_is_post_norm():
    post = drawn("linear gelu linear+layer_norm")
    [edit, *others] = edits_between(drawn(MLP), post).edits
    assert (edit.kind, edit.removed, edit.added) == ("norm_place", ("pre-norm",), ("post-norm",))
    assert others == []


def test_edits_turn_around():
    there = edits_between(drawn(MLP), drawn(f"{MLP} mul*", blocks=4))
    back = edits_between(drawn(f"{MLP} mul*", blocks=4), drawn(MLP))
    assert {each.text for each in there.turned().edits} == {each.text for each in back.edits}
    assert there.turned().paired == back.paired


@cache
def known(name: str) -> ComputationalGraph:
    found = Corpus(shipped_corpus()).graphs([name], {name.partition(":")[0]})
    return found[name].graph


def said_of(first: str, second: str) -> list[str]:
    return [each.text for each in edits_between(known(first), known(second)).edits]


GPT2, LLAMA = "transformers:gpt2/GPT2LMHeadModel", "transformers:llama/LlamaForCausalLM"
PAIRS = {
    ("timm:resnet50", "timm:seresnet50"): ["squeeze-and-excitation after conv 1x1 (16 times)"],
    ("timm:resnet50", "timm:resnext50_32x4d"): [
        "other inner widths: conv 1x1 x2 for conv 1x1 x1, times",
        "conv_grouped 3x3 for conv 3x3 (16 times)",
    ],
    ("timm:resnet50", "timm:wide_resnet50_2"): ["other inner widths: conv 1x1"],
    ("timm:resnet50", "timm:resnet101"): ["17 blocks more (conv relu conv relu conv add relu)"],
    ("timm:resnet18", "timm:resnet34"): ["8 blocks more (conv relu conv add relu)"],
    ("timm:vit_base_patch16_224", "timm:deit3_base_patch16_224"): [
        "add* in another place",
        "a learned scale (layer scale) after linear (24 times)",
    ],
    ("timm:convnext_base", "timm:convnextv2_base"): [
        "global response norm after gelu (36 times)",
        "no learned scale (layer scale) after linear (36 times)",
    ],
    (LLAMA, "transformers:mistral/MistralForCausalLM"): [
        "other inner widths: linear",
        "other key and value heads for each query (grouped queries): linear",
    ],
    (LLAMA, "transformers:phi3/Phi3ForCausalLM"): [],
    (GPT2, "transformers:gpt_neox/GPTNeoXForCausalLM"): [
        "attention and MLP side by side",
        "32 blocks more (",
        "rotary positions after linear (24 times)",
        "other heads: 64 heads for 12 heads",
        "no learned positions",
    ],
    # XGLM's heads stand in the batch of its attention, where the graph does not show them.
    ("transformers:bloom/BloomForCausalLM@bloom-560m", "transformers:xglm/XGLMForCausalLM"): [
        "other heads: an unread number of heads for 16 heads (24 times)",
        "mul add for layer_norm",
    ],
    (GPT2, "transformers:opt/OPTForCausalLM"): ["relu for gelu (12 times)"],
    (LLAMA, "transformers:olmo2/Olmo2ForCausalLM"): [
        "norms at the end of the branches for pre-norm (64 times)",
        "a norm more (rms_norm) after linear (64 times)",
    ],
    (LLAMA, "transformers:olmo/OlmoForCausalLM"): ["layer_norm for rms_norm (65 times)"],
}


@pytest.mark.parametrize("pair", PAIRS, ids="->".join)
def test_known_pairs_differ_as_the_field_says(pair):
    said, wanted = said_of(*pair), PAIRS[pair]
    assert len(said) == len(wanted)
    assert all(text.startswith(start) for text, start in zip(said, wanted, strict=True))


def test_shares_follow_the_counterparts():
    first, second = known("timm:resnet50"), known("timm:seresnet50")
    paired = edits_between(first, second).paired
    assert paired[0] == 1
    assert paired[1] == pytest.approx(122 / 218, abs=0.01)


def test_graphs_that_have_nothing_in_common_are_compared_too():
    first, second = (canonical(random_graph(200, seed)) for seed in (0, 1))
    told = edits_between(first, second)
    assert all(0 <= share <= 1 for share in told.paired)
    assert np.isfinite(told.paired).all()
    assert "more changes" in told.text
