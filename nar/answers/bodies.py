"""Bodies: what two networks have in common where they are not the same: embedding, body or head.

A trained network gets another head for another task. Its body, the larger part of it, is still a
known one. Parts are compared in their normal forms, with all attributes; a graph does not say how
wide a part is.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final, get_args

import numpy as np
from numpy.typing import NDArray

from nar.answers.roles import Role, Roles, roles
from nar.graphs.canonical import exact_fingerprint, topology_fingerprint
from nar.graphs.fingerprints import Network, sameness
from nar.graphs.graph import ComputationalGraph, cut_out
from nar.graphs.normal_form import normal_form
from nar.motifs.borders import HAS_WEIGHTS

# Chosen: a body has at least so many layers with weights, for fewer occur in unrelated networks.
MIN_LAYERS: Final = 6
# Chosen: and at least this share of all layers with weights; less says little of a network.
MIN_SHARE: Final = 0.5

ROLES: Final[tuple[Role, ...]] = get_args(Role)


@dataclass(frozen=True, slots=True)
class SharedBody:
    """A network of the same body that is not the same in any stronger way.

    Attributes:
        name: Name of the network.
        differs: Which of embedding and head differ; empty where only widths do.
    """

    name: str
    differs: tuple[Role, ...]


class Dissected:
    """A network that is compared with several others, part by part.

    Args:
        network: The network.
    """

    def __init__(self, network: Network) -> None:
        self.network = network
        self._digests: dict[Role, str] = {}

    @cached_property
    def form(self) -> ComputationalGraph:
        """The normal form."""
        return normal_form(self.network.graph)

    @cached_property
    def roles(self) -> Roles:
        """The roles of the nodes of the normal form."""
        return roles(self.form)

    @cached_property
    def census(self) -> NDArray[np.int64]:
        """How often the body has each operator. Shape (largest operator id + 1,)."""
        return np.bincount(self.form.op_ids[self.roles.body])

    def may_share(self, other: "Dissected") -> bool:
        """Whether another network may have the same body, by counts of operators.

        The cheaper count comes first: the normal form has no operator that the written graph lacks.
        """
        if self.network.topology == other.network.topology:
            return False
        written = np.bincount(other.network.graph.op_ids, minlength=len(self.census))
        is_larger = bool((written[: len(self.census)] >= self.census).all())
        return is_larger and np.array_equal(self.census, other.census)

    @cached_property
    def has_body(self) -> bool:
        """Whether the body is large enough to say something of the network."""
        weighted = HAS_WEIGHTS[self.form.op_ids]
        layers = int((weighted & self.roles.body).sum())
        return layers >= max(MIN_LAYERS, MIN_SHARE * int(weighted.sum()))

    def digest(self, role: Role) -> str:
        """Sha256 (hex) of one part: operators, wiring, attributes. Empty if it has no nodes."""
        if role not in self._digests:
            kept: NDArray[np.bool_] = getattr(self.roles, role)
            self._digests[role] = exact_fingerprint(cut_out(self.form, kept)) if kept.any() else ""
        return self._digests[role]


def differing(first: Dissected, second: Dissected) -> tuple[Role, ...] | None:
    """Which parts of two networks differ at inference; empty where only widths do.

    Returns:
        None where `nar.graphs.fingerprints.sameness` says more, or where a network has too small a
        body.
    """
    is_same = sameness(first.network, second.network) is not None
    if is_same or not (first.has_body and second.has_body):
        return None
    return tuple(role for role in ROLES if first.digest(role) != second.digest(role))


def same_but_for_widths(first: ComputationalGraph, second: ComputationalGraph) -> bool:
    """Whether two networks have one design at inference, where norms are folded into layers.

    So a model that was trained for other classes and then exported is the design that it was.
    """
    forms = normal_form(first), normal_form(second)
    return topology_fingerprint(forms[0]) == topology_fingerprint(forms[1])


def shared_bodies(network: Network, known: Mapping[str, Network]) -> tuple[SharedBody, ...]:
    """Networks of the same body, fewest differing ends first.

    Args:
        network: The query.
        known: Networks by name; equals keep their order.
    """
    own = Dissected(network)
    shared = list(_shared(own, known)) if own.has_body else []
    return tuple(sorted(shared, key=lambda each: len(each.differs)))


def _shared(own: Dissected, known: Mapping[str, Network]) -> Iterable[SharedBody]:
    # Libraries repeat each other: copies of one network are compared once.
    compared: dict[str, tuple[Role, ...] | None] = {}
    for name, network in known.items():
        if network.exact not in compared:
            compared[network.exact] = _with_own_body(own, Dissected(network))
        differs = compared[network.exact]
        if differs is not None:
            yield SharedBody(name, differs)


def _with_own_body(own: Dissected, other: Dissected) -> tuple[Role, ...] | None:
    """Which ends of another network differ, if it has the same body."""
    differs = differing(own, other) if own.may_share(other) else None
    return None if differs is None or "body" in differs else differs
