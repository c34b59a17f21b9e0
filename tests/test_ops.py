"""One table of operators: what each room asks of them, as it stands in the rows."""

import subprocess
import sys
import textwrap

import numpy as np
import pytest

from nar.answers import roles
from nar.capture import graphs
from nar.capture.rewrites import layers, norms
from nar.graphs import canonical, normal_form, ops
from nar.graphs.architecture import coarse_block
from nar.graphs.ops import OPERATORS, OPS, Trait, op_id
from nar.motifs import borders, neighbours
from tests.graphs import graph_of

WEIGHTED = (
    "conv conv_grouped conv_depthwise conv_transpose deform_conv linear bilinear embedding lstm "
    "gru rnn"
)
LEARNED_NORMS = "batch_norm layer_norm rms_norm group_norm instance_norm"
HIDDEN = "relu relu6 leaky_relu prelu elu selu celu gelu silu mish hard_swish"
BEGINS_HEAD = "linear adaptive_avg_pool adaptive_max_pool mean max sum slice index gather split"
EXCHANGED = (
    f"{LEARNED_NORMS} response_norm l2_norm relu relu6 leaky_relu prelu elu selu celu gelu silu "
    "mish sigmoid log_sigmoid tanh hard_swish hard_sigmoid hard_tanh softplus softsign threshold "
    "erf add sub mul div neg reciprocal pow sqrt rsqrt exp log abs sign round clamp maximum minimum"
)
MAKERS = f"{LEARNED_NORMS} response_norm l2_norm {HIDDEN} glu lstm gru rnn attention state_space"
ON_POOLED = (
    "linear batch_norm layer_norm relu relu6 leaky_relu prelu gelu silu mish hard_swish sigmoid "
    "hard_sigmoid tanh"
)


def masked(mask):
    return {OPS[identifier] for identifier in np.flatnonzero(mask).tolist()}


def named(identifiers):
    return {OPS[identifier] for identifier in identifiers}


@pytest.mark.parametrize(
    ("derived", "wanted"),
    [
        pytest.param(masked(borders.HAS_WEIGHTS), WEIGHTED, id="layers at borders"),
        pytest.param(masked(neighbours.IS_EXCHANGED), EXCHANGED, id="not in skeletons"),
        pytest.param(masked(roles._IS_MAKER), MAKERS, id="makers"),
        pytest.param(masked(roles._IS_BEGIN), BEGINS_HEAD, id="begins of heads"),
        pytest.param(graphs.LAYERS, f"{WEIGHTED} {LEARNED_NORMS} prelu", id="own parameters"),
        pytest.param(
            graphs._STAY_ON_LEARNED,
            f"{WEIGHTED} attention layer_norm rms_norm group_norm",
            id="layers that read what is learned",
        ),
        pytest.param(layers._POOLINGS, "adaptive_avg_pool adaptive_max_pool", id="poolings"),
        pytest.param(layers._BETWEEN_POOLED, ON_POOLED, id="layers behind a pooling"),
        pytest.param(
            norms._CONVOLUTIONS,
            "conv conv_grouped conv_depthwise conv_transpose",
            id="convolutions before a frozen norm",
        ),
        pytest.param(
            {
                OPS[each]
                for each, rule in normal_form._RULES.items()
                if rule is normal_form.LinearSums.layer
            },
            "conv conv_grouped conv_depthwise conv_transpose linear",
            id="layers that take a norm in",
        ),
        pytest.param(
            named(normal_form._CONVOLUTIONS), "conv conv_grouped conv_depthwise", id="branches"
        ),
        pytest.param(
            named(normal_form._POOLINGS),
            "adaptive_avg_pool adaptive_max_pool",
            id="poolings of heads",
        ),
        pytest.param(
            named(normal_form._HAVE_PARTS),
            "split lstm gru rnn topk sort var max",
            id="several values",
        ),
        pytest.param(
            masked(neighbours.IS_COMMUTATIVE), "add mul maximum minimum logical", id="commutative"
        ),
        pytest.param(
            masked(canonical._IS_COMMUTATIVE), "add mul maximum minimum logical", id="no order"
        ),
    ],
)
def test_what_a_room_asks_is_what_it_listed_itself_before_there_was_a_table(derived, wanted):
    assert derived == set(wanted.split())


@pytest.mark.parametrize("name", OPS)
def test_the_block_of_one_operator(name):
    convolutions = (
        "conv conv_grouped conv_depthwise conv_transpose deform_conv sep_conv_3x3 sep_conv_5x5 "
        "dil_conv_3x3 dil_conv_5x5"
    )
    block = {"attention": "attention", **dict.fromkeys(convolutions.split(), "cnn")}
    text = "input" if name == "input" else f"input; {name} 0"
    assert coarse_block(graph_of(text)) == block.get(name, "other")


def test_an_unknown_operator_has_no_trait():
    assert not any(mask[op_id("aten::renorm")] for mask in map(ops.mask_of, Trait))


def test_the_rows_have_names_of_their_own_and_every_trait_is_of_some():
    assert len(set(OPS)) == len(OPERATORS)
    assert all(ops.with_any(trait) for trait in Trait)


@pytest.mark.slow
def test_a_norm_that_the_table_alone_gains_is_one_in_every_room():
    # In a process of its own: the rooms derive from the table when they are imported.
    program = """
        import sys
        from importlib.util import find_spec
        from types import ModuleType

        spec = find_spec("nar.graphs.ops")
        source = open(spec.origin).read()
        last = '    Op("rotary"),\\n'
        assert last in source
        row = '    Op("new_norm", T.NORM | T.OWN_VECTORS | T.ON_LEARNED),\\n'
        ops = ModuleType("nar.graphs.ops")
        sys.modules["nar.graphs.ops"] = ops
        exec(compile(source.replace(last, last + row), spec.origin, "exec"), vars(ops))

        from nar.answers import roles
        from nar.capture import graphs
        from nar.motifs import neighbours

        new = ops.op_id("new_norm")
        assert ops.OPS.index("new_norm") == new == len(ops.OPS) - 1
        assert roles._IS_MAKER[new]
        assert neighbours.IS_EXCHANGED[new]
        assert "new_norm" in graphs.LAYERS
        assert "new_norm" in graphs._STAY_ON_LEARNED
        print("one row is enough")
    """
    command = [sys.executable, "-c", textwrap.dedent(program)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout == "one row is enough\n", done.stderr
