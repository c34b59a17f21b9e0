"""YOLO detectors after the public descriptions of their architectures, drawn by NAR's own code.

The usual implementations of YOLOv5, v8, v10, 11 and 12 are under a licence that allows no copy
here. What their papers and documentation say of the layers is in ``yolo_nets.yaml``: a stem, stages
that halve the map, a path down and up again between three scales, and a head on each scale. Without
decoding: each scale gives its raw predictions, as detectors of other sources do.
"""

from collections.abc import Iterator, Mapping
from functools import cache, partial
from typing import Any, Final, cast

import torch
from torch import Tensor, nn

from nar.base.workspace import package_yaml
from nar.capture import CaptureInputs
from nar.zoo.source import Entry, Source, by_forward

_IMAGE = 640  # pixels: the side that all were published for
_THUMBNAIL = 224  # pixels: the side of the classifiers, which are trained on ImageNet
# Of ImageNet, DOTA, and the persons whose poses are found; others find the 80 of COCO.
_CLASSES: Final = {"cls": 1_000, "obb": 15, "pose": 1}
_COCO = 80  # kinds of things that COCO has boxes of
_BINS = 16  # of the distribution over each side of a box
_ANCHORS = 3  # of YOLOv5, on each scale
_MASKS, _PROTOTYPES = 32, 256  # of YOLACT, whose masks the segmenters have
_KEYPOINTS = 17 * 3  # of COCO: place and visibility
_FEATURES = 1_280  # of classifiers, before their last layer
_TASKS: Final = {
    "": "object-detection",
    "cls": "image-classification",
    "obb": "object-detection",
    "pose": "keypoint-detection",
    "seg": "instance-segmentation",
}
Settings = Mapping[str, Any]


