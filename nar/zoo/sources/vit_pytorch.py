"""The vision transformers of vit-pytorch, with the arguments that its documentation gives."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from torch import nn

from nar.base.workspace import package_yaml
from nar.capture import CaptureInputs
from nar.zoo.example import made
from nar.zoo.libraries import import_library, library_version
from nar.zoo.source import Entry, Source, by_forward

_IMAGE = [1, 3, 256, 256]


def _names() -> list[str]:
    """Every network of the table: ``<module>.<Class>``, some with ``/<variant>``."""
    library_version("vit_pytorch")
    return list(_nets())


def _entry(net: str) -> Entry | None:
    row = _nets().get(net)
    if row is None:
        return None
    capture = by_forward(
        partial(_built, f"vit_pytorch.{net.partition('/')[0]}", row["arguments"]),
        partial(_inputs, row.get("input", _IMAGE)),
    )
    return Entry(net.partition(".")[0], row.get("task", "image-classification"), capture)


def _built(path: str, arguments: dict[str, Any]) -> nn.Module:
    """A network of any library by its dotted path, and the networks among its arguments."""
    module, _, class_name = path.rpartition(".")
    made = {name: _argument(value) for name, value in arguments.items()}
    network: nn.Module = getattr(import_library(module), class_name)(**made)
    return network


def _argument(value: object) -> object:
    if isinstance(value, list):
        return tuple(_argument(item) for item in value)
    if isinstance(value, dict):
        return _built(value["class"], value["arguments"])
    return value


def _inputs(entry: object, _network: nn.Module) -> CaptureInputs:
    return CaptureInputs((made(entry),))


def _nets() -> Mapping[str, dict[str, Any]]:
    nets: Mapping[str, dict[str, Any]] = package_yaml("zoo", "sources", "vit_pytorch_nets.yaml")[
        "nets"
    ]
    return nets


VIT_PYTORCH = Source(
    name="vit_pytorch",
    library="vit_pytorch",
    licence="MIT",
    form="<module>.<Class>",
    example="vit.ViT",
    names=_names,
    entry=_entry,
    parts=("x_transformers", "transformers"),
)
