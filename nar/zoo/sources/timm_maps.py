"""A model of timm as the backbone of someone else's head: named feature maps of an image."""

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from torch import Tensor, nn

from nar.zoo.sources.timm_bodies import timm_body


class TimmMaps(nn.Module):
    """Some of the feature maps of a timm model, by names of their reader's choice.

    Args:
        model: timm's name of it.
        picks: Name of each map that is given, and its place among all of them; -1 is the coarsest.
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
        self.channels = [widths[place] for place in picks.values()]
        self._picks = dict(picks)
        self._is_channels_last = getattr(body, "output_fmt", "NCHW") == "NHWC"

    def forward(self, image: Tensor) -> OrderedDict[str, Tensor]:
        """The maps of an (N, 3, H, W) image, each (N, C, H / stride, W / stride)."""
        maps = self.body(image)
        if self._is_channels_last:
            maps = [features.permute(0, 3, 1, 2) for features in maps]
        return OrderedDict((name, maps[place]) for name, place in self._picks.items())
