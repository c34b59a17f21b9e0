"""What is computed from parameters alone is a parameter, unless a layer computes it."""

from itertools import pairwise

import pytest
import torch
from torch import nn
from torch.nn import functional
from torch.nn.utils import parametrizations, parametrize, spectral_norm, weight_norm

from nar.capture import CaptureInputs, capture_module
from nar.graphs.canonical import exact_fingerprint, topology_fingerprint


def patch_critic(wrapped=lambda layer: layer):
    """The discriminator of pix2pix, each convolution wrapped."""
    widths = (3, 8, 16, 1)
    layers = [
        part
        for narrow, wide in pairwise(widths)
        for part in (wrapped(nn.Conv2d(narrow, wide, 4, 2, 1)), nn.LeakyReLU(0.2))
    ]
    return nn.Sequential(*layers[:-1])


def graph_of_module(module):
    inputs = CaptureInputs((torch.empty(1, 3, 32, 32),))
    return capture_module(module, inputs, name="critic").graph


@pytest.mark.parametrize("device", ["cpu", "meta"])
@pytest.mark.parametrize("wrapped", [spectral_norm, parametrizations.spectral_norm])
def test_spectral_norm_is_no_other_design(wrapped, device):
    plain = graph_of_module(patch_critic().to(device))
    normed = graph_of_module(patch_critic(wrapped).to(device))
    assert exact_fingerprint(normed) == exact_fingerprint(plain)


@pytest.mark.filterwarnings("ignore:.*weight_norm.* is deprecated:FutureWarning")
@pytest.mark.parametrize("wrapped", [weight_norm, parametrizations.weight_norm])
def test_weight_norm_adds_parameters_and_nothing_else(wrapped):
    plain, normed = graph_of_module(patch_critic()), graph_of_module(patch_critic(wrapped))
    assert topology_fingerprint(normed) == topology_fingerprint(plain)
    assert (normed.attributes == plain.attributes).all()
    assert normed.parameters == plain.parameters + 8 + 16 + 1


class LowRank(nn.Module):
    """W + B A, as an adapter merges itself."""

    def __init__(self, rows, columns):
        super().__init__()
        self.down = nn.Parameter(torch.zeros(2, columns))
        self.up = nn.Parameter(torch.zeros(rows, 2))

    def forward(self, weight):
        return weight + self.up @ self.down


def test_a_transformer_with_merged_adapters_is_the_plain_one(captured):
    def encoder():
        return nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)

    adapted = encoder()
    for name in ("linear1", "linear2"):
        layer = getattr(adapted, name)
        parametrize.register_parametrization(layer, "weight", LowRank(*layer.weight.shape))
    parametrize.register_parametrization(adapted.self_attn, "in_proj_weight", LowRank(24, 8))
    plain, merged = (captured(model.to("meta"), (2, 5, 8)).graph for model in (encoder(), adapted))
    assert topology_fingerprint(merged) == topology_fingerprint(plain)
    assert (merged.attributes == plain.attributes).all()


@pytest.mark.parametrize(
    ("forward", "text"),
    [
        (lambda self, x: x * self.w.exp(), "mul 0"),
        (lambda self, x: x + self.matrix[torch.arange(4)], "add 0"),
        (
            lambda self, x: x + functional.interpolate(self.matrix[None], 8, mode="linear")[0, :4],
            "add 0",
        ),
        (lambda self, x: functional.linear(x, self.matrix * torch.ones(8, 8).tril()), "linear 0"),
        (lambda self, x: x @ (self.matrix - self.matrix.mean(1, keepdim=True)), "linear 0"),
        (
            lambda self, x: x @ torch.block_diag(self.matrix[:4, :4], self.matrix[4:, 4:]),
            "linear 0",
        ),
    ],
    ids=["scale", "table", "interpolated", "masked", "standardised", "blocks"],
)
def test_arithmetic_on_parameters_makes_a_parameter(drawn, forward, text):
    assert drawn(forward, (4, 8)) == f"input; {text}"


def test_a_computed_scale_counts_as_one_parameter_operand(captured):
    graph = captured(lambda self, x: x * (self.w.sigmoid() + self.v), (4, 8)).graph
    assert graph.attributes[1].tolist()[-2:] == [1, 0]


def test_a_layer_that_reads_learned_tokens_stays_a_layer(drawn):
    def forward(self, x):
        query = functional.linear(self.matrix, self.matrix).relu()
        return functional.scaled_dot_product_attention(query, x, x)

    assert drawn(forward, (4, 8)) == "linear; relu 0; input; attention 1 2"


def test_a_table_read_by_data_is_an_embedding(drawn):
    index = torch.zeros(4, dtype=torch.long)
    assert drawn(lambda self, x, i: x + self.matrix[i], (4, 8), index).count("embedding") == 1


def test_a_product_of_weights_with_data_is_no_parameter(drawn):
    text = drawn(lambda self, x: x @ (self.matrix * x.sum()), (4, 8))
    assert text == "input; sum 0; mul 1; matmul 0 2"


class LearnedQueries(nn.Module):
    """Tokens that read the input, each head with queries of its own."""

    def __init__(self, *, gives_weights):
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
        self.tokens, self.positions = (nn.Parameter(torch.zeros(1, 5, 8)) for _ in range(2))
        self.gives_weights = gives_weights

    def forward(self, x):
        tokens = (self.tokens + self.positions).repeat(x.shape[0], 1, 1)
        return self.attention(tokens, x, x, need_weights=self.gives_weights)[0]


@pytest.mark.parametrize("gives_weights", [False, True])
def test_learned_queries_attend_however_attention_is_computed(drawn, gives_weights):
    model = LearnedQueries(gives_weights=gives_weights).to("meta")
    assert drawn(model, (2, 7, 8)) == "input; linear 0; linear 0; attention 1 2; linear 3"
