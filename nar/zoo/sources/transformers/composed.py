"""Models that transformers' own combination classes make from its parts, from a reviewed table.

``transformers_composed:vision_encoder_decoder/vit-base-patch16-224+gpt2`` is an encoder with a
decoder, ``transformers_composed:detr/swin-tiny-patch4-window7-224`` a head on a backbone.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from importlib.resources import files
from itertools import product
from typing import Any

import yaml

from nar.architecture import Labels
from nar.labels.families import family_of
from nar.zoo.libraries import import_library, library_version
from nar.zoo.sources.transformers.composed_capture import capture_composed
from nar.zoo.sources.transformers.composed_configs import LIBRARY, family_of_part
from nar.zoo.sources.transformers.tasks import task_of_pairs
from nar.zoo.spec import ArchitectureSpec, unknown_architecture

SOURCE = "transformers_composed"
JOINT = "+"


@dataclass(frozen=True, slots=True)
class Composition:
    """One combination class with one choice of parts.

    Attributes:
        kind: Which combination, and the family of the result.
        model_type: Type of its configuration.
        class_name: Its model class.
        assemble: How its configuration comes from those of its parts.
        parts: Names of its parts, encoder first.
    """

    kind: str
    model_type: str
    class_name: str
    assemble: str
    parts: tuple[str, ...]

    @property
    def name(self) -> str:
        """The spec that builds it."""
        return f"{SOURCE}:{self.kind}/{JOINT.join(self.parts)}"


@cache
def compositions() -> dict[str, Composition]:
    """Every combination of the table, by name, in its order."""
    text = (
        files("nar.zoo.sources.transformers").joinpath("composed.yaml").read_text(encoding="utf-8")
    )
    found = [made for row in yaml.safe_load(text)["kinds"] for made in _combined(row)]
    return {composition.name: composition for composition in found}


def _combined(row: Mapping[str, Any]) -> Iterator[Composition]:
    lists = [_flat(row[side]) for side in ("encoders", "decoders") if side in row]
    for chosen in product(*lists):
        yield Composition(row["kind"], row["type"], row["class"], row["assemble"], chosen)


def _flat(names: Any) -> list[str]:  # noqa: ANN401
    """Lists inside a list come from anchors of the table."""
    if isinstance(names, str):
        return [names]
    return [name for part in names for name in _flat(part)]


def list_composed() -> list[str]:
    """Every combination, as ``transformers_composed:<kind>/<encoder>[+<decoder>]``.

    Raises:
        MissingLibraryError: transformers is not installed.
    """
    import_library(LIBRARY)
    return list(compositions())


def resolve_composed(name: str) -> ArchitectureSpec:
    """The spec behind ``transformers_composed:<kind>/<encoder>[+<decoder>]``.

    Raises:
        UnknownArchitectureError: The table has no such combination.
    """
    made = compositions().get(name)
    if made is None:
        way_out = f"wanted {SOURCE}:<kind>/<encoder>{JOINT}<decoder> of composed.yaml"
        raise unknown_architecture(name, list_composed(), way_out=way_out)
    labels = Labels(
        name=name,
        source=SOURCE,
        library=library_version(LIBRARY),
        family=family_of(LIBRARY, made.kind),
        task=task_of_pairs()[made.model_type, made.class_name],
        tier="composed",
        backbone=family_of_part(made.parts[0]),
    )
    capture = partial(
        capture_composed, name, made.class_name, made.assemble, made.model_type, made.parts
    )
    return ArchitectureSpec(labels, capture)
