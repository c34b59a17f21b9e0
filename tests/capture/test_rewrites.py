"""Equal designs written differently become equal graphs, and different ones stay different."""

import math

import pytest
import torch
from torch import nn
from torch.nn import functional

TEXT_OF_LINEAR = "input; linear 0"


@pytest.mark.parametrize(
    "forward",
    [
        lambda self, x: functional.linear(x, self.matrix, self.w),
        lambda self, x: torch.addmm(self.w, x.view(-1, 8), self.matrix),
        lambda self, x: x @ self.matrix.t() + self.w,
        lambda self, x: self.w + torch.einsum("bnc,dc->bnd", x, self.matrix),
        lambda self, x: (self.matrix @ x.transpose(1, 2)).transpose(1, 2) + self.w,
        lambda self, x: torch.baddbmm(self.w, x, self.matrix.expand(2, 8, 8)),
    ],
    ids=["linear", "addmm", "matmul", "einsum", "left", "baddbmm"],
)
def test_a_linear_layer_however_written(captured, text_of, forward):
    graph = captured(forward, (2, 4, 8)).graph
    assert text_of(graph) == TEXT_OF_LINEAR
    assert not graph.attributes.any()


def test_a_linear_layer_of_one_output_may_have_a_vector_for_its_weight(drawn):
    assert drawn(lambda self, x: functional.linear(x, self.w), (2, 5, 8)) == TEXT_OF_LINEAR


def test_a_second_vector_is_no_bias(drawn):
    def forward(self, x):
        return functional.linear(x, self.matrix, self.w) + self.v

    assert drawn(forward, (2, 8)) == "input; linear 0; add 1"


def test_a_bias_is_not_folded_where_the_bare_product_is_read_too(drawn):
    def forward(self, x):
        hidden = x @ self.matrix
        return hidden.relu() * (hidden + self.w)

    assert drawn(forward, (2, 8)) == "input; linear 0; add 1; relu 1; mul 2 3"


def test_the_weight_may_be_computed_from_parameters(drawn):
    def forward(self, x):
        return x @ (self.matrix * 0.5)

    assert drawn(forward, (2, 8)) == TEXT_OF_LINEAR


def test_a_part_of_a_parameter_is_a_parameter(drawn):
    def forward(self, x):
        left, right = self.matrix.chunk(2)
        return functional.linear(functional.linear(x, left, self.w[:4]), right.t(), self.v)

    assert drawn(forward, (2, 8)) == "input; linear 0; linear 1"


def test_two_activations_make_a_product(drawn):
    assert drawn(lambda self, x: x @ x.relu().t(), (4, 8)) == "input; relu 0; matmul 0 1"


def heads(self, x):
    return [functional.linear(x, self.matrix).view(2, 4, 2, 4).transpose(1, 2) for _ in range(3)]


def fused(self, x, bias):
    q, k, v = heads(self, x)
    return functional.scaled_dot_product_attention(q, k, v, attn_mask=bias)


def scaled_after(self, x, bias):
    q, k, v = heads(self, x)
    scores = q @ k.transpose(-2, -1) / math.sqrt(4)
    return (scores if bias is None else scores + bias).softmax(dim=-1) @ v


def scaled_before(self, x, bias):
    q, k, v = heads(self, x)
    scores = (q * 0.5) @ k.transpose(-2, -1)
    scores = scores if bias is None else bias + scores
    return functional.dropout(functional.softmax(scores.float(), dim=-1), training=False) @ v


def transposed(self, x, bias):
    q, k, v = heads(self, x)
    scores = q @ k.transpose(-2, -1) * 0.5
    weights = (scores if bias is None else scores + bias).softmax(dim=-1)
    return (v.transpose(-2, -1) @ weights.transpose(-2, -1)).transpose(-2, -1)


def exponential(self, x, bias):
    q, k, v = heads(self, x)
    scores = q @ k.transpose(-2, -1) * 0.5
    return by_exponentials(self, scores if bias is None else scores + bias) @ v


ATTENTIONS = [fused, scaled_after, scaled_before, transposed, exponential]


