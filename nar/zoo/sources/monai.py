"""The networks of MONAI, for images of two and of three dimensions."""

from functools import cache, partial
from importlib.resources import files
from typing import Any

import torch
import yaml
from torch import Tensor, nn

from nar.architecture import Labels
from nar.capture import CaptureInputs
from nar.labels.families import family_of
from nar.zoo.building import Recipe, capture_recipe
from nar.zoo.libraries import import_library, library_version
from nar.zoo.spec import ArchitectureSpec, unknown_architecture

SOURCE = "monai"
SIZE = 64
Row = dict[str, Any]


def list_monai() -> list[str]:
    """Every network of the table as ``monai:<Net>[@<variant>]/<dimensions>d``."""
    library_version(SOURCE)
    return [
        f"{SOURCE}:{net}/{dims}d"
        for net, row in _nets().items()
        for dims in row.get("dims", (2, 3))
    ]


def resolve_monai(name: str) -> ArchitectureSpec:
    """The spec behind ``monai:<Net>/2d`` or ``monai:<Net>/3d``.

    Raises:
        UnknownArchitectureError: The table or this version has no such network.
    """
    if name not in list_monai():
        way_out = f"wanted {SOURCE}:<Net>/2d or /3d, as {SOURCE}:UNet/3d"
        raise unknown_architecture(name, list_monai(), way_out=way_out)
    net, _, ending = name.removeprefix(f"{SOURCE}:").partition("/")
    row, dims = _nets()[net], int(ending.removesuffix("d"))
    nets = import_library(f"monai.networks.nets{row.get('module', '')}")
    maker = getattr(nets, net.partition("@")[0], None)
    if maker is None:
        raise unknown_architecture(name, (), way_out=f"{library_version(SOURCE)} has no {net}")
    labels = Labels(
        name=name,
        source=SOURCE,
        library=library_version(SOURCE),
        family=family_of(SOURCE, maker.__module__.rpartition(".")[2]),
        task=row.get("task", "image-segmentation"),
    )
    recipe = Recipe(partial(_build, maker, row, dims), partial(_inputs, row, dims))
    return ArchitectureSpec(labels, partial(capture_recipe, name, recipe))


def _build(maker: Any, row: Row, dims: int) -> nn.Module:  # noqa: ANN401
    arguments = {name: _filled(value, dims) for name, value in row["arguments"].items()}
    network: nn.Module = maker(**arguments)
    return network


def _inputs(row: Row, dims: int, _network: nn.Module) -> CaptureInputs:
    image = torch.empty(1, row.get("channels", 1), *[row.get("size", SIZE)] * dims)
    return CaptureInputs((image, *(_tensor(entry, dims) for entry in row.get("inputs", ()))))


def _tensor(entry: list[Any] | Row, dims: int) -> Tensor:
    """A float tensor of a shape, or integer ones of ``{long: shape}``."""
    if isinstance(entry, dict):
        return torch.ones(entry["long"], dtype=torch.long)
    return torch.empty(_filled(entry, dims))


def _filled(value: Any, dims: int) -> Any:  # noqa: ANN401
    """A value of the table for so many dimensions; ``{sides: n}`` in a list adds n for each."""
    if value == "dims":
        return dims
    if isinstance(value, dict):
        return (value["sides"],) * dims
    if not isinstance(value, list):
        return value
    filled: list[Any] = []
    for item in value:
        made = _filled(item, dims)
        filled.extend(made if isinstance(item, dict) else (made,))
    return tuple(filled)


@cache
def _nets() -> dict[str, Row]:
    text = files("nar.zoo.sources").joinpath("monai_nets.yaml").read_text(encoding="utf-8")
    nets: dict[str, Row] = yaml.safe_load(text)["nets"]
    return nets