def _conv(
    into: int, out: int, kernel: int = 1, stride: int = 1, *, groups: int = 1, act: bool = True
) -> nn.Sequential:
    """A convolution, its batch norm and, unless told otherwise, SiLU."""
    convolution = nn.Conv2d(into, out, kernel, stride, kernel // 2, groups=groups, bias=False)
    return nn.Sequential(convolution, nn.BatchNorm2d(out), nn.SiLU() if act else nn.Identity())


class _Residual(nn.Module):
    """The input and what some layers make of it, added."""

    def __init__(self, *layers: nn.Module) -> None:
        super().__init__()
        self.layers = nn.Sequential(*layers)

    def forward(self, x: Tensor) -> Tensor:
        inner: Tensor = self.layers(x)
        return x + inner


def _bottleneck(width: int, *, first: int, ratio: float, adds: bool) -> nn.Module:
    """Two convolutions, the first of which may narrow; with the input added, or without."""
    inner = int(width * ratio)
    layers = _conv(width, inner, first), _conv(inner, width, 3)
    return _Residual(*layers) if adds else nn.Sequential(*layers)


class _Split(nn.Module):
    """One half as it is, the other through all layers: C3 of YOLOv5, C3k of YOLO11."""

    def __init__(self, into: int, out: int, count: int, *, first: int, adds: bool) -> None:
        super().__init__()
        half = out // 2
        self.through, self.past = _conv(into, half), _conv(into, half)
        self.layers = nn.Sequential(
            *(_bottleneck(half, first=first, ratio=1.0, adds=adds) for _ in range(count))
        )
        self.join = _conv(2 * half, out)

    def forward(self, x: Tensor) -> Tensor:
        joined: Tensor = self.join(torch.cat((self.layers(self.through(x)), self.past(x)), 1))
        return joined


class _Gathered(nn.Module):
    """Two parts, and what each layer makes of the last one, all joined: C2f and C3k2."""

    def __init__(self, into: int, out: int, inner: int, layers: list[nn.Module]) -> None:
        super().__init__()
        self.begin = _conv(into, 2 * inner)
        self.layers = nn.ModuleList(layers)
        self.join = _conv((2 + len(layers)) * inner, out)

    def forward(self, x: Tensor) -> Tensor:
        parts = list(self.begin(x).chunk(2, 1))
        for layer in self.layers:
            parts.append(layer(parts[-1]))
        joined: Tensor = self.join(torch.cat(parts, 1))
        return joined


class _Pyramid(nn.Module):
    """Three maxima over growing windows beside the map itself: SPPF."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.begin, self.join = _conv(width, width // 2), _conv(width // 2 * 4, width)
        self.pool = nn.MaxPool2d(5, 1, 2)

    def forward(self, x: Tensor) -> Tensor:
        maps = [self.begin(x)]
        for _ in range(3):
            maps.append(self.pool(maps[-1]))
        joined: Tensor = self.join(torch.cat(maps, 1))
        return joined


class _Attention(nn.Module):
    """Attention over all places of a map or of its stripes, beside a convolution of the values.

    Args:
        width: Channels.
        heads: Heads.
        key_ratio: Width of a head's keys for each of its values.
        around: Side of the convolution of the values.
        areas: Stripes that attend to themselves only: 1 is the whole map.
    """

    def __init__(
        self, width: int, heads: int, *, key_ratio: float, around: int, areas: int = 1
    ) -> None:
        super().__init__()
        self.heads, self.areas, self.value = heads, areas, width // heads
        self.key = int(self.value * key_ratio)
        self.project = _conv(width, width + 2 * self.key * heads, act=False)
        self.around = _conv(width, width, around, groups=width, act=False)
        self.out = _conv(width, width, act=False)

    def forward(self, x: Tensor) -> Tensor:
        batch, width, height, columns = x.shape
        parts = self.project(x).flatten(2).transpose(1, 2)
        parts = parts.reshape(batch * self.areas, -1, self.heads, 2 * self.key + self.value)
        query, key, value = parts.permute(0, 2, 3, 1).split([self.key, self.key, self.value], 2)
        weights = (query.transpose(-2, -1) @ key * self.key**-0.5).softmax(-1)
        seen, value = (
            each.permute(0, 3, 1, 2).reshape(batch, height, columns, width).permute(0, 3, 1, 2)
            for each in (value @ weights.transpose(-2, -1), value)
        )
        out: Tensor = self.out(seen + self.around(value))
        return out


def _attending(width: int, attention: nn.Module, ratio: float) -> nn.Sequential:
    """Attention and two pointwise convolutions, each added to its input."""
    inner = int(width * ratio)
    feed = _conv(width, inner), _conv(inner, width, act=False)
    return nn.Sequential(_Residual(attention), _Residual(*feed))


class _HalfAttending(nn.Module):
    """One half as it is, the other through attention: PSA of YOLOv10 and C2PSA of YOLO11."""

    def __init__(self, width: int, count: int) -> None:
        super().__init__()
        half = width // 2
        self.begin, self.join = _conv(width, 2 * half), _conv(2 * half, width)
        self.layers = nn.Sequential(*(self._layer(half) for _ in range(count)))

    @staticmethod
    def _layer(width: int) -> nn.Sequential:
        attention = _Attention(width, max(width // 64, 1), key_ratio=0.5, around=3)
        return _attending(width, attention, 2.0)

    def forward(self, x: Tensor) -> Tensor:
        past, through = self.begin(x).chunk(2, 1)
        joined: Tensor = self.join(torch.cat((past, self.layers(through)), 1))
        return joined


class _AreaAttending(nn.Module):
    """What each layer makes of the one before, all joined: A2C2f of YOLO12.

    Args:
        into: Channels.
        out: Channels of the result.
        layers: Layers of half its width.
        scaled: Whether the input is added, the result scaled channel by channel.
    """

    def __init__(self, into: int, out: int, layers: list[nn.Module], *, scaled: bool) -> None:
        super().__init__()
        self.begin = _conv(into, out // 2)
        self.layers = nn.ModuleList(layers)
        self.join = _conv((1 + len(layers)) * (out // 2), out)
        self.scale = nn.Parameter(torch.ones(out)) if scaled else None

    def forward(self, x: Tensor) -> Tensor:
        parts = [self.begin(x)]
        for layer in self.layers:
            parts.append(layer(parts[-1]))
        joined: Tensor = self.join(torch.cat(parts, 1))
        return joined if self.scale is None else x + self.scale.view(1, -1, 1, 1) * joined


class _TwoKernels(nn.Module):
    """A depthwise convolution of seven pixels and one of three, added: RepVGGDW of YOLOv10."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.large = _conv(width, width, 7, groups=width, act=False)
        self.small = _conv(width, width, 3, groups=width, act=False)
        self.act = nn.SiLU()

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.act(self.large(x) + self.small(x))
        return out


def _inverted(width: int, *, large: bool) -> nn.Module:
    """Depthwise and pointwise convolutions in turn, added to the input: CIB of YOLOv10."""
    wide = 2 * width
    middle = _TwoKernels(wide) if large else _conv(wide, wide, 3, groups=wide)
    return _Residual(
        _conv(width, width, 3, groups=width),
        _conv(width, wide),
        middle,
        _conv(wide, width),
        _conv(width, width, 3, groups=width),
    )


def _c3(into: int, out: int, count: int, *, adds: bool = True, **_: Any) -> nn.Module:  # noqa: ANN401
    return _Split(into, out, count, first=1, adds=adds)


def _c2f(into: int, out: int, count: int, *, adds: bool = True, **_: Any) -> nn.Module:  # noqa: ANN401
    half = out // 2
    layers = [_bottleneck(half, first=3, ratio=1.0, adds=adds) for _ in range(count)]
    return _Gathered(into, out, half, layers)


def _c2f_cib(into: int, out: int, count: int, *, large: bool = False, **_: Any) -> nn.Module:  # noqa: ANN401
    return _Gathered(into, out, out // 2, [_inverted(out // 2, large=large) for _ in range(count)])


def _c3k2(
    into: int,
    out: int,
    count: int,
    *,
    nested: bool = False,
    ratio: float = 0.5,
    **_: Any,  # noqa: ANN401
) -> nn.Module:
    inner = int(out * ratio)
    layers: list[nn.Module] = [
        _Split(inner, inner, 2, first=3, adds=True)
        if nested
        else _bottleneck(inner, first=3, ratio=0.5, adds=True)
        for _ in range(count)
    ]
    return _Gathered(into, out, inner, layers)


def _a2c2f(
    into: int,
    out: int,
    count: int,
    *,
    areas: int = 0,
    scaled: bool = False,
    **_: Any,  # noqa: ANN401
) -> nn.Module:
    half = out // 2
    if not areas:
        layers: list[nn.Module] = [_Split(half, half, 2, first=3, adds=True) for _ in range(count)]
        return _AreaAttending(into, out, layers, scaled=False)
    ratio = 1.2 if scaled else 2.0  # the two widths of its feed-forward layers that are published
    blocks = [
        nn.Sequential(
            *(
                _attending(
                    half,
                    _Attention(half, half // 32, key_ratio=1.0, around=7, areas=areas),
                    ratio,
                )
                for _ in range(2)
            )
        )
        for _ in range(count)
    ]
    return _AreaAttending(into, out, [*blocks], scaled=scaled)


_BLOCKS: Final = {"a2c2f": _a2c2f, "c2f": _c2f, "c2f_cib": _c2f_cib, "c3": _c3, "c3k2": _c3k2}


def _down(into: int, out: int, kind: str) -> nn.Module:
    """Halves a map: by one convolution, or pointwise first and then by one for each channel."""
    if kind == "conv":
        return _conv(into, out, 3, 2)
    return nn.Sequential(_conv(into, out), _conv(out, out, 3, 2, groups=out, act=False))


def _tower(into: int, inner: int, out: int, *, light: bool) -> nn.Sequential:
    """Two convolutions and a prediction; light ones are depthwise and pointwise in turn."""
    if not light:
        layers = _conv(into, inner, 3), _conv(inner, inner, 3)
    else:
        layers = (
            nn.Sequential(_conv(into, into, 3, groups=into), _conv(into, inner)),
            nn.Sequential(_conv(inner, inner, 3, groups=inner), _conv(inner, inner)),
        )
    return nn.Sequential(*layers, nn.Conv2d(inner, out, 1))


class _Prototypes(nn.Module):
    """Masks at twice the size of the finest scale, which coefficients mix."""

    def __init__(self, into: int, inner: int, larger: nn.Module | None) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            _conv(into, inner, 3),
            larger or nn.ConvTranspose2d(inner, inner, 2, 2),
            _conv(inner, inner, 3),
            _conv(inner, _MASKS),
        )

    def forward(self, x: Tensor) -> Tensor:
        masks: Tensor = self.layers(x)
        return masks


class Yolo(nn.Module):
    """One network of the table.

    Args:
        settings: A family's row, with the factors of one size.
        task: What its heads are for: a key of the tasks; empty finds boxes.
    """

    def __init__(self, settings: Settings, task: str = "") -> None:
        super().__init__()
        self.task, self._settings = task, settings
        widths = [self._width(width) for width in settings["widths"]]
        kernel = settings["stem"]
        self.stem = nn.Conv2d(3, widths[0], kernel, 2, kernel // 2 - (kernel % 2 == 0), bias=False)
        self.stem_norm, self.act = nn.BatchNorm2d(widths[0]), nn.SiLU()
        stages, width = [], widths[0]
        for down, begin, out, row in zip(
            settings["downs"], settings["halved"], widths[1:], settings["stages"], strict=True
        ):
            halved = self._width(begin)
            stages.append(nn.Sequential(_down(width, halved, down), self._block(halved, out, row)))
            width = out
        self.stages = nn.ModuleList(stages)
        self.top = nn.Sequential(*self._top(width))
        if task == "cls":
            self._classify(width)
        else:
            outs = [self._width(width) for width in settings["outs"]]
            self._detect(widths[-len(outs) :], outs)
            self._heads(outs)

    def _width(self, width: int) -> int:
        """A width of the largest network, in this size: a multiple of eight channels."""
        factor, most = self._settings["factor"], self._settings["most"]
        if self.task == "cls":
            most = self._settings["widths"][-1] if self._settings["whole_classifier"] else most
        return -(-int(min(width, most) * factor) // 8) * 8

    def _block(self, into: int, out: int, row: Settings) -> nn.Module:
        count = max(round(row["count"] * self._settings["depth"]), 1)
        options = {"block": self._settings["block"], **self._settings["options"], **row}
        kind = options.pop("block")
        del options["count"]
        return _BLOCKS[kind](into, out, count, **options)

    def _top(self, width: int) -> Iterator[nn.Module]:
        """What follows the last stage: maxima over windows, attention."""
        if self._settings["pools"] and self.task != "cls":
            yield _Pyramid(width)
        count = self._settings["attends"]
        if count:
            yield _HalfAttending(width, max(round(count * self._settings["depth"]), 1))

    def _classify(self, width: int) -> None:
        self.features = _conv(width, _FEATURES)
        self.classifier = nn.Linear(_FEATURES, _CLASSES["cls"])

    def _detect(self, taps: list[int], outs: list[int]) -> None:
        """The path down and up again: from maps of the stages to maps for the heads."""
        rows = iter(self._settings["neck"])
        coarse = taps[-1]
        narrow, lowered, kept = [], [], []
        for fine, out in zip(reversed(taps[:-1]), reversed(outs[:-1]), strict=True):
            kept.append(out if self._settings["squeezes"] else coarse)
            narrow.append(_conv(coarse, out) if self._settings["squeezes"] else nn.Identity())
            lowered.append(self._block(kept[-1] + fine, out, {**next(rows), "adds": False}))
            coarse = out
        self.narrow, self.lowered = nn.ModuleList(narrow), nn.ModuleList(lowered)
        raising, raised = [], []
        for down, out, beside in zip(
            self._settings["raises"], outs[1:], reversed(kept), strict=True
        ):
            raising.append(_down(coarse, coarse, down))
            raised.append(self._block(coarse + beside, out, {**next(rows), "adds": False}))
            coarse = out
        self.raising, self.raised = nn.ModuleList(raising), nn.ModuleList(raised)
        self.upsample = nn.Upsample(scale_factor=2)

    def _heads(self, widths: list[int]) -> None:
        classes, finest = _CLASSES.get(self.task, _COCO), widths[0]
        light = self._settings["light_head"]
        anchored = self._settings["head"] == "anchors"
        if anchored:
            further = _MASKS if self.task == "seg" else 0
            predictions = _ANCHORS * (5 + classes + further)
            heads = [nn.ModuleList([nn.Conv2d(width, predictions, 1)]) for width in widths]
        else:
            sides, kinds = max(16, finest // 4, 4 * _BINS), max(finest, min(classes, 100))
            extra = {"seg": _MASKS, "pose": _KEYPOINTS, "obb": 1}.get(self.task)
            heads = [
                nn.ModuleList(
                    [
                        _tower(width, sides, 4 * _BINS, light=False),
                        _tower(width, kinds, classes, light=light),
                        *(
                            [_tower(width, max(finest // 4, extra), extra, light=False)]
                            if extra
                            else []
                        ),
                    ]
                )
                for width in widths
            ]
        self.heads = nn.ModuleList(heads)
        if self.task == "seg":
            larger = nn.Upsample(scale_factor=2) if anchored else None
            self.prototypes = _Prototypes(finest, self._width(_PROTOTYPES), larger)

    def forward(self, image: Tensor) -> object:
        """Raw predictions of an (N, 3, H, W) image: by scale, and the masks that they mix."""
        x = self.act(self.stem_norm(self.stem(image)))
        maps = []
        for stage in self.stages:
            x = stage(x)
            maps.append(x)
        x = self.top(x)
        if self.task == "cls":
            return self.classifier(self.features(x).mean((2, 3)))
        maps[-1] = x
        scales = self._exchanged(maps[-len(self.heads) :])
        predictions = [
            torch.cat([head(features) for head in cast("nn.ModuleList", heads)], 1)
            for heads, features in zip(self.heads, scales, strict=True)
        ]
        return [*predictions, self.prototypes(scales[0])] if self.task == "seg" else predictions

    def _exchanged(self, maps: list[Tensor]) -> list[Tensor]:
        x, kept = maps[-1], []
        for narrow, block, fine in zip(self.narrow, self.lowered, reversed(maps[:-1]), strict=True):
            x = narrow(x)
            kept.append(x)
            x = block(torch.cat((self.upsample(x), fine), 1))
        scales = [x]
        for down, block, beside in zip(self.raising, self.raised, reversed(kept), strict=True):
            x = block(torch.cat((down(x), beside), 1))
            scales.append(x)
        return scales


@cache
def _rows() -> dict[str, tuple[str, str, Settings]]:
    """Name -> family, task and settings of every network."""
    table = package_yaml("zoo", "sources", "yolo_nets.yaml")
    rows: dict[str, tuple[str, str, Settings]] = {}
    for row in table["families"]:
        shared = {**table["defaults"], **row}
        for size, own in row["sizes"].items():
            for task in shared["tasks"]:
                name = f"{row['family']}{size}{'-' if task else ''}{task}"
                rows[name] = row["family"], task, {**shared, **own}
    return rows


def _entry(name: str) -> Entry | None:
    if name not in _rows():
        return None
    family, task, settings = _rows()[name]
    side = _THUMBNAIL if task == "cls" else settings["side"]
    capture = by_forward(partial(Yolo, settings, task), partial(_inputs, side))
    return Entry(family, _TASKS[task], capture, family=family)


def _inputs(side: int, _network: nn.Module) -> CaptureInputs:
    return CaptureInputs((torch.empty(1, 3, side, side),))


YOLO = Source(
    name="yolo",
    library="",
    licence="Apache-2.0",
    form="<family><size>[-<task>]",
    example="yolov8n",
    names=lambda: list(_rows()),
    entry=_entry,
    citation="public descriptions of the architectures, see yolo_nets.yaml",
)