@pytest.mark.parametrize("attention", ATTENTIONS)
def test_attention_however_written(captured, attention):
    graph = captured(lambda self, x: attention(self, x, None), (2, 4, 8)).graph
    assert graph == captured(lambda self, x: fused(self, x, None), (2, 4, 8)).graph


@pytest.mark.parametrize("attention", ATTENTIONS)
def test_a_learned_bias_is_an_operand_of_attention(captured, text_of, attention):
    def forward(self, x):
        return attention(self, x, self.matrix[:4, :4].exp())

    graph = captured(forward, (2, 4, 8)).graph
    assert text_of(graph) == "input; linear 0; linear 0; linear 0; attention 1 2 3"
    assert graph.attributes[-1].tolist()[-3:] == [2, 1, 0]


@pytest.mark.parametrize("attention", ATTENTIONS)
def test_a_mask_is_no_part_of_the_design(captured, text_of, attention):
    def forward(self, x):
        mask = torch.full((4, 4), float("-inf"), device=x.device).triu(1)
        return attention(self, x, mask)

    graph = captured(forward, (2, 4, 8)).graph
    assert text_of(graph) == "input; linear 0; linear 0; linear 0; attention 1 2 3"
    assert graph.attributes[-1].tolist()[-3:] == [2, 0, 0]


def test_attention_over_another_axis_is_not_attention(drawn):
    def forward(self, x):
        return (x @ x.relu().transpose(1, 2)).softmax(dim=1) @ x

    text = drawn(forward, (2, 4, 8))
    assert text == "input; relu 0; matmul 0 1; softmax 2; matmul 3 0"


def test_a_learned_query_attends_too(drawn):
    def forward(self, x):
        query = functional.linear(self.matrix.expand(2, 8, 8), self.matrix)
        return (query @ x.transpose(1, 2)).softmax(-1) @ x

    assert drawn(forward, (2, 4, 8)).startswith("linear; input; attention 0 1")


def cubic(x):
    return math.sqrt(2 / math.pi) * (x + 0.044715 * torch.pow(x, 3))


def silu_written_out(self, x):
    return x * torch.sigmoid(x)


def over_sum(powers):
    return powers / powers.sum(-1, keepdim=True)


def by_exponentials(self, x):
    return over_sum(torch.exp(x - x.amax(-1, keepdim=True)))


ACTIVATIONS = {
    "silu": [silu_written_out, lambda self, x: x.sigmoid() * x],
    "gelu": [
        lambda self, x: x * 0.5 * (1.0 + torch.erf(x / math.sqrt(2.0))),
        lambda self, x: 0.5 * x * (1.0 + torch.tanh(cubic(x))),
        lambda self, x: 0.5 * (x * (torch.tanh(x * 0.79788456 * (1 + 0.044715 * x * x)) + 1)),
        lambda self, x: x * torch.sigmoid(1.702 * x),
        lambda self, x: functional.gelu(x, approximate="tanh"),
        lambda self, x: x * 0.5 * (1.0 + torch.erf(x * 0.5 * math.sqrt(2.0))),
    ],
    "hard_swish": [
        lambda self, x: x * functional.relu6(x + 3) / 6,
        lambda self, x: x * (functional.relu6(x + 3.0) / 6.0),
        lambda self, x: x * (torch.clamp(x + 3, 0, 6) * (1 / 6)),
        lambda self, x: x * functional.hardsigmoid(x),
        lambda self, x: x * (x + 3).clamp(min=0).clamp(max=6) / 6,
    ],
    "hard_sigmoid": [lambda self, x: functional.relu6(x + 3) / 6],
    "mish": [lambda self, x: x * torch.tanh(functional.softplus(x))],
    "relu": [lambda self, x: x.clamp(min=0), lambda self, x: x.clamp_min(0)],
    "relu6": [
        lambda self, x: functional.hardtanh(x, 0, 6),
        nn.ReLU6(),
        lambda self, x: x.clamp_min(0).clamp_max(6),
    ],
    "softmax": [
        lambda self, x: x.softmax(-1),
        by_exponentials,
        lambda self, x: over_sum(x.exp()),
        lambda self, x: (powers := x.exp()) * powers.sum(-1, keepdim=True).reciprocal(),
    ],
}


