"""Architecture: a captured graph with its name and labels, the row of every corpus and index."""

from dataclasses import dataclass, field, replace
from typing import Final, Literal

from nar.graphs.details import Details
from nar.graphs.fingerprints import Fingerprinted, fingerprinted
from nar.graphs.graph import ComputationalGraph
from nar.graphs.ops import Trait, mask_of
from nar.graphs.weights import Weights

_ATTENDS: Final = mask_of(Trait.ATTENDS)
_CONVOLVES: Final = mask_of(Trait.CONVOLVES)

Tier = Literal["named", "composed", "swept"]

# Family and task of a model whose family or task is not known.
UNKNOWN: Final = "unknown"


@dataclass(frozen=True, slots=True)
class Labels:
    """Name and labels of an architecture, all from the code that defines the model.

    Attributes:
        name: The spec that builds the model, unique: ``timm:resnet50``.
        source: The registry of the model: ``timm``, ``torchvision``, ``transformers``, ``darts``,
            ``file``.
        library: The distribution and version that was read: ``timm 1.0.31``.
        family: Fine class: the defining module or model type, one name across libraries
            (`nar.labels.families`), e.g. ``resnet``. For a composed model, the family of its
            decoder or head. `UNKNOWN` if it is not known.
        task: The task of the model, e.g. ``image-classification``.
        tier: ``named`` where a library registers exactly this model, ``composed`` where a public
            interface combines it from parts that people do combine, ``swept`` for a grid of
            settings.
        backbone: Family of the encoder that a composed model stands on, else empty.
        own: Labels of the user's own, by any key, as `nar.base.own_labels` writes them; else empty.
    """

    name: str
    source: str
    library: str
    family: str
    task: str
    tier: Tier = "named"
    backbone: str = ""
    own: str = ""

    @property
    def kin(self) -> str:
        """Equal for related models: the family; in a composed model, with the encoder's family.

        A U-Net on a ResNet is kin to U-Nets on other ResNets. A U-Net on a ViT shares its decoder
        with them, and little else.
        """
        return f"{self.family}/{self.backbone}" if self.backbone else self.family

    @property
    def trunk(self) -> str:
        """The family of the largest part: of a composed model's encoder, or of the model itself."""
        return self.backbone or self.family


@dataclass(frozen=True, slots=True)
class Architecture:
    """A named, labelled graph in canonical order.

    Attributes:
        labels: Name and labels.
        block: Coarse class: ``attention``, ``cnn`` or ``other``.
        graph: Canonical graph.
        topology: Topology fingerprint, sha256 hex.
        exact: Exact fingerprint, sha256 hex.
        inference: Inference fingerprint, sha256 hex.
        weights: Names and shapes of its weights; None where nobody recorded them.
        details: What capture saw beside the graph; None where nobody recorded it.
    """

    labels: Labels
    block: str
    graph: ComputationalGraph
    topology: str
    exact: str
    inference: str
    weights: Weights | None = field(default=None, compare=False, repr=False)
    details: Details | None = field(default=None, compare=False, repr=False)

    @property
    def parameters(self) -> int:
        """Number of learned scalars; tied weights count once."""
        return self.graph.parameters

    @property
    def flops(self) -> int:
        """Floating-point operations of the captured forward pass."""
        return self.graph.flops

    @property
    def nodes(self) -> int:
        """Number of operators."""
        return self.graph.nodes


def architecture(
    labels: Labels,
    network: Fingerprinted | ComputationalGraph,
    weights: Weights | None = None,
    details: Details | None = None,
) -> Architecture:
    """Complete the record of a captured model.

    Args:
        labels: Name and labels.
        network: A graph with its fingerprints, or a valid graph in any numbering.
        weights: Names and shapes of its weights.
        details: What capture saw beside the graph.
    """
    if isinstance(network, ComputationalGraph):
        network = fingerprinted(network)
    block = coarse_block(network.graph)
    return Architecture(
        labels,
        block,
        network.graph,
        network.topology,
        network.exact,
        network.inference,
        weights,
        details,
    )


# The libraries that names are mostly taken from, and that others write anew.
_FIRST: Final = ("timm", "torchvision", "transformers")


def place_of_name(name: str) -> tuple[int, str]:
    """Where a name stands among names of one network: those that people know come first.

    Example:
        >>> sorted(["esm:b", "timm:resnet50", "esm:a"], key=place_of_name)
        ['timm:resnet50', 'esm:a', 'esm:b']
    """
    source = name.partition(":")[0]
    return (_FIRST.index(source) if source in _FIRST else len(_FIRST)), name


def called(
    item: Architecture,
    name: str,
    *,
    family: str | None = None,
    task: str | None = None,
    own: str = "",
) -> Architecture:
    """The same network under another name, and with other labels where they are given."""
    labels = item.labels
    family, task, own = family or labels.family, task or labels.task, own or labels.own
    return replace(item, labels=replace(labels, name=name, family=family, task=task, own=own))


def coarse_block(graph: ComputationalGraph) -> str:
    """The block a design is built from: attention if it attends, else cnn if it convolves."""
    if _ATTENDS[graph.op_ids].any():
        return "attention"
    return "cnn" if _CONVOLVES[graph.op_ids].any() else "other"
