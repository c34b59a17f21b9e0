"""Edits of models: each on one or two real ones, captured as the zoo captures them."""

from collections import Counter

import pytest

from benchmark.editing.attempts import attempt
from benchmark.editing.change import Change
from benchmark.editing.kinds import changes, chosen_changes
from nar.base.errors import UnknownArchitectureError
from nar.graphs.ops import op_name
from nar.own import capture_architecture

CNN = "timm:resnet18"
VIT = "timm:test_vit"
TEXT = "transformers:gpt2/GPT2LMHeadModel"
LLAMA = "transformers:llama/LlamaForCausalLM"
T5 = "transformers:t5/T5ForConditionalGeneration"


@pytest.fixture(scope="module")
def originals():
    return {name: capture_architecture(name).architecture for name in (CNN, VIT, TEXT, LLAMA, T5)}


def kind(name):
    return chosen_changes([name])[0]


def counts(graph):
    return Counter(map(op_name, graph.op_ids.tolist()))


def difference(outcome):
    """What a changed graph has more and less, in the order of the alphabet."""
    before, after = counts(outcome.original.graph), counts(outcome.changed.graph)
    after.subtract(before)
    return " ".join(f"{count:+d} {name}" for name, count in sorted(after.items()) if count)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "name", "said"),
    [
        (CNN, "activation", "+17 gelu -17 relu"),
        (TEXT, "activation", "-12 gelu +12 silu"),
        (CNN, "norm", "-20 batch_norm +20 group_norm"),
        (VIT, "norm", "-13 layer_norm +13 rms_norm"),
        (LLAMA, "norm", "+65 layer_norm -65 rms_norm"),
        (VIT, "activation_and_norm", "-6 gelu -13 layer_norm +13 rms_norm +6 silu"),
        (CNN, "layer_scale", "+8 mul"),
        (LLAMA, "layer_scale", "+32 mul"),
        (CNN, "squeeze_excitation", "+16 linear +8 mean +8 mul +8 relu +8 sigmoid"),
        (CNN, "half_depth", "-1 add -2 batch_norm -2 conv -2 relu"),
        (VIT, "half_depth", "-6 add -3 attention -3 gelu -6 layer_norm -18 linear"),
        (CNN, "stem_of_two", "+1 conv +1 relu"),
        (VIT, "pre_convolution", "+1 conv +1 relu"),
        (TEXT, "mlp_head", "+1 gelu +1 linear"),
        (CNN, "features_only", "-1 linear"),
        (CNN, "attention_in_last_stage", "+3 attention -3 conv +12 linear"),
        (CNN, "large_windows", ""),
        (LLAMA, "grouped_queries", ""),
        (TEXT, "rotary_positions", "-1 add -1 embedding +24 rotary"),
        (VIT, "gated_mlp", "+6 linear +6 mul"),
        (TEXT, "gated_mlp", "+12 linear +12 mul"),
    ],
)
def test_an_edit_changes_what_it_says_and_nothing_else(originals, model, name, said):
    outcome = attempt(originals[model], kind(name))
    assert outcome.verdict == "applied", outcome.reason
    assert difference(outcome) == said
    assert outcome.changed.labels.name == f"{model}@{name}"
    assert outcome.changed.labels.source == "edits"
    assert outcome.changed.exact != outcome.original.exact


@pytest.mark.slow
def test_windows_are_larger_and_maps_are_not_smaller(originals):
    changed = attempt(originals[CNN], kind("large_windows")).changed.graph
    kernels = Counter(changed.attributes[:, 0].tolist())
    # All convolutions but the three of shortcuts; the pooling of the stem keeps its own.
    assert (kernels[7], kernels[3]) == (17, 1)


@pytest.mark.slow
def test_fewer_keys_have_fewer_weights(originals):
    before, after = originals[LLAMA], attempt(originals[LLAMA], kind("grouped_queries")).changed
    narrower = 2 * 32 * 4096 * (4096 - 1024)  # key and value of 32 layers
    assert before.parameters - after.parameters == narrower


@pytest.mark.parametrize(
    ("model", "name", "reason"),
    [
        (TEXT, "squeeze_excitation", "no block of it convolves"),
        (TEXT, "pre_convolution", "no convolution reads its input"),
        (LLAMA, "rotary_positions", "it learns no positions"),
        (LLAMA, "gated_mlp", "no plain MLP of two linear layers"),
        (CNN, "grouped_queries", "no attention that makes keys of its own for four heads or more"),
        (VIT, "large_windows", "no convolution with windows of 3"),
        (CNN, "encoder_alone", "it has no encoder and decoder"),
    ],
)
def test_a_model_that_has_nothing_to_edit_says_so(originals, model, name, reason):
    outcome = attempt(originals[model], kind(name))
    assert (outcome.verdict, outcome.reason) == ("not applicable", reason)


def test_trunks_make_up_the_whole(originals):
    encoder, decoder = (
        attempt(originals[T5], kind(name)).changed for name in ("encoder_alone", "decoder_alone")
    )
    together = counts(encoder.graph) + counts(decoder.graph)
    # The decoder reads the states of the encoder as an input; the head is of neither.
    assert together - counts(originals[T5].graph) == Counter(input=1)
    assert encoder.labels.source == "parts"


def test_a_change_that_leaves_the_graph_is_a_failure_of_the_change(originals):
    idle = Change("idle", "edits", lambda original: original.graph)
    outcome = attempt(originals[CNN], idle)
    assert (outcome.verdict, outcome.changed) == ("unchanged", None)


def test_a_model_that_breaks_is_counted_and_stops_nothing(originals):
    def broken(_original):
        raise ZeroDivisionError("no heads")

    outcome = attempt(originals[CNN], Change("broken", "edits", broken))
    assert (outcome.verdict, outcome.reason) == ("failed", "ZeroDivisionError: no heads")


def test_an_unknown_change_names_the_known_ones():
    with pytest.raises(UnknownArchitectureError, match="no such change; wanted one of activation"):
        chosen_changes(["wider"])


def test_names_of_changes_are_unique():
    names = [change.name for change in changes()]
    assert len(set(names)) == len(names) >= 20