@pytest.mark.parametrize(
    ("name", "forward"), [(name, f) for name, written in ACTIVATIONS.items() for f in written]
)
def test_an_activation_however_written(drawn, name, forward):
    assert drawn(forward, (4, 8)) == f"input; {name} 0"


@pytest.mark.parametrize("name", ["gelu", "hard_swish"])
def test_an_activation_of_a_product_however_written(drawn, name):
    texts = {drawn(lambda self, x, f=f: f(self, x * x.tanh()), (4, 8)) for f in ACTIVATIONS[name]}
    assert texts == {f"input; tanh 0; mul 0 1; {name} 2"}


@pytest.mark.parametrize(
    ("forward", "text"),
    [
        (lambda self, x: x * torch.sigmoid(x.relu()), "input; relu 0; sigmoid 1; mul 0 2"),
        (lambda self, x: x * (1 + torch.erf(x / 1.41)), "input; div 0; erf 1; add 2; mul 0 3"),
        (lambda self, x: x * functional.relu6(x + 2) / 6, "input; add 0; relu6 1; mul 0 2; div 3"),
        (lambda self, x: x.relu().clamp(min=6), "input; relu 0; clamp 1"),
        (
            lambda self, x: (powers := x.exp()) * powers.sum(-1, keepdim=True).rsqrt(),
            "input; exp 0; sum 1; rsqrt 2; mul 1 3",
        ),
        (lambda self, x: over_sum(x), "input; sum 0; div 0 1"),
    ],
    ids=["gate of another value", "no half", "another shift", "from below", "root", "no powers"],
)
def test_what_only_looks_like_an_activation_stays(drawn, forward, text):
    assert drawn(forward, (4, 8)) == text


def centred(x):
    return x - x.mean(-1, keepdim=True)


NORMS = {
    "rms_norm": [
        lambda self, x: self.w * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)),
        lambda self, x: x / torch.sqrt((x * x).mean(-1, keepdim=True) + 1e-6) * self.w,
        lambda self, x: functional.rms_norm(x, (8,), self.w),
    ],
    "layer_norm": [
        lambda self, x: functional.layer_norm(x, (8,), self.w, self.v),
        lambda self, x: self.w * centred(x) / torch.sqrt(x.var(-1, keepdim=True) + 1e-6) + self.v,
        lambda self, x: (
            self.w * (centred(x) / torch.sqrt(centred(x).pow(2).mean(-1, keepdim=True) + 1e-6))
            + self.v
        ),
        lambda self, x: centred(x) * torch.rsqrt(x.var(-1, keepdim=True) + 1e-6) * self.w + self.v,
    ],
    "l2_norm": [
        lambda self, x: functional.normalize(x, dim=-1),
        lambda self, x: x / x.norm(dim=-1, keepdim=True),
        lambda self, x: x / (x.pow(2).sum(-1, keepdim=True) + 1e-6).sqrt(),
    ],
    "adaptive_avg_pool": [
        lambda self, x: functional.adaptive_avg_pool2d(x.view(1, 1, 4, 8), 1),
        lambda self, x: x.view(1, 1, 4, 8).mean((2, 3), keepdim=True),
    ],
    "embedding": [lambda self, x: self.matrix[torch.arange(4)]],
}


@pytest.mark.parametrize(
    ("name", "forward"), [(name, f) for name, written in NORMS.items() for f in written]
)
def test_a_norm_however_written(captured, text_of, name, forward):
    graph = captured(forward, (4, 8)).graph
    assert text_of(graph) in (f"input; {name} 0", name)
    assert not graph.attributes.any()


def test_the_norm_of_a_scaled_value_keeps_the_scale_before_it(drawn):
    def forward(self, x):
        scaled = x * self.w
        return scaled * torch.rsqrt(scaled.pow(2).mean(-1, keepdim=True) + 1e-6)

    assert drawn(forward, (4, 8)) == "input; mul 0; rms_norm 1"


def test_a_scale_after_a_scaled_norm_is_a_scale_of_its_own(drawn):
    def forward(self, x):
        return functional.rms_norm(x, (8,), self.w) * self.v

    assert drawn(forward, (4, 8)) == "input; rms_norm 0; mul 1"
