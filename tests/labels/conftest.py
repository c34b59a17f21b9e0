"""What the installed libraries really call their models, read from their files if they can be."""

import re
from importlib import util
from pathlib import Path

import pytest

from nar.labels.families import snake_case
from nar.zoo.libraries import import_library
from nar.zoo.sources import list_specs

# Where each library keeps its models: one file or folder is one defining name.
MODELS_BELOW = {
    "timm": "models/*.py",
    "torchvision": "models/**/*.py",
    "pytorchcv": "models/*.py",
    "monai": "networks/nets/*.py",
    "vit_pytorch": "*.py",
    "torchsr": "models/*.py",
    "effdet": "*.py",
    "diffusers": "**/*.py",
}
# Library -> source whose names begin with what the library calls the network, up to "@" or "/".
NAMED_BY_NETWORK = {
    "asteroid": "asteroid",
    "braindecode": "braindecode",
    "deepctr_torch": "deepctr_torch",
    "demucs": "demucs",
    "dynamic_network_architectures": "dynamic_network_architectures",
    "esm": "esm",
    "kornia": "kornia",
    "libmultilabel": "libmultilabel",
    "libreyolo": "libreyolo",
    "neuralforecast": "neuralforecast",
    "neuralop": "neuralop",
    "pypots": "pypots",
    "pythae": "pythae",
    "pytorchvideo": "pytorchvideo",
    "rtdl_revisiting_models": "rtdl_revisiting_models",
    "spandrel": "spandrel",
    "speechbrain": "speechbrain",
    "stable_baselines3": "stable_baselines3",
    "stanza": "stanza",
    "supar": "supar",
    "torch_geometric": "pyg",
    "torch_rechub": "torch_rechub",
    "torchaudio": "torchaudio",
    "torchgan": "torchgan",
}
SMP = "segmentation_models_pytorch"

OPENMMLAB = ("mmpretrain", "mmseg", "mmdet", "mmpose", "mmocr")
# Not everywhere, as no resolver can put them beside the rest: their rows are read where they are.
ELSEWHERE = ("libreyolo", "mmaction", "mmocr", "mmpose")


@pytest.fixture(scope="session")
def defining_names():
    """Library -> the names that a family may be given to, for the libraries that are installed."""
    names = {library: stems(library, below) for library, below in MODELS_BELOW.items()}
    names[SMP] = stems(SMP, "encoders/*.py") | classes(SMP, "decoders/*/model.py")
    for library in filter(is_here, OPENMMLAB):
        names[library] = classes(library, "models/**/*.py")
    if is_here("mmpose"):  # whose configurations name backbones of mmpretrain, too
        names["mmpose"] |= names["mmpretrain"]
    if is_here("mmaction"):
        names["mmaction"] = {snake_case(spec.split("/")[1]) for spec in list_specs("mmaction")}
    names |= {
        library: networks(library, source)
        for library, source in NAMED_BY_NETWORK.items()
        if is_here(library)
    }
    types = import_library("transformers.models.auto.configuration_auto").CONFIG_MAPPING_NAMES
    names["transformers"] = set(map(snake_case, types))
    names["papers"] = {re.split("[:/]", spec)[1] for spec in list_specs("papers")}
    return names


def is_here(library):
    return library not in ELSEWHERE or util.find_spec(library) is not None


def networks(library, source):
    root_of(library)
    return {snake_case(re.split("[:@/]", spec)[1]) for spec in list_specs(source)}


def root_of(library):
    spec = util.find_spec(library)
    if spec is None:
        pytest.skip(f"{library} is not installed")
    return Path(spec.origin).parent


def stems(library, below):
    return {snake_case(path.stem) for path in root_of(library).glob(below)}


def classes(library, below):
    return {
        snake_case(name)
        for path in root_of(library).glob(below)
        for name in re.findall(r"^class (\w+)\(", path.read_text(), flags=re.MULTILINE)
    }
