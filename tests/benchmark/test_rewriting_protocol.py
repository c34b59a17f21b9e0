"""Rewritten models: each rewrite on one small model, and what the protocol reports of them."""

import json

import pytest
import torch
from torch import nn
from typer.testing import CliRunner

from benchmark.commands import app
from benchmark.rewriting.attempts import (
    Missing,
    attempt,
    attempts,
    chosen_rewrites,
    model_names,
    rewrites,
    rewritten,
)
from benchmark.rewriting.code import shuffled
from benchmark.rewriting.files import exported_names
from benchmark.rewriting.rewrite import captured, original
from benchmark.rewriting.spelled import Spelled, Spelling, spellings
from benchmark.rewriting.summary import as_markdown, summary
from nar.base.errors import UnknownArchitectureError
from nar.capture import CaptureInputs, capture_module
from nar.graphs.ops import op_id

CNN = "timm:test_resnet"
VIT = "timm:test_vit"


@pytest.fixture(scope="module")
def originals():
    return {name: original(name) for name in (CNN, VIT)}


def kind(name):
    return chosen_rewrites([name])[0]


@pytest.mark.parametrize(
    ("model", "name"),
    [
        (CNN, "renumbered"),
        (CNN, "wrapped"),
        (CNN, "checkpointed"),
        (CNN, "other_dropout"),
        (CNN, "input_size"),
        (CNN, "batch_2"),
        (CNN, "bfloat16"),
        (CNN, "channels_last"),
        (CNN, "linear_as_addmm"),
        (VIT, "eager_attention"),
        (VIT, "unpacked_qkv"),
        (VIT, "attention_by_hand"),
        (VIT, "layer_norm_by_hand"),
        (VIT, "gelu_by_hand"),
        (VIT, "linear_as_matmul"),
    ],
)
def test_a_rewritten_model_keeps_its_graph(originals, model, name):
    done = attempt(originals[model], kind(name))
    assert done.is_equal, done.difference()
    assert done.architecture.labels.name == f"{model}@{name}"


@pytest.mark.parametrize(
    ("model", "name", "difference"),
    [
        (CNN, "depth_1", "knobs.yaml names no depth of it"),
        (CNN, "other_head", "+1 linear, +1 relu"),
    ],
)
def test_a_changed_design_says_what_changed(originals, model, name, difference):
    done = attempt(originals[model], kind(name))
    said = done.reason if isinstance(done, Missing) else done.difference()
    assert said.startswith(difference)


def test_every_batch_norm_behind_a_convolution_is_folded(originals):
    norms = (originals[CNN].architecture.graph.op_ids == op_id("batch_norm")).sum()
    assert attempt(originals[CNN], kind("folded_batch_norm")).difference() == f"-{norms} batch_norm"


def test_positions_that_follow_the_image_are_positions_still(originals):
    """This transformer resamples its positions where an image is not of the usual size.

    They are computed from a parameter alone, and so a parameter.
    """
    assert attempt(originals[VIT], kind("input_size")).has_equal_topology


@pytest.mark.parametrize(
    ("model", "name", "reason"),
    [
        (CNN, "eager_attention", "no attention in it"),
        (CNN, "layer_norm_by_hand", "it never calls layer_norm"),
        (VIT, "reparameterised", "no branches to merge"),
        (VIT, "exported", "not in exported.txt"),
    ],
)
def test_what_does_not_apply_says_why(originals, model, name, reason):
    done = attempt(originals[model], kind(name))
    assert isinstance(done, Missing)
    assert (done.is_fault, done.reason) == (False, reason)


def test_numbers_stay_when_functions_are_written_out():
    torch.manual_seed(0)
    layers = (nn.Linear(8, 8), nn.LayerNorm(8), nn.GELU(), nn.GELU("tanh"), nn.SiLU(),
              nn.Softmax(-1), nn.Hardswish(), nn.BatchNorm1d(8), nn.RMSNorm(8),
              nn.GroupNorm(2, 8))  # fmt: skip
    module, inputs = nn.Sequential(*layers).eval(), torch.randn(4, 8)
    for name, spelling in spellings_by_name().items():
        torch.testing.assert_close(Spelled(module, spelling)(inputs), module(inputs), msg=name)


def spellings_by_name():
    from benchmark.rewriting.spelled import _SPELLINGS

    return {
        name: Spelling(dict.fromkeys(replaced, replacement))
        for name, (replaced, replacement) in _SPELLINGS.items()
    }


def test_every_spelling_is_a_rewrite_that_changes_nothing():
    assert {rewrite.wanted for rewrite in spellings()} == {"equal"}


def test_shuffling_renumbers_and_keeps_operand_order(originals):
    graph = originals[VIT].architecture.graph
    other = shuffled(graph, seed=1)
    other.validate()
    assert other != graph
    assert sorted(other.op_ids) == sorted(graph.op_ids)


def test_retrieval_gets_pairs_of_rewritten_model_and_original():
    (pair,) = rewritten([CNN], ["batch_2"])
    assert pair.original.labels.name == CNN
    assert pair.architecture.labels.family == pair.original.labels.family


def test_a_fault_is_counted_beside_the_others():
    def failing():
        return [*attempts([CNN], chosen_rewrites(["wrapped"])), fault]

    fault = Missing("timm:x", kind("wrapped"), is_fault=True, reason="TypeError: -")
    (row,) = summary(failing())
    assert (row.models, row.topology_equal, row.exact_equal) == (1, 1, 1)
    assert row.failed == {"timm:x": "TypeError: -"}
    assert as_markdown([row])[-1] == "| wrapped | equal | 1 | 1 | 1 | 1 | 1 | 0 |"


def test_a_folded_model_is_the_same_at_inference_and_one_with_another_head_is_not():
    folded, other = summary(attempts([CNN], chosen_rewrites(["folded_batch_norm", "other_head"])))
    assert (folded.models, folded.topology_equal, folded.same_at_inference) == (1, 0, 1)
    assert (other.models, other.same_at_inference) == (1, 0)


def test_the_command_prints_a_row_for_each_rewrite():
    kinds = ["--kind", "renumbered", "--kind", "eager_attention"]
    done = CliRunner().invoke(app, ["rewriting", CNN, *kinds, "--json"])
    rows = json.loads(done.stdout)
    assert [row["rewrite"] for row in rows] == ["renumbered", "eager_attention"]
    assert rows[1]["skipped"] == {"no attention in it": 1}


def test_unknown_names_are_refused():
    assert CliRunner().invoke(app, ["rewriting", "darts:x"]).exit_code == 1
    with pytest.raises(UnknownArchitectureError, match="no such rewrite"):
        chosen_rewrites(["upside_down"])


def test_the_lists_are_frozen_and_name_each_model_once():
    names = model_names()
    assert len(set(names)) == len(names) == 62
    assert exported_names() <= set(names)
    assert len({rewrite.name for rewrite in rewrites()}) == len(rewrites())


def test_a_module_that_stands_is_captured_as_it_is():
    module, inputs = nn.Linear(4, 2), CaptureInputs((torch.zeros(1, 4),))
    assert captured("m", module, inputs) == capture_module(module, inputs, name="m").graph
