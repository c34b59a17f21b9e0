"""Configuration files that a wheel of OpenMMLab holds: read, and told apart by their networks.

The tables beside this module list the files of each library. They are written anew by
``python -m nar.zoo.sources.openmmlab.configs <library>``.
"""

import hashlib
import json
import sys
from collections.abc import Mapping
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

from nar.base.workspace import package_lines
from nar.labels.families import snake_case
from nar.zoo.libraries import import_library, library_version

Config = Mapping[str, Any]
# Where a network was trained on several data sets of as many classes, this one's name is listed.
_DATA_SETS = {
    "mmaction": "kinetics400",
    "mmdet": "coco",
    "mmocr": "icdar2015",
    "mmpose": "coco",
    "mmpretrain": "in1k",
    "mmseg": "ade20k",
}
# The classes of models that are captured; the others read text, follow boxes over time, or teach.
_CLASSES = {
    "mmaction": "Recognizer2D Recognizer3D RecognizerGCN",
    "mmocr": """
        ABINet ASTER CRNN DBNet FCENet MASTER NRTR PANet PSENet RobustScanner SARNet SATRN SVTR
        TextSnake
    """,
    "mmpose": "BottomupPoseEstimator TopdownPoseEstimator",
    "mmpretrain": "ImageClassifier",
    "mmseg": "EncoderDecoder CascadeEncoderDecoder",
    "mmdet": """
        ATSS AutoAssign CascadeRCNN CenterNet ConditionalDETR CornerNet
        DABDETR DDOD DETR DINO DeformableDETR FCOS FOVEA FSAF FastRCNN FasterRCNN GFL
        GridRCNN HybridTaskCascade Mask2Former MaskFormer MaskRCNN MaskScoringRCNN NASFCOS PAA
        PanopticFPN PointRend RPN RTMDet RepPointsDetector RetinaNet SOLO SOLOv2
        SingleStageDetector TOOD TridentFasterRCNN VFNet YOLOF YOLOV3 YOLOX
    """,
}
# Keys that concern weights, data, training or what follows the network, wherever they stand; not
# the number of classes: people hold weights for Cityscapes and ADE20K, whose last layers differ.
_BESIDE = frozenset({
    "align_corners", "assigner", "auxiliary_head", "cal_acc", "checkpoint", "data_preprocessor",
    "frozen_stages", "ignore_index", "init_cfg", "init_std", "norm_eval", "postprocess_cfg",
    "pretrain_img_size", "pretrained", "requires_grad", "sampler", "_scope_", "test_cfg", "topk",
    "train_cfg", "with_cp",
})  # fmt: skip


def config_names(library: str) -> list[str]:
    """The configurations listed for a library, e.g. ``resnet/resnet50_8xb32_in1k``.

    Raises:
        MissingLibraryError: The library is not installed.
    """
    library_version(library)
    return [*_listed(library)]


def read_config(library: str, name: str) -> Config | None:
    """A listed configuration with all that it inherits, or None where it is not listed."""
    return _read(_root(library) / f"{name}.py") if name in _listed(library) else None


def plain_type(part: Config) -> str:
    """The class that a part of a model names, without the library that it may come from.

    Example:
        >>> plain_type({"type": "mmpretrain.ConvNeXt", "arch": "tiny"})
        'ConvNeXt'
    """
    return str(part["type"]).rpartition(".")[2]


def digest(model: object) -> str:
    """SHA-256 of what a configuration says of its network, and of nothing else."""
    return hashlib.sha256(json.dumps(_network(model), default=str).encode()).hexdigest()


def distinct(library: str) -> list[str]:
    """One name for every network of the library's classes, its plainest.

    Raises:
        KeyError: A library without a row in the table of classes.
    """
    classes = _CLASSES[library].split()
    root = _root(library)
    first: dict[str, str] = {}
    for path in sorted(root.rglob("*.py"), key=partial(_plainness, _DATA_SETS[library])):
        model = _model(path)
        if plain_type(model) in classes:
            first.setdefault(digest(model), str(path.relative_to(root).with_suffix("")))
    return sorted(first.values())


def _plainness(data_set: str, path: Path) -> tuple[bool, bool, int, Path]:
    """Sort key: names that begin with their directory's, the design's, first; then short names."""
    is_namesake = snake_case(path.stem).startswith(snake_case(path.parent.name))
    return not is_namesake, data_set not in path.stem, len(path.name), path


def _model(path: Path) -> Config:
    """The model of a file; a model of no class if the file is a part, or cannot be read."""
    try:
        is_part = any(part.startswith("_base_") for part in path.parts)
        model: Config = {} if is_part else _read(path).get("model", {})
    except Exception as error:  # a shipped file may raise anything: a few lack a file they inherit
        sys.stderr.write(f"{path.name}: {error}\n")
        model = {}
    return {"type": "", **model}


def _network(value: object) -> object:
    if isinstance(value, Mapping):
        kept = sorted(key for key in value if not _is_beside(str(key)))
        return {key: _network(value[key]) for key in kept}
    if isinstance(value, list | tuple):
        return [_network(item) for item in value]
    return value


def _is_beside(key: str) -> bool:
    return key in _BESIDE or "loss" in key or "drop" in key


def _read(path: Path) -> Config:
    reader = import_library("mmengine.config").Config
    return cast("Config", reader.fromfile(path, import_custom_modules=False).to_dict())


def _root(library: str) -> Path:
    """Where the wheel of a library holds its configurations."""
    package = find_spec(library)
    assert package, "its version was found"
    assert package.origin, "a package of OpenMMLab has an __init__"
    return Path(package.origin).parent / ".mim" / "configs"


@cache
def _listed(library: str) -> Mapping[str, None]:
    """The names of the library's table in their order, as keys: quick to look up."""
    return dict.fromkeys(package_lines("zoo", "sources", "openmmlab", f"{library}.txt"))


if __name__ == "__main__":
    sys.stdout.writelines(f"{name}\n" for name in distinct(sys.argv[1]))
