"""Networks that people ask for and no installed library has, drawn after their papers.

``papers_nets.yaml`` cites each paper, the part of it that says how the layers are, the sizes it
publishes, and the parameters that it gives. The code is NAR's own. As in `nar.zoo.sources.yolo`, a
network ends where decoding begins.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import pairwise
from typing import Any, Final

import torch
from torch import Tensor, nn
from torch.nn import functional

from nar.base.workspace import package_yaml
from nar.zoo.source import Entry, Source, by_forward
from nar.zoo.sources import papers_generators, papers_mixers
from nar.zoo.sources.tables import Row, inputs_of_row

_COMMANDS = 12  # ten words of Speech Commands, silence and unknown
_OF_A_SIZE = {"thousands", "inputs"}  # columns of a size that are no arguments
_COMMANDS_V2 = 35  # every word of the second version


def _conv_norm(into: int, out: int, dilation: int = 1) -> nn.Sequential:
    convolution = nn.Conv2d(into, out, 3, padding=dilation, dilation=dilation)
    return nn.Sequential(convolution, nn.BatchNorm2d(out), nn.ReLU())


def _enlarged(x: Tensor, like: Tensor) -> Tensor:
    return functional.interpolate(x, like.shape[2:], mode="bilinear", align_corners=False)


class _ResidualU(nn.Module):
    """A small U-Net whose result is added to its first features: RSU of U2-Net.

    Args:
        into: Channels.
        inner: Channels inside.
        out: Channels of the result.
        depth: Layers on the way down, the bottom among them.
        flat: Whether growing dilations stand in place of smaller maps.
    """

    def __init__(self, into: int, inner: int, out: int, depth: int, *, flat: bool) -> None:
        super().__init__()
        dilations = [2**step for step in range(depth)] if flat else [1] * (depth - 1) + [2]
        ups = dilations[-2::-1]
        self.flat = flat
        self.first = _conv_norm(into, out)
        self.downs = nn.ModuleList(
            _conv_norm(inner if step else out, inner, dilation)
            for step, dilation in enumerate(dilations)
        )
        self.ups = nn.ModuleList(
            _conv_norm(2 * inner, inner if step < depth - 2 else out, dilation)
            for step, dilation in enumerate(ups)
        )
        self.pool = nn.MaxPool2d(2, ceil_mode=True)

    def forward(self, x: Tensor) -> Tensor:
        first: Tensor = self.first(x)
        maps = [self.downs[0](first)]
        for step, down in enumerate(self.downs[1:], 1):
            pools = not self.flat and step < len(self.downs) - 1
            maps.append(down(self.pool(maps[-1]) if pools else maps[-1]))
        x = maps[-1]
        for up, beside in zip(self.ups, maps[-2::-1], strict=True):
            x = up(torch.cat((x if self.flat else _enlarged(x, beside), beside), 1))
        return first + x


class _NestedU(nn.Module):
    """U2-Net: a U-Net of small U-Nets; a mask of each scale, and one of all of them."""

    _DEPTHS: Final = (7, 6, 5, 4, 4, 4)
    _FLAT: Final = 4  # the two coarsest scales keep the size of their maps

    def __init__(
        self,
        inner: Sequence[int],
        outer: Sequence[int],
        up: Sequence[int],
        raised: Sequence[int],
    ) -> None:
        super().__init__()
        widths = [3, *outer]
        self.downs = nn.ModuleList(
            self._block(scale, widths[scale], inner[scale], widths[scale + 1])
            for scale in range(len(outer))
        )
        below = [*raised[1:], outer[-1]]
        self.ups = nn.ModuleList(
            self._block(scale, below[scale] + outer[scale], up[scale], raised[scale])
            for scale in reversed(range(len(raised)))
        )
        masks = [*raised, outer[-1]]
        self.masks = nn.ModuleList(nn.Conv2d(width, 1, 3, padding=1) for width in masks)
        self.all = nn.Conv2d(len(masks), 1, 1)
        self.pool = nn.MaxPool2d(2, ceil_mode=True)

    def _block(self, scale: int, into: int, inner: int, out: int) -> _ResidualU:
        return _ResidualU(into, inner, out, self._DEPTHS[scale], flat=scale >= self._FLAT)

    def forward(self, image: Tensor) -> list[Tensor]:
        """Logits of the masks: of all scales together, then from the finest."""
        maps = [self.downs[0](image)]
        for down in self.downs[1:]:
            maps.append(down(self.pool(maps[-1])))
        x, features = maps[-1], [maps[-1]]
        for up, beside in zip(self.ups, maps[-2::-1], strict=True):
            x = up(torch.cat((_enlarged(x, beside), beside), 1))
            features.append(x)
        finest = [mask(each) for mask, each in zip(self.masks, reversed(features), strict=True)]
        masks = [finest[0], *(_enlarged(mask, finest[0]) for mask in finest[1:])]
        return [self.all(torch.cat(masks, 1)), *masks]


class _Radiance(nn.Module):
    """NeRF: density and colour of places that are seen from directions."""

    def __init__(self, width: int, layers: int, skip: int, places: int, directions: int) -> None:
        super().__init__()
        self.skip, self.frequencies = skip, (places, directions)
        seen, looked = (3 * (1 + 2 * count) for count in self.frequencies)
        intos = [seen, *([width] * (layers - 1))]
        intos[skip] += seen
        self.layers = nn.ModuleList(nn.Linear(into, width) for into in intos)
        self.density, self.features = nn.Linear(width, 1), nn.Linear(width, width)
        self.view, self.colour = nn.Linear(width + looked, width // 2), nn.Linear(width // 2, 3)

    def forward(self, places: Tensor, directions: Tensor) -> tuple[Tensor, Tensor]:
        """Density and colour of each of N places, shape (N, 3), seen along N directions."""
        seen, looked = map(self._waves, (places, directions), self.frequencies)
        x = seen
        for step, layer in enumerate(self.layers):
            x = functional.relu(layer(torch.cat((seen, x), -1) if step == self.skip else x))
        view = functional.relu(self.view(torch.cat((self.features(x), looked), -1)))
        return self.density(x), torch.sigmoid(self.colour(view))

    @staticmethod
    def _waves(x: Tensor, frequencies: int) -> Tensor:
        waves = (
            turn(x * 2.0**each) for each in range(frequencies) for turn in (torch.sin, torch.cos)
        )
        return torch.cat((x, *waves), -1)


class _KeywordResNet(nn.Module):
    """Residual layers over a spectrogram, as narrow as a device allows."""

    def __init__(
        self, width: int, layers: int, pool: Sequence[int] | None, *, dilated: bool
    ) -> None:
        super().__init__()
        self.first = nn.Conv2d(1, width, 3, padding=1, bias=False)
        self.pool = nn.AvgPool2d((pool[0], pool[1])) if pool else nn.Identity()
        dilations = [2 ** (layer // 3) if dilated else 1 for layer in range(layers)]
        self.layers = nn.ModuleList(
            nn.Conv2d(width, width, 3, padding=each, dilation=each, bias=False)
            for each in dilations
        )
        self.norms = nn.ModuleList(nn.BatchNorm2d(width, affine=False) for _ in dilations)
        self.classes = nn.Linear(width, _COMMANDS)

    def forward(self, sound: Tensor) -> Tensor:
        """Scores of (N, 1, frames, coefficients)."""
        x = self.pool(functional.relu(self.first(sound)))
        kept = x
        for step, (layer, norm) in enumerate(zip(self.layers, self.norms, strict=True), 1):
            x = functional.relu(layer(x))
            if step % 2 == 0:
                x = kept = x + kept
            x = norm(x)
        scores: Tensor = self.classes(x.mean((2, 3)))
        return scores


class _TemporalBlock(nn.Module):
    _LONG = 9  # frames that a convolution sees

    def __init__(self, into: int, out: int, stride: int) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for width, step in ((into, stride), (out, 1)):
            layers += [self._conv(width, out, self._LONG, step), nn.BatchNorm2d(out), nn.ReLU()]
        self.layers = nn.Sequential(*layers[:-1])
        same = into == out and stride == 1
        past = (self._conv(into, out, 1, stride), nn.BatchNorm2d(out), nn.ReLU())
        self.past = nn.Identity() if same else nn.Sequential(*past)

    @staticmethod
    def _conv(into: int, out: int, long: int, stride: int) -> nn.Conv2d:
        return nn.Conv2d(into, out, (1, long), (1, stride), (0, long // 2), bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return functional.relu(self.layers(x) + self.past(x))


def _temporal_resnet(widths: Sequence[int], repeats: int) -> nn.Module:
    """TC-ResNet: the coefficients of a sound are channels, and time is the only axis."""
    blocks: list[nn.Module] = []
    for into, out in pairwise(widths):
        blocks.append(_TemporalBlock(into, out, 2))
        blocks += [_TemporalBlock(out, out, 1) for _ in range(repeats - 1)]
    first = nn.Conv2d(40, widths[0], (1, 3), padding=(0, 1), bias=False)
    end = nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(widths[-1], _COMMANDS)
    return nn.Sequential(first, *blocks, *end)


def _separable(
    into: int, out: int, kernel: int, *, stride: int = 1, dilation: int = 1
) -> nn.Module:
    """Over time in each channel, then over channels, and a norm."""
    around = dilation * (kernel // 2)
    time = nn.Conv1d(into, into, kernel, stride, around, dilation, into, bias=False)
    return nn.Sequential(time, nn.Conv1d(into, out, 1, bias=False), nn.BatchNorm1d(out))


class _MatchboxBlock(nn.Module):
    def __init__(self, into: int, out: int, kernel: int, repeats: int) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for step in range(repeats):
            layers += [_separable(out if step else into, out, kernel), nn.ReLU()]
        self.layers = nn.Sequential(*layers[:-1])
        self.past = nn.Sequential(nn.Conv1d(into, out, 1, bias=False), nn.BatchNorm1d(out))

    def forward(self, x: Tensor) -> Tensor:
        return functional.relu(self.layers(x) + self.past(x))


def _matchbox(repeats: int, width: int, classes: int) -> nn.Module:
    """MatchboxNet and MarbleNet: QuartzNet made small, from 64 coefficients of each frame."""
    wide = 128
    blocks = [
        _MatchboxBlock(into, width, kernel, repeats)
        for into, kernel in ((wide, 13), (width, 15), (width, 17))
    ]
    return nn.Sequential(
        _separable(64, wide, 11, stride=2),
        nn.ReLU(),
        *blocks,
        _separable(width, wide, 29, dilation=2),
        nn.ReLU(),
        nn.Conv1d(wide, wide, 1, bias=False),
        nn.BatchNorm1d(wide),
        nn.ReLU(),
        nn.Conv1d(wide, classes, 1),
        nn.AdaptiveAvgPool1d(1),
        nn.Flatten(),
    )


class _Attention(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.project, self.out = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        parts = self.project(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        seen = functional.scaled_dot_product_attention(*parts.unbind(0))
        out: Tensor = self.out(seen.transpose(1, 2).flatten(2))
        return out


class _KeywordTransformer(nn.Module):
    """KWT: frames are tokens; norms follow what is added, as in the first Transformer."""

    _LAYERS = 12
    _FRAMES, _COEFFICIENTS = 98, 40

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.embed = nn.Linear(self._COEFFICIENTS, width)
        self.whole = nn.Parameter(torch.zeros(1, 1, width))
        self.places = nn.Parameter(torch.zeros(1, self._FRAMES + 1, width))
        self.attentions = nn.ModuleList(_Attention(width, heads) for _ in range(self._LAYERS))
        self.feeds = nn.ModuleList(
            nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
            for _ in range(self._LAYERS)
        )
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2 * self._LAYERS))
        self.end = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, _COMMANDS_V2))

    def forward(self, sound: Tensor) -> Tensor:
        """Scores of (N, frames, coefficients)."""
        x = torch.cat((self.whole.expand(len(sound), -1, -1), self.embed(sound)), 1) + self.places
        layers = zip(self.attentions, self.feeds, strict=True)
        norms = iter(self.norms)
        for attention, feed in layers:
            x = next(norms)(x + attention(x))
            x = next(norms)(x + feed(x))
        scores: Tensor = self.end(x[:, 0])
        return scores


class _Siamese(nn.Module):
    """Two drawings through the same layers: are they of one letter?"""

    def __init__(self) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for into, out, kernel in ((1, 64, 10), (64, 128, 7), (128, 128, 4)):
            layers += [nn.Conv2d(into, out, kernel), nn.ReLU(), nn.MaxPool2d(2)]
        layers += [nn.Conv2d(128, 256, 4), nn.ReLU(), nn.Flatten()]
        self.layers = nn.Sequential(*layers, nn.Linear(256 * 6 * 6, 4096), nn.Sigmoid())
        self.same = nn.Linear(4096, 1)

    def forward(self, one: Tensor, other: Tensor) -> Tensor:
        """Probability that both (N, 1, 105, 105) drawings show the same."""
        apart = (self.layers(one) - self.layers(other)).abs()
        return torch.sigmoid(self.same(apart))


class _BlazeBlock(nn.Module):
    """Depthwise 5x5 convolutions; a double block has a narrow layer in its middle."""

    def __init__(self, into: int, out: int, stride: int, narrow: int) -> None:
        super().__init__()
        layers = self._half(into, narrow or out, stride)
        if narrow:
            layers += [nn.ReLU(), *self._half(narrow, out, 1)]
        self.layers, self.added = nn.Sequential(*layers), out - into
        self.pool = nn.MaxPool2d(2) if stride > 1 else nn.Identity()

    @staticmethod
    def _half(into: int, out: int, stride: int) -> list[nn.Module]:
        depthwise = nn.Conv2d(into, into, 5, stride, 2, groups=into)
        return [depthwise, nn.Conv2d(into, out, 1), nn.BatchNorm2d(out)]

    def forward(self, x: Tensor) -> Tensor:
        past = self.pool(x)
        if self.added:
            past = functional.pad(past, (0, 0, 0, 0, 0, self.added))
        return functional.relu(self.layers(x) + past)


class _BlazeFace(nn.Module):
    """Faces and six points of each, for two anchors on a map of 16x16 and six on one of 8x8."""

    _VALUES = 1 + 4 + 2 * 6  # a score, a box, six points

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, 24, 5, 2, 2),
            nn.ReLU(),
            *_blaze((24, 24, 1, 0), (24, 24, 1, 0), (24, 48, 2, 0), (48, 48, 1, 0), (48, 48, 1, 0)),
            *_blaze((48, 96, 2, 24), (96, 96, 1, 24), (96, 96, 1, 24)),
        )
        self.coarse = nn.Sequential(*_blaze((96, 96, 2, 24), (96, 96, 1, 24), (96, 96, 1, 24)))
        self.heads = nn.ModuleList(nn.Conv2d(96, count * self._VALUES, 1) for count in (2, 6))

    def forward(self, image: Tensor) -> list[Tensor]:
        """Raw predictions of an (N, 3, 128, 128) image, by scale."""
        fine = self.stem(image)
        maps = fine, self.coarse(fine)
        return [head(each) for head, each in zip(self.heads, maps, strict=True)]


def _blaze(*blocks: tuple[int, int, int, int]) -> Iterator[nn.Module]:
    return (_BlazeBlock(*block) for block in blocks)


_NETWORKS: Final[Mapping[str, Callable[..., nn.Module]]] = {
    **papers_generators.NETWORKS,
    **papers_mixers.NETWORKS,
    "blazeface": _BlazeFace,
    "keyword_resnet": _KeywordResNet,
    "keyword_transformer": _KeywordTransformer,
    "matchbox": _matchbox,
    "nerf": _Radiance,
    "siamese": _Siamese,
    "temporal_resnet": _temporal_resnet,
    "u2net": _NestedU,
}


@cache
def rows() -> dict[str, Row]:
    """Name -> row of every network: its family, what draws it, its arguments, what is published."""
    return dict(_rows(package_yaml("zoo", "sources", "papers_nets.yaml").items()))


def _rows(families: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, Row]]:
    for family, shared in families:
        for size, values in shared["sizes"].items():
            arguments = {name: value for name, value in values.items() if name not in _OF_A_SIZE}
            own = {name: value for name, value in values.items() if name in _OF_A_SIZE}
            row = {**shared, "family": family, **own}
            yield f"{family}/{size}" if size else family, {**row, "arguments": arguments}


def network(name: str) -> nn.Module:
    """The network of a name, on the default device."""
    row = rows()[name]
    return _NETWORKS[row["draws"]](**row["arguments"])


def _entry(name: str) -> Entry | None:
    row = rows().get(name)
    if row is None:
        return None
    capture = by_forward(partial(network, name), partial(inputs_of_row, row))
    return Entry(row["family"], row["task"], capture, family=row["family"])


PAPERS = Source(
    name="papers",
    library="",
    licence="Apache-2.0",
    form="<family>[/<size>]",
    example="u2net/full",
    names=lambda: list(rows()),
    entry=_entry,
    citation="the papers that propose them, see papers_nets.yaml",
)
