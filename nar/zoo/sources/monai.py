"""The networks of MONAI, for images of two and of three dimensions."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from torch import nn

from nar.base.files import package_yaml
from nar.capture import CaptureInputs
from nar.zoo.example import Known, made, shape_of
from nar.zoo.libraries import import_library, library_version
from nar.zoo.source import Entry, Source, by_forward

SIZE = 64
Row = Mapping[str, Any]


def _names() -> list[str]:
    """Every network of the table as ``<Net>[@<variant>]/<dimensions>d``."""
    library_version("monai")
    return [f"{net}/{dims}d" for net, row in _nets().items() for dims in row.get("dims", (2, 3))]


def _entry(model: str) -> Entry | None:
    if model not in _names():
        return None
    net, _, ending = model.partition("/")
    row = _nets()[net]
    nets = import_library(f"monai.networks.nets{row.get('module', '')}")
    maker = getattr(nets, net.partition("@")[0], None)
    if maker is None:
        return None
    known = {"dims": int(ending.removesuffix("d"))}.get
    capture = by_forward(
        partial(_build, maker, row["arguments"], known), partial(_inputs, row, known)
    )
    module = maker.__module__.rpartition(".")[2]
    return Entry(module, row.get("task", "image-segmentation"), capture)


def _build(maker: Any, arguments: Row, known: Known) -> nn.Module:  # noqa: ANN401
    network: nn.Module = maker(
        **{name: _argument(value, known) for name, value in arguments.items()}
    )
    return network


def _argument(value: Any, known: Known) -> object:  # noqa: ANN401
    """Lists are read as shapes are; the number of axes is the one name among the arguments."""
    if isinstance(value, dict):
        value = [value]
    if isinstance(value, list):
        return shape_of(value, known)
    return known(value) or value if isinstance(value, str) else value


def _inputs(row: Row, known: Known, _network: nn.Module) -> CaptureInputs:
    image = [1, row.get("channels", 1), {"sides": row.get("size", SIZE)}]
    return CaptureInputs(tuple(made(entry, known) for entry in (image, *row.get("inputs", ()))))


def _nets() -> Mapping[str, Row]:
    nets: Mapping[str, Row] = package_yaml("zoo", "sources", "monai_nets.yaml")["nets"]
    return nets


MONAI = Source(
    name="monai",
    library="monai",
    licence="Apache-2.0",
    form="<Net>[@<variant>]/2d or /3d",
    example="UNet/3d",
    names=_names,
    entry=_entry,
)
