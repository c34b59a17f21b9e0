"""What stands before a layer with a window, and windows that take in the whole map."""

import pytest
from torch.nn import functional

MAP = (2, 8, 6, 6)

BORDER = (0, 0, 1, 1)


def conv(self, x, padding=0):
    return functional.conv2d(x, self.packed.view(8, 8, 3, 1), padding=padding)


def test_a_border_of_zeros_is_the_padding_of_a_convolution(captured):
    outside = captured(lambda self, x: conv(self, functional.pad(x, BORDER)), MAP)
    inside = captured(lambda self, x: conv(self, x, padding=(1, 0)), MAP)
    assert outside.graph == inside.graph


@pytest.mark.parametrize(
    "settings", [{"value": 1.0}, {"mode": "reflect"}, {"value": float("-inf")}]
)
def test_another_border_is_a_design(drawn, settings):
    def forward(self, x):
        return conv(self, functional.pad(x, BORDER, **settings))

    assert drawn(forward, MAP) == "input; pad 0; conv 1"


def test_new_channels_are_no_border(drawn):
    def forward(self, x):
        return conv(self, functional.pad(x[:, :4], (0, 0, 0, 0, 2, 2)))

    assert "pad" in drawn(forward, MAP)


def test_a_border_that_others_read_stays_for_them(drawn):
    def forward(self, x):
        bordered = functional.pad(x, BORDER)
        return conv(self, bordered).sum() + bordered.relu().sum()

    assert "pad 0" in drawn(forward, MAP)
    assert "conv 0" in drawn(forward, MAP)


def test_a_border_of_minus_infinity_is_the_padding_of_a_maximum(drawn):
    def forward(self, x):
        return functional.max_pool2d(functional.pad(x, (0, 1, 0, 1), value=float("-inf")), 3, 2)

    assert drawn(forward, MAP) == "input; max_pool 0"


@pytest.mark.parametrize(
    ("fixed", "adaptive"),
    [
        (functional.avg_pool2d, functional.adaptive_avg_pool2d),
        (functional.max_pool2d, functional.adaptive_max_pool2d),
    ],
)
def test_a_window_over_the_whole_map_is_global_pooling(drawn, fixed, adaptive):
    wanted = drawn(lambda self, x: adaptive(x, 1), MAP)
    assert drawn(lambda self, x: fixed(x, 6), MAP) == wanted
    assert drawn(lambda self, x: fixed(x, 20, ceil_mode=True), MAP) == wanted
    assert drawn(lambda self, x: fixed(x, 3), MAP) != wanted
    assert drawn(lambda self, x: fixed(x, 3, 1, 1), (2, 8, 1, 1)) != wanted


def squeezed(self, x):
    return functional.adaptive_avg_pool2d(x, 1)


def test_a_convolution_of_the_one_pooled_place_is_a_linear_layer(captured):
    def by_conv(self, x):
        return functional.conv2d(squeezed(self, x).relu(), self.matrix[:, :, None, None])

    def by_linear(self, x):
        return functional.linear(squeezed(self, x).flatten(1).relu(), self.matrix)

    assert captured(by_conv, MAP).graph == captured(by_linear, MAP).graph


def test_a_convolution_of_a_map_that_shrank_to_one_place_stays(drawn):
    def forward(self, x):
        return functional.conv2d(x.relu(), self.matrix[:, :, None, None])

    assert "conv" in drawn(forward, (2, 8, 1, 1))
