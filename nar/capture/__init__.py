"""Anything -> ComputationalGraph: one forward pass without weights, an exported program, ONNX.

Every front end writes the same raw trace; the same rewrites bring it to canonical classes.
"""

from nar.capture.exported.program import capture_exported
from nar.capture.forward.dispatch import capture_module
from nar.capture.onnx.file import capture_onnx
from nar.capture.record import Capture, CaptureInputs

__all__ = ["Capture", "CaptureInputs", "capture_exported", "capture_module", "capture_onnx"]
