"""Folders of models and JSON files: what each is, and which file or model it means.

Nothing here runs or imports anything: folders are listed, JSON is read.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from nar.base.errors import InvalidInputError
from nar.base.files import yaml_content
from nar.base.model_files import (
    CONFIG_FILE,
    LOAD,
    MADE_FROM,
    MAKES_ONE,
    OPENVINO,
    PYTHON,
    TORCHSCRIPT,
    WANTED,
    Reading,
    file_text,
    kind_of_file,
)

# Chosen: a table of weights of a model of a hundred thousand tensors takes some 10 MB.
MAX_JSON_BYTES: Final = 64 * 1024**2
# Chosen: a hundred times what MLflow writes, signatures of the inputs included.
_MOST_YAML_BYTES: Final = 1024**2
# Chosen: mappings that are merged of mappings double with each few aliases; MLflow writes none.
_MOST_ALIASES: Final = 16


@dataclass(frozen=True, slots=True)
class JsonKind:
    """One kind of content of a JSON file.

    Attributes:
        name: A word for it, by which readers are found.
        what: What it is, with its article.
        keys: Keys that the object has, all of them; ``outer.inner`` for a key below another.
        reading: As of `FileKind`.
        way_out: As of `FileKind`.
    """

    name: str
    what: str
    keys: tuple[str, ...]
    reading: Reading = "configuration"
    way_out: str = ""


# The first row whose keys a file has says what it is.
JSON_KINDS: Final = (
    JsonKind("transformers", "a configuration of transformers", ("model_type",)),
    JsonKind("pipeline", "a pipeline of diffusers", ("_class_name", "scheduler")),
    JsonKind("pipeline", "a pipeline of diffusers", ("_class_name", "unet")),
    JsonKind("pipeline", "a pipeline of diffusers", ("_class_name", "vae")),
    JsonKind("diffusers", "a configuration of diffusers", ("_class_name",)),
    JsonKind("timm", "a configuration of timm", ("architecture",)),
    JsonKind("open_clip", "a configuration of open_clip", ("model_cfg",)),
    JsonKind("open_clip", "a configuration of open_clip", ("vision_cfg", "text_cfg")),
    JsonKind("peft", "an adapter of PEFT", ("peft_type",)),
    JsonKind("modules", "a model of sentence-transformers", ("idx", "path", "type")),
    JsonKind("shards", "a list of the shards of a checkpoint", ("weight_map",), "weights"),
    JsonKind("keras", "layers of TensorFlow.js", ("modelTopology.model_config",)),
    JsonKind("keras", "layers of TensorFlow.js", ("modelTopology.class_name",)),
    JsonKind("", "a graph of TensorFlow.js", ("modelTopology",), "none",
        "`python -m tf2onnx.convert --tfjs {path} --output model.onnx`" + MAKES_ONE
    ),
    JsonKind("", "a PaddlePaddle program", ("base_code",), "none",
        "`paddle2onnx --model_dir . --model_filename {path} --params_filename "
        "inference.pdiparams --save_file model.onnx`" + MAKES_ONE
    ),
    JsonKind("keras", "a configuration of Keras", ("class_name", "config")),
    JsonKind("", "a graph of MXNet", ("nodes", "arg_nodes", "heads"), "none",
        "`python -c \"import mxnet; mxnet.onnx.export_model('{path}', 'model.params')\"`"
        + MAKES_ONE
    ),
    JsonKind("", "the sizes of a Llama as Meta publishes it", ("dim", "n_layers", "n_heads"),
        "none",
            "`python -m transformers.models.llama.convert_llama_weights_to_hf --input_dir . "
            "--output_dir OUT`" + MAKES_ONE
    ),
    JsonKind("", "a tokenizer", ("version",), "none", "name the config.json of its model"),
    JsonKind("", "a configuration without a model_type", ("architectures",), "none",
        "add its model_type, or name the class: path/to/file.py:Model"),
)  # fmt: skip


def kind_of_json(content: object) -> JsonKind | None:
    """What a JSON file holds, by its keys; None where the table has no such keys.

    Example:
        >>> kind_of_json({"architecture": "resnet18", "num_classes": 10}).name
        'timm'
    """
    if isinstance(content, list):
        content = next(iter(content), None)
    if not isinstance(content, dict):
        return None
    return next((kind for kind in JSON_KINDS if all(_has(content, key) for key in kind.keys)), None)


def _has(content: Any, key: str) -> bool:  # noqa: ANN401 -- whatever JSON can be
    """Whether an object has a key, or one below it: ``outer.inner``."""
    for part in key.split("."):
        if not isinstance(content, dict) or part not in content:
            return False
        content = content[part]
    return True


def read_json(path: Path) -> Any:  # noqa: ANN401 -- whatever JSON can be
    """The content of a JSON file.

    Raises:
        ValueError: It is too large, or no JSON.
    """
    size = path.stat().st_size
    if size > MAX_JSON_BYTES:
        raise ValueError(f"wanted at most {MAX_JSON_BYTES} bytes, came {size}")
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except RecursionError:
        raise ValueError("wanted JSON, came objects within objects without end") from None


@dataclass(frozen=True, slots=True)
class FolderKind:
    """One kind of folder, by a file in it.

    Attributes:
        marker: A pattern of the file's name.
        what: What the folder is, with its article; empty where the file says it.
        way_out: What to do, as of `FileKind`; empty where the file is read.
    """

    marker: str
    what: str = ""
    way_out: str = ""


_MLFLOW: Final = "MLmodel"
_TOKENIZER: Final = ("a tokenizer without a model", f"name the {CONFIG_FILE} of its model")
# The first row whose file a folder has says what it is: here whatever else lies beside ...
_FOLDERS: Final = (
    FolderKind("model_index.json"),
    FolderKind("adapter_config.json"),
    FolderKind("open_clip_config.json"),
    FolderKind("modules.json"),
    FolderKind(CONFIG_FILE),
    FolderKind("*.safetensors.index.json"),
    FolderKind("*.bin.index.json"),
    FolderKind("saved_model.pb", "a saved model of TensorFlow",
        "`python -m tf2onnx.convert --saved-model {path} --output model.onnx`" + MAKES_ONE
    ),
    FolderKind("Manifest.json", "a Core ML package", MADE_FROM),
    FolderKind(_MLFLOW),
)  # fmt: skip
# ... and here only without Python files: a repository may have such files, and its code says more.
_FOLDERS_WITHOUT_CODE: Final = (
    FolderKind("*.onnx"),
    FolderKind("onnx/model.onnx"),
    FolderKind("*.gguf"),
    FolderKind("*.pt2"),
    FolderKind("*.safetensors"),
    FolderKind("pytorch_model*.bin"),
    FolderKind("*.ckpt"),
    FolderKind("*.keras"),
    FolderKind("*.h5"),
    FolderKind("config.cfg", "a pipeline of spaCy", f"its layers are of thinc: {MADE_FROM}"),
    FolderKind("params.json"),
    FolderKind("model.json"),
    FolderKind("inference.json"),
    FolderKind("*.pdmodel"),
    FolderKind("*.tflite"),
    FolderKind("openvino_model.xml"),
    FolderKind("openvino/openvino_model.xml"),
    FolderKind("*.xml"),
    FolderKind("tokenizer.json", *_TOKENIZER),
    FolderKind("tokenizer.model", *_TOKENIZER),
    FolderKind("lightning_config.json", "a run of Lightning", f"{LOAD}, or its .ckpt"),
    FolderKind("*.yaml"),
)  # fmt: skip
_PACKAGES: Final = (".mlpackage", ".mlmodelc")


@dataclass(frozen=True, slots=True)
class Named:
    """What a folder or a file means: a name that can be captured, or looked up.

    Attributes:
        name: Path of a file, or the name of a model as somebody writes it.
        notes: Sentences about what the folder says beside it.
        doubts: Why it may be another model, each a clause.
    """

    name: str
    notes: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()


def named_in_folder(folder: Path) -> Named | None:
    """The model that a folder means; None for a folder of anything else, such as code.

    Raises:
        InvalidInputError: It is a folder of some kind that is not read; says which.
    """
    if folder.suffix.lower() in _PACKAGES:
        raise InvalidInputError(str(folder), file_text(folder, "a Core ML package", MADE_FROM))
    for kind in _kinds(folder):
        for path in sorted(folder.glob(kind.marker)):
            if kind.what:
                raise InvalidInputError(str(folder), file_text(folder, kind.what, kind.way_out))
            if path.suffix == ".xml" and kind_of_file(path) is not OPENVINO:
                continue
            if path.name == _MLFLOW:
                return _of_mlflow(path)
            if path.suffix != ".json":
                return Named(str(path))
            content = _content(path)
            found = kind_of_json(content)
            if found is not None:
                return _of_json(path, found, content)
    return None


def _kinds(folder: Path) -> Iterator[FolderKind]:
    yield from _FOLDERS
    # Chosen: code of a repository lies at its top or in a package below it.
    if not any(any(folder.glob(depth)) for depth in (f"*{PYTHON}", f"*/*{PYTHON}")):
        yield from _FOLDERS_WITHOUT_CODE


def _content(path: Path) -> Any:  # noqa: ANN401 -- whatever JSON can be
    try:
        return read_json(path)
    except (OSError, ValueError):
        return None


def named_in_json(path: Path) -> Named:
    """The model that a JSON file means.

    Raises:
        InvalidInputError: It holds something that is not read; says what, and the way out.
    """
    try:
        content = read_json(path)
    except ValueError as error:
        raise InvalidInputError(str(path), f"wanted JSON: {error}") from None
    kind = kind_of_json(content)
    if kind is None:
        wanted = "wanted a configuration with a model_type (transformers), an architecture (timm) "
        reason = f"{wanted}or a _class_name (diffusers), came a JSON file without"
        raise InvalidInputError(str(path), reason)
    return _of_json(path, kind, content)


def _of_json(path: Path, kind: JsonKind, content: Any) -> Named:  # noqa: ANN401
    if kind.reading == "none":
        raise InvalidInputError(str(path), file_text(path, kind.what, kind.way_out))
    return _MEANT.get(kind.name, _itself)(path, content)


def _itself(path: Path, _content: object) -> Named:
    return Named(str(path))


def _of_pipeline(path: Path, content: Mapping[str, Any]) -> Named:
    """A pipeline means its only network.

    Raises:
        InvalidInputError: It has several, which are named.
    """
    parts = {name: each for name, each in content.items() if isinstance(each, list) and each[1:]}
    networks = {
        str(path.parent / name): str(each[1])
        for name, each in parts.items()
        if (path.parent / name / CONFIG_FILE).is_file()
    }
    if len(networks) == 1:
        return Named(str(Path(*networks) / CONFIG_FILE))
    named = ", ".join(f"{name} ({kind})" for name, kind in networks.items())
    has = f"name one of its networks: {named}" if networks else f"no part of it has a {CONFIG_FILE}"
    reason = f"it is a pipeline of diffusers, {content['_class_name']}; {has}"
    raise InvalidInputError(str(path.parent), reason)


def _of_adapter(path: Path, content: Mapping[str, Any]) -> Named:
    """An adapter means its base; what it adds is a note."""
    base = content.get("base_model_name_or_path")
    if not isinstance(base, str) or not base:
        raise InvalidInputError(str(path), "wanted the base_model_name_or_path of the adapter")
    targets = content.get("target_modules") or []
    on = ", ".join(map(str, targets)) if isinstance(targets, list) else str(targets)
    kind = {"LORA": "LoRA"}.get(str(content["peft_type"]), str(content["peft_type"]))
    rank = f" r={content['r']}" if isinstance(content.get("r"), int) else ""
    where = f" on {on}" if on else ""
    note = f"It is {base} with {kind}{rank}{where}; the answer is about {base} alone."
    return Named(base, (note,))


def _of_modules(path: Path, content: list[Mapping[str, Any]]) -> Named:
    """A model of sentence-transformers means its transformer."""
    kinds = [str(each.get("type", "")).rpartition(".")[2] for each in content]
    for each, kind in zip(content, kinds, strict=True):
        config = path.parent / str(each.get("path", "")) / CONFIG_FILE
        is_inside = config.resolve().is_relative_to(path.parent.resolve())
        if kind == "Transformer" and is_inside:
            others = ", ".join(other for other in kinds if other != kind)
            note = f"After it sentence-transformers puts {others}." if others else ""
            return Named(str(config), (note,) if note else ())
    reason = f"wanted a Transformer among its modules, came {', '.join(kinds)}"
    raise InvalidInputError(str(path.parent), reason)


# Where a flavour of MLflow says that its data lie, beside the file.
_DATA: Final = ("data", "model_binary", "model_data", "saved_model_dir")


def _of_mlflow(path: Path) -> Named:
    """A model of MLflow means the data of the first flavour that is read; a pickle is none.

    Raises:
        InvalidInputError: No flavour of it is read; says which it has.
    """
    folder = path.parent
    try:
        size = path.stat().st_size
        text = path.read_text("utf-8") if size <= _MOST_YAML_BYTES else ""
        aliases = sum(isinstance(each, yaml.AliasEvent) for each in yaml.parse(text))
        content = yaml_content(text) if aliases <= _MOST_ALIASES else None
    except (OSError, ValueError, RecursionError, yaml.YAMLError):
        content = None
    flavours = content.get("flavors") if isinstance(content, dict) else None
    if not isinstance(flavours, dict):
        raise InvalidInputError(str(path), "wanted the flavors of a model of MLflow, came none")
    for flavour in flavours.values():
        for key in _DATA if isinstance(flavour, dict) else ():
            data = flavour.get(key)
            found = _inside(folder, data) if isinstance(data, str) else None
            if found is not None:
                return found
    has = ", ".join(map(str, flavours))
    way_out = f"its flavours are {has}, whose data is a pickle: {LOAD}"
    raise InvalidInputError(str(folder), file_text(folder, "a model of MLflow", way_out))


def _inside(folder: Path, name: str) -> Named | None:
    """The model that the data of a folder means, where they lie in it and are read."""
    data = folder / name
    try:
        whole = data.resolve()
        is_there = (data.is_file() or data.is_dir()) and not (data / _MLFLOW).is_file()
    except (OSError, ValueError):  # no system has such a path
        return None
    if not is_there or folder.resolve() not in whole.parents:
        return None
    if data.is_dir():
        return named_in_folder(data) if _has_model(data) else _program_in(data)
    found = kind_of_file(data) if data.is_file() else None
    return Named(str(data)) if found is not None and found.reading == "graph" else None


def _program_in(folder: Path) -> Named | None:
    """The TorchScript program of a folder, which MLflow gives the ending of a pickle."""
    programs = (path for path in sorted(folder.glob("*.pth")) if kind_of_file(path) is TORCHSCRIPT)
    return next((Named(str(path)) for path in programs), None)


def _has_model(folder: Path) -> bool:
    """Whether a folder has a configuration or a graph, and not a pickle alone."""
    return any(any(folder.glob(name)) for name in _READ_OF_MLFLOW)


_READ_OF_MLFLOW: Final = (
    CONFIG_FILE, "modules.json", "*.onnx", "*.pt2", "*.keras", "*.h5", "saved_model.pb",
)  # fmt: skip


# What JSON files mean that do not mean themselves.
_MEANT: Final[Mapping[str, Callable[[Path, Any], Named]]] = {
    "pipeline": _of_pipeline,
    "peft": _of_adapter,
    "modules": _of_modules,
}


def named_in_file(path: Path) -> Named:
    """The model that a file means; it is there.

    Raises:
        InvalidInputError: It is of a kind that is not read, or of none that NAR knows.
    """
    kind = kind_of_file(path)
    if kind is None:
        reason = f"it is no file of a kind that NAR knows; wanted {WANTED}"
        raise InvalidInputError(str(path), reason)
    if kind.reading == "none":
        raise InvalidInputError(str(path), file_text(path, kind.what, kind.way_out))
    return named_in_json(path) if path.suffix.lower() == ".json" else Named(str(path))


def reading_of(path: Path) -> Reading:
    """What NAR does with a file that `named_in_file` has not refused."""
    if path.suffix.lower() == ".json":
        kind = kind_of_json(_content(path))
        return kind.reading if kind else "none"
    found = kind_of_file(path)
    return found.reading if found else "none"
