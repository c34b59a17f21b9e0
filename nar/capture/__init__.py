"""Anything -> ComputationalGraph: one forward pass without weights, an exported program, ONNX.

Every front end writes the same raw trace; the same rewrites bring it to canonical classes.
"""

from nar.capture.dispatch import capture_module
from nar.capture.record import Capture, CaptureInputs

__all__ = ["Capture", "CaptureInputs", "capture_module"]
