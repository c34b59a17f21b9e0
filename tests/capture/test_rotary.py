"""Rotary position embeddings, key and value heads that repeat, causal masks: however written."""

import math

import pytest
import torch
from torch.nn import functional

LENGTH, WIDTH = 6, 8


def angles(width=WIDTH):
    speeds = 1.0 / 10000 ** (torch.arange(0, width, 2).float() / width)
    return torch.outer(torch.arange(LENGTH).float(), speeds)


def doubled(angle):
    return torch.cat((angle, angle), dim=-1)


def rotate_half(x):
    left, right = x.chunk(2, dim=-1)
    return torch.cat((-right, left), dim=-1)


def rotate_pairs(x):
    return torch.stack((-x[..., 1::2], x[..., ::2]), dim=-1).flatten(-2)


def by_halves(x):
    angle = doubled(angles())
    return x * angle.cos() + rotate_half(x) * angle.sin()


def by_halves_backwards(x):
    angle = doubled(angles())
    return angle.sin() * rotate_half(x) + angle.cos() * x


def by_pairs(x):
    angle = angles().repeat_interleave(2, dim=-1)
    return x * angle.cos() + rotate_pairs(x) * angle.sin()


def by_products(x):
    cos, sin = angles().cos(), angles().sin()
    left, right = x[..., : WIDTH // 2], x[..., WIDTH // 2 :]
    return torch.cat((left * cos - right * sin, right * cos + left * sin), dim=-1)


def by_products_of_pairs(x):
    cos, sin = angles().cos(), angles().sin()
    even, odd = x[..., ::2], x[..., 1::2]
    return torch.stack((even * cos - odd * sin, even * sin + odd * cos), dim=-1).flatten(-2)


def by_pairs_in_an_axis(x):
    cos, sin = angles().cos(), angles().sin()
    left, right = x.reshape(*x.shape[:-1], -1, 2).unbind(-1)
    return torch.stack((left * cos - right * sin, right * cos + left * sin), -1).flatten(-2)


def by_complex(x):
    turns = torch.polar(torch.ones(LENGTH, WIDTH // 2), angles())
    pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(pairs * turns).flatten(-2).type_as(x)


def by_complex_of_parts(x):
    turns = torch.polar(torch.ones(LENGTH, WIDTH // 2), angles())
    return torch.view_as_real(torch.complex(x[..., ::2], x[..., 1::2]) * turns).flatten(-2)


def by_an_inverse_turn(x):
    angle = doubled(angles())
    left, right = x.chunk(2, dim=-1)
    return x * angle.cos() - torch.cat((right, -left), dim=-1) * angle.sin()


SPELLINGS = [
    by_halves, by_halves_backwards, by_pairs, by_products, by_products_of_pairs,
    by_pairs_in_an_axis, by_complex, by_complex_of_parts, by_an_inverse_turn,
]  # fmt: skip


@pytest.mark.parametrize("rotary", SPELLINGS)
def test_a_rotary_embedding_however_written(captured, text_of, rotary):
    graph = captured(lambda self, x: rotary(x.relu()), (2, 3, LENGTH, WIDTH)).graph
    assert text_of(graph) == "input; relu 0; rotary 1"
    assert not graph.attributes.any()


@pytest.mark.parametrize("rotary", SPELLINGS)
def test_a_scale_before_it_stays_before_it(drawn, rotary):
    text = drawn(lambda self, x: rotary(x * self.w), (2, 3, LENGTH, WIDTH))
    assert text == "input; mul 0; rotary 1"


@pytest.mark.parametrize("rotary", SPELLINGS)
def test_the_halves_of_a_linear_layer_are_turned_as_a_whole(drawn, rotary):
    text = drawn(lambda self, x: rotary(x @ self.matrix), (2, LENGTH, WIDTH))
    assert text == "input; linear 0; rotary 1"


@pytest.mark.parametrize("rotary", SPELLINGS)
def test_some_channels_only(drawn, rotary):
    def forward(self, x):
        x = torch.cat((x.relu(), x.tanh()), dim=-1)
        return torch.cat((rotary(x[..., :WIDTH]), x[..., WIDTH:]), dim=-1)

    text = drawn(forward, (2, 3, LENGTH, WIDTH))
    assert text == "input; relu 0; tanh 0; concat 1 2; rotary 3"


def test_each_axis_of_an_image_is_turned_in_channels_of_its_own(drawn):
    def forward(self, x):
        rows, columns = x.relu().chunk(2, dim=-1)
        return torch.cat((by_halves(rows), by_halves(columns)), dim=-1)

    assert drawn(forward, (2, 3, LENGTH, 2 * WIDTH)) == "input; relu 0; rotary 1"


@pytest.mark.parametrize(
    "forward",
    [
        lambda self, x: x * self.w + rotate_half(x.relu()) * doubled(angles()).sin(),
        lambda self, x: x * x + rotate_half(x) * doubled(angles()).sin(),
        lambda self, x: x * doubled(angles()).cos() + x.relu() * doubled(angles()).sin(),
        lambda self, x: torch.cat((x.relu() * angles().cos().repeat(1, 2), x.tanh()), dim=-1),
        lambda self, x: torch.view_as_real(
            torch.view_as_complex(x.view(2, 3, LENGTH, -1, 2)) * torch.complex(*x.chunk(2, dim=-1))
        ),
        lambda self, x: torch.view_as_real(torch.fft.rfft(x) * torch.ones(5, dtype=torch.cfloat)),
    ],
    ids=["two values", "gated by itself", "no turn", "joined", "two signals", "filter"],
)  # fmt: skip
def test_what_only_looks_like_one_stays(drawn, forward):
    assert "rotary" not in drawn(forward, (2, 3, LENGTH, WIDTH))


def grouped(repeated, **options):
    """Four heads of queries over two of keys and values."""

    def forward(self, x):
        query = (x @ self.matrix).view(2, LENGTH, 4, 2).transpose(1, 2)
        key, value = (
            (x @ self.matrix[:, :4]).view(2, LENGTH, 2, 2).transpose(1, 2) for _ in range(2)
        )
        return functional.scaled_dot_product_attention(
            query, repeated(key), repeated(value), **options
        )

    return forward


def expanded(x):
    return x[:, :, None].expand(2, 2, 2, LENGTH, 2).reshape(2, 4, LENGTH, 2)


@pytest.mark.parametrize(
    "forward",
    [
        grouped(expanded),
        grouped(lambda x: x.repeat_interleave(2, dim=1)),
        grouped(lambda x: x.repeat(1, 2, 1, 1)),
        grouped(lambda x: x, enable_gqa=True),
        grouped(expanded, is_causal=True),
    ],
    ids=["expand", "repeat_interleave", "repeat", "enable_gqa", "causal"],
)
def test_repeated_heads_are_part_of_attention(captured, text_of, forward):
    graph = captured(forward, (2, LENGTH, 8)).graph
    assert text_of(graph) == "input; linear 0; linear 0; linear 0; attention 1 2 3"
    assert graph == captured(grouped(expanded), (2, LENGTH, 8)).graph


def by_function(x, mask):
    return functional.scaled_dot_product_attention(x, x, x, attn_mask=mask)


def by_bias(x, mask):
    return (x @ x.transpose(-2, -1) / math.sqrt(8) + mask).softmax(-1) @ x


def by_fill(x, mask):
    scores = x @ x.transpose(-2, -1) / math.sqrt(8)
    return scores.masked_fill(mask == -math.inf, -math.inf).softmax(-1) @ x


def by_choice(x, mask):
    scores = x @ x.transpose(-2, -1) / math.sqrt(8)
    return torch.where(mask == 0, scores, torch.finfo(x.dtype).min).softmax(-1) @ x


def by_factor(x, mask):
    scores = x @ x.transpose(-2, -1) / math.sqrt(8)
    kept = (mask == 0).float()
    return (scores * kept - 1e4 * (1 - kept)).softmax(-1) @ x


MASKS = {
    "triu": lambda: torch.full((LENGTH, LENGTH), -math.inf).triu(1),
    "tril": lambda: torch.log(torch.ones(LENGTH, LENGTH).tril()),
    "compared": lambda: torch.log(
        (torch.arange(LENGTH) <= torch.arange(LENGTH)[:, None]).float()[None, None]
    ),
}


@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)
@pytest.mark.parametrize("attention", [by_function, by_bias, by_fill, by_choice, by_factor])
def test_a_causal_mask_however_made_is_no_part_of_the_design(captured, attention, mask):
    def fused(self, x):
        return functional.scaled_dot_product_attention(x, x, x, is_causal=True)

    graph = captured(lambda self, x: attention(x, mask()), (2, 3, LENGTH, 8)).graph
    assert graph == captured(fused, (2, 3, LENGTH, 8)).graph
