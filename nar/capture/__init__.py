"""Anything -> ComputationalGraph: one forward pass without weights, an exported program, ONNX.

Every front end writes the same raw trace; the same rewrites bring it to canonical classes. Those of
files are imported where a file is read: `nar.capture.exported`, `nar.capture.onnx.file`. ONNX needs
no torch, so `capture_module`, which does, is imported when it is first used.
"""

from typing import TYPE_CHECKING

from nar.capture.record import Capture, CaptureInputs

if TYPE_CHECKING:
    from nar.capture.forward.dispatch import capture_module

__all__ = [
    "CAPTURE_VERSION",
    "Capture",
    "CaptureInputs",
    "capture_module",
]

# Raise it with every change of the graph that capture, its rewrites or the canonical form give for
# any model: jobs then capture all models anew.
CAPTURE_VERSION = 4


def __getattr__(name: str) -> object:
    """Import what captures modules, and torch with it."""
    if name != "capture_module":
        raise AttributeError(f"module 'nar.capture' has no attribute {name!r}")
    from nar.capture.forward.dispatch import capture_module

    return capture_module
