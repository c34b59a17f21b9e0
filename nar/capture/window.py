"""Attributes of layers: windows and widths as small integers."""

from collections.abc import Sequence
from math import log2

SQUARE, WIDE, TALL = 1, 2, 3  # of the attribute `kernel_shape`: see `nar.graphs.ops`


def window(kernel: Sequence[int], stride: Sequence[int], dilation: Sequence[int]) -> dict[str, int]:
    """Attributes of a sliding window.

    Args:
        kernel: Extent along each spatial axis.
        stride: Step along each spatial axis, or one step for all axes.
        dilation: Distance of taps along each spatial axis, or one distance for all axes.
    """
    return {
        "kernel": max(kernel, default=0),
        "kernel_shape": _kernel_shape(kernel),
        "stride": max(stride, default=1),
        "dilation": max(dilation, default=1),
        "rank": len(kernel),
    }


def _kernel_shape(kernel: Sequence[int]) -> int:
    if len(kernel) < 2 or kernel[0] == kernel[-1]:
        return SQUARE
    return WIDE if kernel[-1] > kernel[0] else TALL


def covers(kernel: Sequence[int], source: Sequence[int], result: Sequence[int]) -> bool:
    """Whether a window covers the whole map at once, as global pooling does.

    Args:
        kernel: Extent along each spatial axis.
        source: Shape of the map that the window reads.
        result: Shape of the result.
    """
    extents = source[-len(kernel) :]
    is_one_pixel = set(result[-len(kernel) :]) == {1}
    return is_one_pixel and all(k >= extent for k, extent in zip(kernel, extents, strict=True))


def channel_ratio(channels_in: int, channels_out: int) -> dict[str, int]:
    """Quarter octaves from the input width to the output width; nothing where one is unknown."""
    if channels_in <= 0 or channels_out <= 0:
        return {}
    return {"channel_ratio": round(4 * log2(channels_out / channels_in))}
