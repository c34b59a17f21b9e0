"""Models of timm under the heads of other libraries: built once for all heads, read as maps."""

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from torch import Tensor, nn

from nar.zoo.libraries import import_library

# The heads of one body follow each other: as it is, dilated twice, and as its readers try it.
KEPT = 8


@lru_cache(maxsize=KEPT)
def timm_body(model: str, **options: Any) -> nn.Module:  # noqa: ANN401
    """What `timm.create_model` gives, or gave before: heads read a body and leave it as it is.

    Without weights a capture of another head has nothing to tell two of them apart by.

    Args:
        model: timm's name of it.
        options: As `timm.create_model` takes them, hashable.
    """
    body: nn.Module = import_library("timm.models").create_model(model, **options)
    return body


@contextmanager
def bodies_built_once() -> Iterator[None]:
    """Inside, a library that calls `timm.create_model` gets `timm_body`."""
    timm: Any = import_library("timm")
    create_model = timm.create_model
    timm.create_model = timm_body
    try:
        yield
    finally:
        timm.create_model = create_model


class TimmMaps(nn.Module):
    """Some of the feature maps of a timm model, by names of their reader's choice.

    Args:
        model: timm's name of it.
        picks: Name of each map that is given, and its level among all of them; -1 is the coarsest.
        output_stride: Pixels of the image to one of the coarsest map, 32 unless dilated.

    Attributes:
        channels: Width of each map, in the order of `picks`.
    """

    def __init__(self, model: str, picks: Mapping[str, int], *, output_stride: int = 32) -> None:
        super().__init__()
        # Not every model has the argument, and none needs it at 32.
        dilated: dict[str, Any] = {} if output_stride == 32 else {"output_stride": output_stride}
        body: Any = timm_body(model, features_only=True, **dilated)
        widths: list[int] = body.feature_info.channels()
        self.body = body
        self.channels = [widths[level] for level in picks.values()]
        self._picks = dict(picks)
        self._is_channels_last = getattr(body, "output_fmt", "NCHW") == "NHWC"

    def forward(self, image: Tensor) -> OrderedDict[str, Tensor]:
        """The maps of an (N, 3, H, W) image, each (N, C, H / stride, W / stride)."""
        maps = self.body(image)
        if self._is_channels_last:
            maps = [features.permute(0, 3, 1, 2) for features in maps]
        return OrderedDict((name, maps[level]) for name, level in self._picks.items())
