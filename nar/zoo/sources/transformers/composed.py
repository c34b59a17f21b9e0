"""Models that transformers' own combination classes make from its parts, from a reviewed table.

``transformers_composed:vision_encoder_decoder/vit-base-patch16-224+gpt2`` is an encoder with a
decoder, ``transformers_composed:detr/swin-tiny-patch4-window7-224`` a head on a backbone.
"""

from collections.abc import Iterator, Mapping
from functools import cache, partial
from itertools import product
from typing import Any

from nar.base.files import package_yaml
from nar.zoo.libraries import import_library
from nar.zoo.source import Entry, Source
from nar.zoo.sources.transformers.composed_capture import capture_composed
from nar.zoo.sources.transformers.composed_configs import (
    JOINT,
    LIBRARY,
    Composition,
    family_of_part,
)
from nar.zoo.sources.transformers.tasks import task_of_pairs


@cache
def compositions() -> dict[str, Composition]:
    """Every combination of the table, by name, in its order."""
    table = package_yaml("zoo", "sources", "transformers", "tables/composed.yaml")
    combined = [composition for row in table["kinds"] for composition in _combined(row)]
    return {composition.name: composition for composition in combined}


def _combined(row: Mapping[str, Any]) -> Iterator[Composition]:
    lists = [_flat(row[side]) for side in ("encoders", "decoders") if side in row]
    for chosen in product(*lists):
        yield Composition(row["kind"], row["type"], row["class"], row["assemble"], chosen)


def _flat(names: Any) -> list[str]:  # noqa: ANN401
    """Lists inside a list come from anchors of the table."""
    if isinstance(names, str):
        return [names]
    return [name for part in names for name in _flat(part)]


def _names() -> list[str]:
    """Every combination of the table.

    Raises:
        MissingLibraryError: transformers is not installed.
    """
    import_library(LIBRARY)
    return list(compositions())


def _entry(model: str) -> Entry | None:
    composition = compositions().get(model)
    if composition is None:
        return None
    return Entry(
        composition.kind,
        task_of_pairs()[composition.model_type, composition.class_name],
        partial(capture_composed, composition=composition),
        tier="composed",
        backbone=family_of_part(composition.parts[0]),
    )


TRANSFORMERS_COMPOSED = Source(
    name="transformers_composed",
    library=LIBRARY,
    licence="Apache-2.0",
    form=f"<kind>/<encoder>[{JOINT}<decoder>]",
    example="detr/resnet-50",
    names=_names,
    entry=_entry,
    parts=("timm",),
)
