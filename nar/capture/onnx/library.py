"""The onnx library, imported when the first file is read."""

from functools import cache
from importlib import import_module, util
from types import ModuleType

from nar.base.errors import MissingLibraryError


@cache
def onnx(module: str = "") -> ModuleType:
    """The library, or one of its modules.

    Raises:
        MissingLibraryError: It is not installed.
    """
    if util.find_spec("onnx") is None:
        raise MissingLibraryError("onnx is not installed: pip install 'nar-search[onnx]'")
    return import_module(f"onnx.{module}" if module else "onnx")
