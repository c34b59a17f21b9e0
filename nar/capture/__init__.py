"""Anything -> ComputationalGraph: one forward pass without weights, an exported program, ONNX.

Every front end writes the same raw trace; the same rewrites bring it to canonical classes.
"""

from nar.capture.exported import capture_exported
from nar.capture.forward.dispatch import capture_module
from nar.capture.onnx.file import capture_onnx
from nar.capture.record import Capture, CaptureInputs

__all__ = [
    "CAPTURE_VERSION",
    "Capture",
    "CaptureInputs",
    "capture_exported",
    "capture_module",
    "capture_onnx",
]

# Raise it with every change of the graph that capture, its rewrites or the canonical form give for
# any model: jobs then capture all models anew.
CAPTURE_VERSION = 3
