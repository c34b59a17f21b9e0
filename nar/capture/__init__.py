"""Anything -> ComputationalGraph: one forward pass without weights, an exported program, ONNX.

Every front end writes the same raw trace; the same rewrites bring it to canonical classes. Those of
files are imported where a file is read: `nar.capture.exported`, `nar.capture.onnx.file`.
"""

from nar.capture.forward.dispatch import capture_module
from nar.capture.record import Capture, CaptureInputs

__all__ = [
    "CAPTURE_VERSION",
    "Capture",
    "CaptureInputs",
    "capture_module",
]

# Raise it with every change of the graph that capture, its rewrites or the canonical form give for
# any model: jobs then capture all models anew.
CAPTURE_VERSION = 4
