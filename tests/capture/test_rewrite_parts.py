"""Values taken apart and put together."""

import pytest
import torch
from torch.nn import functional


def packed(self, x):
    q, k, v = functional.linear(x, self.packed).chunk(3, dim=-1)
    return functional.scaled_dot_product_attention(q, k, v)


def packed_in_front(self, x):
    """As multi-head attention keeps it: the three stand in an axis of their own, copied."""
    qkv = functional.linear(x, self.packed).view(2, 4, 3, 8).permute(2, 0, 1, 3).contiguous()
    return functional.scaled_dot_product_attention(qkv[0], qkv[1], qkv[2])


def unpacked(self, x):
    q, k, v = (functional.linear(x, weight) for weight in self.packed.chunk(3))
    return functional.scaled_dot_product_attention(q, k, v)


@pytest.mark.parametrize("forward", [packed, packed_in_front])
def test_a_packed_projection_is_as_many_layers(captured, forward):
    graph, wanted = (captured(written, (2, 4, 8)).graph for written in (forward, unpacked))
    assert graph == wanted


def test_some_rows_of_a_linear_layer_are_no_layer(drawn):
    def first_token(self, x):
        return (x @ self.matrix)[:, 0].relu()

    assert drawn(first_token, (2, 5, 8)) == "input; linear 0; slice 1; relu 2"


def test_a_layer_that_is_read_whole_too_stays_whole(drawn):
    def forward(self, x):
        hidden = x @ self.matrix
        return hidden.relu() + hidden[:, :4].sum(-1, keepdim=True)

    assert drawn(forward, (5, 8)).count("linear") == 1


def test_a_gated_unit_however_written(drawn):
    def written_out(self, x):
        value, gate = x.chunk(2, dim=-1)
        return value * gate.sigmoid()

    whole = drawn(lambda self, x: functional.glu(x), (4, 8))
    assert whole == drawn(written_out, (4, 8))


def test_merged_patches_however_written(drawn):
    def by_slices(self, x):
        x = x.view(1, 4, 4, 8).relu()
        corners = [x[:, row::2, column::2] for column in (0, 1) for row in (0, 1)]
        return torch.cat(corners, dim=-1).tanh()

    def by_shape(self, x):
        x = x.view(1, 4, 4, 8).relu()
        return x.view(1, 2, 2, 2, 2, 8).permute(0, 1, 3, 4, 2, 5).flatten(3).tanh()

    assert drawn(by_slices, (16, 8)) == drawn(by_shape, (16, 8)) == "input; relu 0; tanh 1"


def test_parts_that_change_places_are_a_design(drawn):
    def swapped(self, x):
        left, right = x.relu().chunk(2, dim=-1)
        return torch.cat([right, left], dim=-1)

    assert drawn(swapped, (4, 8)) == "input; relu 0; split 1; concat 2"


@pytest.mark.parametrize(
    ("shape", "axes"), [((2, 5, 8), 1), ((2, 8, 4, 4), (2, 3)), ((2, 4, 4, 8), (1, 2))]
)
def test_a_mean_over_all_places_is_global_pooling(drawn, shape, axes):
    pooled = drawn(lambda self, x: x.relu().mean(axes), shape)
    assert pooled == "input; relu 0; adaptive_avg_pool 1"


def test_what_is_joined_in_steps_is_joined_once(captured):
    def in_steps(self, x):
        parts = x.relu(), x.tanh(), x.sigmoid()
        return torch.cat([torch.cat(parts[:2], dim=1), parts[2]], dim=-1)

    def at_once(self, x):
        return torch.cat([x.relu(), x.tanh(), x.sigmoid()], dim=1)

    assert captured(in_steps, (4, 8)).graph == captured(at_once, (4, 8)).graph


def test_what_is_joined_along_two_axes_is_joined_twice(drawn):
    def forward(self, x):
        wide = torch.cat([x.relu(), x.tanh()], dim=1)
        return torch.cat([wide, torch.cat([x.sigmoid(), x.cos()], dim=1)], dim=0)

    assert drawn(forward, (4, 8)).count("concat") == 3


@pytest.mark.slow
def test_a_value_that_grows_without_end_keeps_its_steps(drawn):
    def forward(self, x):
        for _ in range(200):
            x = torch.cat([x, x[:1].relu()], dim=0)
        return x

    assert drawn(forward, (1, 2)).count("concat") > 1
