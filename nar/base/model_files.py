"""Files of models: what each is, by its first bytes and its name, and how it is read.

One table, which the command, the page, Python and assistants ask. It stands below every reader of
models, so that a server that only refuses a file loads no library of models. A format that is read
newly takes a word here and a reader in `nar.own.files`.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal
from zipfile import BadZipFile, ZipFile

CONFIG_FILE: Final = "config.json"
# A module is a class in it, or made by a function: path/to/file.py:Model.
PYTHON: Final = ".py"
FACTORY: Final = re.compile(r"(?P<path>.*\.py):(?P<factory>\w+)(?P<arguments>\(.*\))?", re.DOTALL)
# What NAR does with a file: captures the graph in it, captures what it configures, recognises the
# architecture by the shapes of the weights, asks about the code; or says what the file is.
Reading = Literal["graph", "configuration", "weights", "code", "none"]
MADE_FROM: Final = "name the model that it was made from"


@dataclass(frozen=True, slots=True)
class FileKind:
    """One kind of file.

    Attributes:
        what: What it is, with its article: ``a TensorFlow Lite model``.
        ends: How names of such files end, in small letters, with a space between two ends.
        way_out: What to do where NAR does not read it, as a clause; ``{path}`` is the file.
        reading: What NAR does with it.
    """

    what: str
    ends: str = ""
    way_out: str = MADE_FROM
    reading: Reading = "none"


LOAD: Final = "name the class that made it, path/to/file.py:Model"
_NO_NET: Final = "NAR looks for neural networks"


# How a clause ends that begins with a command.
MAKES_ONE: Final = " makes a file that is read"

TORCHSCRIPT: Final = FileKind(
    "a TorchScript program",
    ".torchscript .jit .ptl .torchmodel",
    "`nar search {path} --run --input 1x3x224x224` runs it, or `python -c "
    "\"import torch; torch.onnx.export(torch.jit.load('{path}'), "
    "torch.zeros(1, 3, 224, 224), 'model.onnx', dynamo=False)\"`" + MAKES_ONE,
    "code",
)
CHECKPOINT: Final = FileKind(
    "a checkpoint of PyTorch",
    ".pt .pth .bin .ckpt .pyt .pyth .pytorch .chkpt .tckpt .ptmf .ot .pth.tar .pt.tar .ckpt.tar",
    LOAD,
    "weights",
)
SAFETENSORS: Final = FileKind("a file of weights (safetensors)", ".safetensors", LOAD, "weights")
GGUF: Final = FileKind("a GGUF file", ".gguf", reading="configuration")
KERAS: Final = FileKind("a Keras model", ".keras", reading="graph")
HDF5: Final = FileKind(
    "an HDF5 file, as Keras saves models and weights", ".h5 .hdf5 .hd5", reading="graph"
)
TFLITE: Final = FileKind("a TensorFlow Lite model", ".tflite .tfl .lite", reading="graph")
OPENVINO: Final = FileKind("an OpenVINO model", ".xml", reading="graph")
EXPORTED: Final = FileKind("an exported program", ".pt2 .pt2.zip", reading="graph")
ONNX: Final = FileKind("an ONNX model", ".onnx .onn", reading="graph")
_PICKLE: Final = FileKind(
    "a pickle",
    ".pkl .pickle .joblib .dill",
    f"reading it would run code, so {LOAD}",
)
_LFS: Final = FileKind(
    "a pointer of Git LFS in place of the file", way_out="`git lfs pull` fetches the file"
)
_HTML: Final = FileKind(
    "a page of HTML in place of a model", way_out="its download failed: fetch the file again"
)
_EMPTY: Final = FileKind("an empty file", way_out="fetch it again")
_TORCHSERVE: Final = FileKind(
    "an archive of TorchServe", ".mar", "`unzip {path}` gives the model file in it: name that"
)
_UNSAFE: Final = FileKind(
    "a pickle that torch's loader of tensors refuses",
    way_out=f"reading it would run code, so {LOAD}, or save its state_dict()",
)

# Kinds that first bytes tell have names above; each ending stands in one row.
FILES: Final = (
    ONNX, EXPORTED, SAFETENSORS, CHECKPOINT, GGUF, TORCHSCRIPT, TFLITE, OPENVINO, KERAS, HDF5,
    _PICKLE, _TORCHSERVE,
    FileKind("a configuration", ".json", reading="configuration"),
    FileKind("a configuration of ultralytics", ".yaml .yml",
        "`yolo export model={path} format=onnx`" + MAKES_ONE
    ),
    FileKind("a Python file", PYTHON, reading="code"),
    FileKind("a model of onnxruntime's own format", ".ort", "name the .onnx that it was made from"),
    FileKind("an ONNX model as text", ".onnxtxt .textproto",
        "`python -c \"import onnx; onnx.save(onnx.load('{path}', format='textproto'), "
        "'model.onnx')\"`" + MAKES_ONE
    ),
    FileKind("a program of ExecuTorch", ".pte", "name the .pt2 that it was lowered from"),
    FileKind("a TensorFlow graph", ".pb .pbtxt .graphdef .meta",
        "`python -m tf2onnx.convert --graphdef {path} --output model.onnx --inputs NAME:0 "
        "--outputs NAME:0`" + MAKES_ONE
    ),
    FileKind("a checkpoint of TensorFlow", ".index .data-00000-of-00001",
        "`python -m tf2onnx.convert --checkpoint model.meta --output model.onnx --inputs NAME:0 "
        "--outputs NAME:0`" + MAKES_ONE
    ),
    FileKind("a Core ML model", ".mlmodel",
        "`python -c \"import coremltools, onnxmltools; onnxmltools.utils.save_model("
        "onnxmltools.convert_coreml(coremltools.utils.load_spec('{path}')), 'model.onnx')\"`"
        + MAKES_ONE
    ),
    FileKind("a Core ML program", ".mlpackage .mlmodelc .mil"),
    FileKind("a TensorRT engine", ".engine .plan .trt .trtmodel",
        "name the .onnx that it was built from"),
    FileKind("a PaddlePaddle model", ".pdmodel",
        "`paddle2onnx --model_dir . --model_filename {path} --params_filename inference.pdiparams "
        "--save_file model.onnx`" + MAKES_ONE
    ),
    FileKind("a file of weights of PaddlePaddle", ".pdparams .pdiparams .pdopt",
        "name the .pdmodel beside it"),
    FileKind("a Paddle Lite model", ".nb"),
    FileKind("an ncnn model", ".param .ncnn"),
    FileKind("a Caffe model", ".prototxt .caffemodel",
        "`python -m caffe2onnx.convert --prototxt deploy.prototxt --caffemodel {path} "
        "--onnx model.onnx`" + MAKES_ONE
    ),
    FileKind("a configuration of Darknet", ".cfg",
        "`python demo_darknet2onnx.py {path} model.weights image.jpg 1`" + MAKES_ONE
     + " (of the repository pytorch-YOLOv4)"),
    FileKind("a file of weights of Darknet", ".weights", "name the .cfg beside it"),
    FileKind("a module of MLIR or StableHLO", ".mlir .stablehlo .mlirbc"),
    FileKind("a file of weights of Flax", ".msgpack", "name the config.json beside it"),
    FileKind("an archive of NeMo", ".nemo", "`tar xf {path}` gives its weights and configuration"),
    FileKind("a file of arrays of NumPy", ".npz .npy", LOAD),
    FileKind("an MNN model", ".mnn", "name the .onnx that it was converted from"),
    FileKind("an RKNN model", ".rknn", "name the .onnx that it was converted from"),
    FileKind("a TNN model", ".tnnproto .tnnmodel", "name the .onnx that it was converted from"),
    FileKind("a model of Qualcomm's SNPE", ".dlc", "name the .onnx that it was converted from"),
    FileKind("a Circle model", ".circle", "name the .tflite that it was converted from"),
    FileKind("a MindSpore model", ".mindir .ms",
        "`python -c \"import mindspore; mindspore.export(mindspore.load('{path}'), INPUT, "
        "file_name='model', file_format='ONNX')\"`" + MAKES_ONE
    ),
    FileKind("a file of weights of MXNet", ".params", "name the -symbol.json beside it"),
    FileKind("a MegEngine model", ".mge .tm"),
    FileKind("a Torch7 model", ".t7 .net"),
    FileKind("a CNTK model", ".cntk .dnn",
        "`python -c \"import cntk; cntk.Function.load('{path}').save('model.onnx', "
        "format=cntk.ModelFormat.ONNX)\"`" + MAKES_ONE
    ),
    FileKind("a Barracuda model", ".nn", "name the .onnx that it was converted from"),
    FileKind("a UFF model", ".uff", "name the .pb that it was converted from"),
    FileKind("an Arm NN model", ".armnn"),
    FileKind("an NNEF model", ".nnef"),
    FileKind("an NNabla model", ".nnp .nntxt",
        "`nnabla_cli convert {path} model.onnx`" + MAKES_ONE),
    FileKind("a Tengine model", ".tmfile"),
    FileKind("a model of Hailo", ".hef .har .hn"),
    FileKind("a model of Ascend", ".om .air"),
    FileKind("a model of Cambricon", ".cambricon"),
    FileKind("a model of Kendryte", ".kmodel"),
    FileKind("a model of Vitis AI", ".xmodel"),
    FileKind("a model of ESP-DL", ".espdl", "name the .onnx that it was converted from"),
    FileKind("a Flux model", ".bson"),
    FileKind("a BigDL model", ".bigdl"),
    FileKind("a KANN model", ".kann .kan"),
    FileKind("a MediaPipe bundle", ".task", "`unzip {path}` gives the .tflite files in it"),
    FileKind("a Modular graph", ".maxviz"),
    FileKind("a tokenizer, or a model of some other program", ".model", MADE_FROM),
    FileKind("a model of trees (CatBoost)", ".cbm", _NO_NET),
    FileKind("a model of trees (XGBoost)", ".ubj .xgb", _NO_NET),
    FileKind("a model as PMML", ".pmml", _NO_NET),
    FileKind("an archive", ".zip .tar .tgz .tar.gz .7z", "unpack it, and name a file of it or the "
        "folder"),
)  # fmt: skip

# Ends of names whose graph or configuration the page takes -> what they are.
READ: Final = {
    ".onnx": ONNX.what,
    ".pt2": EXPORTED.what,
    ".tflite": TFLITE.what,
    ".xml": OPENVINO.what,
    ".keras": KERAS.what,
    ".h5": HDF5.what,
    ".json": "a configuration",
}
# The end of each error: what a user can name in place of such a file.
WANTED: Final = (
    f"path/to/file{PYTHON}:Model, or a file that ends in .onnx, .pt2, .tflite, .xml, "
    f".keras, .h5, .gguf or .safetensors, or is a {CONFIG_FILE}"
)
_BY_END: Final = {end: kind for kind in FILES for end in kind.ends.split()}
# Where first bytes begin, the bytes, and what the file is then, whatever its name.
_BY_BYTES: Final = (
    (0, b"version https://git-lfs", _LFS),
    (0, b"GGUF", GGUF),
    (4, b"TFL3", TFLITE),
    (0, b"\x89HDF\r\n\x1a\n", HDF5),
)
# Chosen: where a page of HTML says that it is one, behind spaces and a mark of its encoding.
_HEAD_BYTES: Final = 512
_PAGES: Final = (b"<!doctype html", b"<html")
# How the net of an OpenVINO model begins; files of many other programs are XML.
_NET: Final = re.compile(rb"<net[\s/>]")
_ZIP: Final = b"PK"
_PICKLED: Final = tuple(b"\x80" + bytes([protocol]) for protocol in range(2, 6))


def kind_of_file(path: Path) -> FileKind | None:
    """What a file is, by its first bytes, else by its name; None for what the table lacks.

    A file that is not there is what its name says.

    Example:
        >>> kind_of_file(Path("mobile.TFLITE")).what
        'a TensorFlow Lite model'
    """
    head = _head(path)
    named = _by_name(path)
    if head is None:
        return named
    if not head:
        return _EMPTY if named else None
    for at, first, kind in _BY_BYTES:
        if head[at:].startswith(first):
            return kind
    if head.lstrip(b"\xef\xbb\xbf \t\r\n").lower().startswith(_PAGES):
        return _HTML
    if head.startswith(_ZIP):
        return _of_archive(path) or named
    if named is OPENVINO and not _NET.search(head):
        return None
    if named is CHECKPOINT and path.suffix.lower() == ".bin" and not head.startswith(_PICKLED):
        return FileKind("a file of weights or of anything else", way_out=LOAD)
    return named


def is_file_name(name: str) -> bool:
    """Whether a name means a file or a folder: ``path/to/file.py:Model``, ``config.json``."""
    path = Path(name)
    return bool(FACTORY.fullmatch(name)) or kind_of_file(path) is not None or path.is_dir()


def _by_name(path: Path) -> FileKind | None:
    name = path.name.lower()
    longest = "".join(path.suffixes[-2:]).lower()
    return _BY_END.get(longest) or _BY_END.get(name[name.rfind(".") :] if "." in name else "")


def _head(path: Path) -> bytes | None:
    try:
        with path.open("rb") as file:
            return file.read(_HEAD_BYTES)
    except OSError:
        return None


def _of_archive(path: Path) -> FileKind | None:
    """What a zip file is, by the names in it."""
    try:
        with ZipFile(path) as archive:
            names = archive.namelist()
    except (BadZipFile, OSError, ValueError, NotImplementedError):
        return None
    inner = {name.partition("/")[2] or name for name in names}
    if "MAR-INF/MANIFEST.json" in names:
        return _TORCHSERVE
    if {"config.json", "metadata.json"} <= set(names):
        return KERAS
    if any(name.startswith("code/") for name in inner) and "constants.pkl" in inner:
        return TORCHSCRIPT
    if "archive_format" in inner or any(name.startswith("models/") for name in inner):
        return EXPORTED
    return CHECKPOINT if "data.pkl" in inner else None


def program_text(path: Path, kind: FileKind) -> str:
    """The sentence for a file whose program is run where its owner says so alone.

    Example:
        >>> program_text(Path("m.ptl"), TORCHSCRIPT).partition("; ")[0]
        'it is a TorchScript program, which would be run'
    """
    return f"it is {kind.what}, which would be run; {kind.way_out.replace('{path}', str(path))}"


def file_text(path: Path, what: str, way_out: str) -> str:
    """The sentence for a file or folder that is not read, without its name.

    Example:
        >>> file_text(Path("m.rknn"), "an RKNN model", "name the .onnx of it")
        'it is an RKNN model, which NAR does not read; name the .onnx of it'
    """
    return f"it is {what}, which NAR does not read; {way_out.replace('{path}', str(path))}"
