"""Records of sources whose modules still list and resolve full specs themselves."""

from collections.abc import Callable

from nar.capture import Capture
from nar.zoo.source import Entry, Source
from nar.zoo.sources.diffusers import list_diffusers, resolve_diffusers
from nar.zoo.sources.monai import list_monai, resolve_monai
from nar.zoo.sources.pytorchcv import list_pytorchcv, resolve_pytorchcv
from nar.zoo.sources.transformers.composed import list_composed, resolve_composed
from nar.zoo.sources.transformers.names import list_transformers, resolve_transformers
from nar.zoo.sources.vit_pytorch import list_vit_pytorch, resolve_vit_pytorch
from nar.zoo.sources.x_transformers import list_x_transformers, resolve_x_transformers
from nar.zoo.spec import ArchitectureSpec


def _record(
    name: str,
    library: str,
    licence: str,
    listed: Callable[[], list[str]],
    resolve: Callable[[str], ArchitectureSpec],
    *,
    example: str,
) -> Source:
    def entry(model: str) -> Entry | None:
        spec = resolve(f"{name}:{model}")

        def capture(_name: str) -> Capture:
            return spec.capture()

        labels = spec.labels
        return Entry(
            "",
            labels.task,
            capture,
            tier=labels.tier,
            backbone=labels.backbone,
            family=labels.family,
        )

    def names() -> list[str]:
        return [spec.removeprefix(f"{name}:") for spec in listed()]

    return Source(name, library, licence, "<model>", example, names, entry)


APACHE, MIT = "Apache-2.0", "MIT"
DIFFUSERS = _record(
    "diffusers", "diffusers", APACHE, list_diffusers, resolve_diffusers, example="UVit2DModel"
)
MONAI = _record("monai", "monai", APACHE, list_monai, resolve_monai, example="AHNet/2d")
PYTORCHCV = _record(
    "pytorchcv", "pytorchcv", MIT, list_pytorchcv, resolve_pytorchcv, example="airnet50_1x64d_r2"
)
TRANSFORMERS = _record(
    "transformers",
    "transformers",
    APACHE,
    list_transformers,
    resolve_transformers,
    example="aimv2/Aimv2Model",
)
TRANSFORMERS_COMPOSED = _record(
    "transformers_composed",
    "transformers",
    APACHE,
    list_composed,
    resolve_composed,
    example="conditional_detr/bit",
)
VIT_PYTORCH = _record(
    "vit_pytorch", "vit_pytorch", MIT, list_vit_pytorch, resolve_vit_pytorch, example="cait.CaiT"
)
X_TRANSFORMERS = _record(
    "x_transformers",
    "x_transformers",
    MIT,
    list_x_transformers,
    resolve_x_transformers,
    example="decoder/depth=12",
)
