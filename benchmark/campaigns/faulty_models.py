"""Models for the campaign of faults: half of them behave, each of the others fails in its own way.

They are captured as ``faulty_models.py:<factory>``; nothing imports this file.
"""

import ctypes
import os
import signal
import sys
import threading

from torch import nn


class _Net(nn.Sequential):
    def __init__(self, depth: int) -> None:
        super().__init__(*(nn.Sequential(nn.Conv2d(3, 3, 3), nn.ReLU()) for _ in range(depth)))


def net_1() -> nn.Module:
    return _Net(1)


def net_2() -> nn.Module:
    return _Net(2)


def net_3() -> nn.Module:
    return _Net(3)


def net_4() -> nn.Module:
    return _Net(4)


def _slow(depth: int) -> nn.Module:
    """Takes time and no processor: a kill finds it at work."""
    threading.Event().wait(0.3)
    return _Net(depth)


def slow_1() -> nn.Module:
    return _slow(5)


def slow_2() -> nn.Module:
    return _slow(6)


def slow_3() -> nn.Module:
    return _slow(7)


def slow_4() -> nn.Module:
    return _slow(8)


def refuses() -> nn.Module:
    raise ValueError("no such width")


def exits() -> nn.Module:
    sys.exit(3)


def sleeps() -> nn.Module:
    threading.Event().wait()
    raise AssertionError("woken")


def eats() -> nn.Module:
    hoard = [bytearray(2**26) for _ in range(2**20)]
    raise AssertionError(f"{len(hoard)} pieces fitted")


def segfaults() -> nn.Module:
    ctypes.string_at(0)
    raise AssertionError("read from nowhere")


def is_killed() -> nn.Module:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("survived")
