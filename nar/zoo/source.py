"""A source of architectures as a record: which library it reads, which names it has.

Behind each name stands an entry that says how the model is built and captured.

A new source of NAR's is one module of `nar.zoo.sources` with one record, one row in its `__init__`,
and one extra in `pyproject.toml`, which bears the import name of the library; where a table says
everything, one row of `nar.zoo.sources.tabled` is enough. Any other package registers a source of
its own without a change here: see `nar.zoo.sources`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from torch import nn

from nar.capture import Capture, CaptureInputs
from nar.graphs.architecture import Labels, Tier
from nar.labels.families import family_of
from nar.zoo.building import Built, Plan, capture_plan, on_meta
from nar.zoo.libraries import library_version
from nar.zoo.spec import ArchitectureSpec, unknown_architecture

# From the name of a model, which errors give, to its graph.
CaptureNamed = Callable[[str], Capture]


@dataclass(frozen=True, slots=True)
class Entry:
    """One model of a source, not built yet.

    Attributes:
        defining: What the library's code calls it: its module, model type, class or decoder.
            `family_of` says which family that is.
        task: What it is for, e.g. ``image-classification``.
        capture: Builds the model and captures its graph: see `by_forward`.
        entrypoint: The name it is registered under, where one module holds several families.
        tier: See `Labels`.
        backbone: Family of the encoder that a composed model stands on, else empty.
        family: The family itself, where no library's code says it; else empty.
    """

    defining: str
    task: str
    capture: CaptureNamed
    entrypoint: str = ""
    tier: Tier = "named"
    backbone: str = ""
    family: str = ""


@dataclass(frozen=True, slots=True)
class Source:
    """Where models come from.

    Attributes:
        name: What stands before the colon of its specs.
        library: Import name of the library whose code defines the models, and name of the extra
            that installs it. Empty where NAR itself draws them.
        licence: SPDX identifier of that code.
        form: How names read after the colon, e.g. ``<decoder>/<encoder>``.
        example: One of the names, e.g. ``unet/resnet34``.
        names: All names after the colon, in a fixed order; builds no model. Raises
            `MissingLibraryError`.
        entry: The model of a name, or None if there is none. May raise `UnknownArchitectureError`
            itself where it can say what is wrong with a name.
        distribution: Name of the package that installs the library, where that is another name.
        citation: Where the models were published, in place of a library's version.
        parts: Import names of further libraries that its models are built from: their versions
            decide what is captured, too.
        capture_version: Raise it with every change to the graphs or labels that the module or its
            tables give, so that its models are captured anew.
    """

    name: str
    library: str
    licence: str
    form: str
    example: str
    names: Callable[[], Sequence[str]]
    entry: Callable[[str], Entry | None]
    distribution: str = ""
    citation: str = ""
    parts: tuple[str, ...] = ()
    capture_version: int = 1

    def specs(self) -> list[str]:
        """Every name with the source before it."""
        return [f"{self.name}:{model}" for model in self.names()]

    def resolve(self, spec: str) -> ArchitectureSpec:
        """The labelled model behind ``<source>:<name>``, not built yet.

        Raises:
            UnknownArchitectureError: The source has no such model; the nearest names are given.
            MissingLibraryError: The library is not installed.
        """
        model = spec.removeprefix(f"{self.name}:")
        entry = self.entry(model)
        if entry is None:
            way_out = f"wanted {self.name}:{self.form}, as {self.name}:{self.example}"
            raise unknown_architecture(spec, self.specs(), way_out=way_out)
        labels = Labels(
            name=spec,
            source=self.name,
            library=self.citation or library_version(self.library, self.distribution),
            family=entry.family or family_of(self.library, entry.defining, entry.entrypoint),
            task=entry.task,
            tier=entry.tier,
            backbone=entry.backbone,
        )
        return ArchitectureSpec(labels, partial(entry.capture, spec))


def by_forward(
    build: Callable[[], nn.Module],
    inputs: Callable[[nn.Module], CaptureInputs],
    *,
    follow: Callable[[Plan], Built] = on_meta,
) -> CaptureNamed:
    """Capture by one forward pass of what `build` makes.

    Args:
        build: Makes the module, on the default device.
        inputs: Makes one call of that module, on the default device too.
        follow: Follows both on some device; by default no weight takes memory.
    """
    plan = Plan(build, inputs)

    def capture(name: str) -> Capture:
        return capture_plan(name, plan, follow=follow)

    return capture
