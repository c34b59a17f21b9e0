"""Files of models by the end of their names: which kinds NAR reads, and why it reads no others.

This module stands below every reader of models, so that a server that only refuses a file loads no
library of models. A reader of a new kind takes one row here and one in `nar.own.files`.
"""

from pathlib import Path
from typing import Final

CONFIG_FILE: Final = "config.json"
# A module is a class in it, or made by a function: path/to/file.py:Model.
PYTHON: Final = ".py"
# End of the name -> the kind of file. Each kind says what is computed.
READ: Final = {
    ".onnx": "an ONNX model",
    ".pt2": "an exported program",
    ".json": "a configuration",
}
# Files of weights, which do not say what is computed with the weights.
WEIGHTS: Final = frozenset({".pt", ".pth", ".bin", ".safetensors", ".ckpt", ".h5", ".gguf", ".npz"})
# Files that say what is computed, in a form that NAR cannot read.
NOT_READ: Final = {
    ".engine": "a TensorRT engine",
    ".keras": "a Keras model",
    ".mlmodel": "a Core ML model",
    ".pb": "a TensorFlow graph",
    ".tflite": "a TensorFlow Lite model",
    ".torchscript": "a TorchScript model",
}
# The end of each error: what a user can name in place of such a file.
WANTED: Final = (
    f"path/to/file{PYTHON}:Model, or a file that ends in "
    f"{', '.join(end for end in READ if end != '.json')} or is a {CONFIG_FILE}"
)


def why_not_read(path: Path) -> str | None:
    """Why NAR captures no model from a file with this end, with the way out; None for other ends.

    Example:
        >>> why_not_read(Path("mobile.tflite")).partition(";")[0]
        'a .tflite file is a TensorFlow Lite model, which is not read here'
    """
    end = path.suffix
    if end in WEIGHTS:
        reason = "holds weights, and does not say what is computed with them"
    elif end in NOT_READ:
        reason = f"is {NOT_READ[end]}, which is not read here"
    else:
        return None
    return f"a {end} file {reason}; wanted {WANTED}"
