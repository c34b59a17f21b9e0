"""The sources whose tables say everything: see `nar.zoo.sources.tables` for the columns."""

import sys
from types import ModuleType

from nar.zoo.libraries import import_library
from nar.zoo.sources.tables import Row, Rows, TableReading, table_source, with_defaults


def _load_speechbrain(name: str) -> ModuleType:
    """A module of speechbrain, without the modules that redirect from an old path to a new one.

    Code that looks through all loaded modules, as hypothesis does, would import their targets and
    fail.
    """
    module = import_library(name)
    redirect = import_library("speechbrain.utils.importutils").LazyModule
    for loaded_name, loaded in list(sys.modules.items()):
        if loaded_name.startswith("speechbrain.") and issubclass(type(loaded), redirect):
            del sys.modules[loaded_name]
    return module


def _sized(table: Row) -> Rows:
    """A row for each size of a family: its side, or height and width, is that of an image."""
    for name, row in table["nets"].items():
        for size, sides in row["sizes"].items():
            extents = sides if isinstance(sides, list) else [sides, sides]
            arguments = {**row.get("arguments", {}), "size": size}
            sized = {**row, "arguments": arguments, "inputs": [[1, 3, *extents]]}
            yield f"{name}{'_' if '/' in name else '/'}{size}", with_defaults(table, sized)


# They take a mixture of sounds apart.
ASTEROID = table_source("asteroid", licence="MIT", example="ConvTasNet/wham")
# For recordings of the brain (EEG) and of muscles (EMG).
BRAINDECODE = table_source(
    "braindecode",
    licence="BSD-3-Clause",
    form="<Network>",
    example="EEGNet",
    parts=("torchaudio",),
)
# They take music apart into its instruments.
DEMUCS = table_source("demucs", licence="MIT", example="HTDemucs/htdemucs")
# What nnU-Net builds: plain and residual U-Nets, and transformers of volumes.
DYNAMIC_NETWORK_ARCHITECTURES = table_source(
    "dynamic_network_architectures", licence="Apache-2.0", example="PlainConvUNet/brain_tumour"
)
# The language models of proteins that Meta published.
ESM = table_source("esm", distribution="fair-esm", licence="MIT", example="ESM2/t6_8M")
# Descriptors of patches, detectors and transformers.
KORNIA = table_source("kornia", licence="Apache-2.0", example="VisionTransformer/b_16")
# Detectors from YOLOv1 on, and what else is found in images, under a permissive licence.
LIBREYOLO = table_source(
    "libreyolo",
    licence="MIT",
    form="<Family>/[<task>_]<size>",
    example="YOLO9/s",
    reading=TableReading(rows=_sized),
)
# Which of many labels does a text have?
LIBMULTILABEL = table_source("libmultilabel", licence="MIT", example="KimCNN/rcv1")
# For medical images of two and of three dimensions.
MONAI = table_source(
    "monai", licence="Apache-2.0", form="<Net>[@<variant>]/2d or /3d", example="UNet/3d"
)
# They solve differential equations.
NEURALOP = table_source(
    "neuralop", licence="MIT", example="FNO/small2d", distribution="neuraloperator"
)
# What happens in a video?
PYTORCHVIDEO = table_source("pytorchvideo", licence="Apache-2.0", example="SlowFast/r50_8x8")
# The networks that read tables of Gorishniy et al., arXiv:2106.11959.
RTDL_REVISITING_MODELS = table_source(
    "rtdl_revisiting_models", licence="Apache-2.0", example="FTTransformer/california"
)
# They restore and enlarge images, in the sizes that were published.
SPANDREL = table_source("spandrel", licence="MIT", example="SwinIR/classical_x2")
# For speech and speakers, at the sizes of the library's recipes.
SPEECHBRAIN = table_source(
    "speechbrain",
    licence="Apache-2.0",
    form="<Network>[@<variant>]",
    example="ECAPA_TDNN",
    parts=("torchaudio",),
    reading=TableReading(load=_load_speechbrain),
    capture_version=3,  # the share of each sample that is sound is no data; arguments of its own
)
# Parsers: recurrent layers below scores of all pairs of words.
SUPAR = table_source("supar", licence="MIT", example="BiaffineDependencyModel")
# Recognition, separation, synthesis and quality of speech.
TORCHAUDIO = table_source(
    "torchaudio", licence="BSD-2-Clause", form="<model>", example="conv_tasnet_base"
)
# Generators and discriminators.
TORCHGAN = table_source("torchgan", licence="MIT", example="DCGAN/generator_x64")
