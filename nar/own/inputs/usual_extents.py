"""Extents that inputs usually have, for where a module takes more than one."""

from typing import Final

# Chosen: sides of the images of public data sets and checkpoints, the commonest first.
_SIDES: Final = (
    224, 32, 28, 64, 128, 256, 96, 48, 384, 512, 112, 299, 227, 192, 160, 320, 240, 288, 336, 448,
    105, 84, 416, 640, 16, 331, 380, 456, 528, 600, 1024, 8,
)  # fmt: skip
# Chosen: lengths of series and texts, the commonest first.
_LENGTHS: Final = (
    128, 64, 77, 256, 512, 50, 100, 32, 16, 1024, 196, 200, 96, 784, 2048, 4096, 16000,
)  # fmt: skip
_SMALL_SIDES: Final = (32, 28)
_CLOSE = 0.13  # chosen: what floors of strides and poolings change of a side
# Usual extents that are tried in place of the one found, relative to it.
_FROM, _TO, _TRIED = 0.85, 1.2, 3


def usual_near(guess: float) -> list[int]:
    """The usual sides of an image near a guess; the guess itself where none is near.

    Example:
        >>> usual_near(30.0)
        [32, 28]
    """
    near = [side for side in _SIDES if abs(side - guess) <= _CLOSE * guess]
    nearest = sorted(near, key=lambda side: abs(side - guess))[:2]
    # Strides and poolings that round down lose more of a small side than of a large one.
    return nearest or [side for side in _SMALL_SIDES if side > guess] or [max(1, round(guess))]


def usual_around(found: int, *, is_side: bool) -> list[int]:
    """The usual extents around one that is right, the commonest first.

    Args:
        found: The extent.
        is_side: Whether it is the side of an image, and not a length.

    Example:
        >>> usual_around(33, is_side=True)
        [32]
    """
    usual = _SIDES if is_side else _LENGTHS + _SIDES
    near = [each for each in usual if _FROM * found <= each <= _TO * found and each != found]
    return near[:_TRIED]
