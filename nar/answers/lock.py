"""A lock: fingerprints and motifs of some models, in a file that a review can read.

`nar lock` writes one, `nar check` compares models with it.
"""

import zlib
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError

from nar.answers.change_kinds import ChangeKind
from nar.answers.comparison import edits_between
from nar.answers.difference import (
    MotifCounts,
    MotifDifference,
    MotifTimes,
    compare_motifs,
    motif_times,
)
from nar.answers.edits import Edits
from nar.base.errors import InvalidInputError
from nar.base.files import write_text
from nar.capture import CAPTURE_VERSION
from nar.graphs.architecture import Architecture
from nar.graphs.canonical import Adjacency
from nar.graphs.fingerprints import DesignChange, design_change, sameness
from nar.graphs.graph import ComputationalGraph
from nar.graphs.normal_form import NORMAL_FORM_VERSION
from nar.graphs.ops import ATTRIBUTES
from nar.motifs.partition import partition

_RATIO: Final = ATTRIBUTES.index("channel_ratio")
# Chosen: of the nine levels of zlib; a lock is written once and read often.
_LEVEL: Final = 9
_OF_DESIGN: Final[Mapping[DesignChange, ChangeKind]] = {
    "sharing": ChangeKind.WEIGHTS,
    "weights": ChangeKind.WEIGHTS,
    "widths": ChangeKind.WIDTH,
    "settings": ChangeKind.ATTRIBUTES,
}
_VERSION: Final = f"{CAPTURE_VERSION}.{NORMAL_FORM_VERSION}"


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class LockedMotif(_Record):
    """A motif type of a locked model; its operators stand in one line, as a diff shows them."""

    operators: str
    times: int
    code: str


class Locked(_Record):
    """What is locked of one model.

    Attributes:
        parameters: Learned scalars.
        nodes: Operators.
        exact: Exact fingerprint, sha256 hex.
        topology: Topology fingerprint, sha256 hex.
        inference: Inference fingerprint, sha256 hex.
        settings: Exact fingerprint without widths: without ratios of channels and parameters.
        motifs: Motif types by first occurrence.
        inputs: The inputs that were stated, each as ``--input`` takes it; none where nobody stated
            any.
        graph: The graph, packed, so that a change can be said in words; empty in locks of before.
    """

    parameters: int
    nodes: int
    exact: str
    topology: str
    inference: str
    settings: str
    motifs: tuple[LockedMotif, ...]
    inputs: tuple[str, ...] = ()
    graph: str = ""


class Lock(_Record):
    """The content of a lock file.

    Attributes:
        version: Version of capture and of the normal form; a lock of another version is refused.
        models: The locked models, by name.
    """

    version: str
    models: dict[str, Locked]


@dataclass(frozen=True, slots=True)
class LockedChange:
    """How a model differs from what is locked of it.

    Attributes:
        kind: Kind of the change.
        before: The model as it is locked.
        now: The model as it is.
        motifs: Motifs of both, the locked ones first.
    """

    kind: ChangeKind
    before: Locked
    now: Locked
    motifs: MotifDifference

    @property
    def changed_motifs(self) -> tuple[MotifCounts, ...]:
        """The motif types that occur more or less often than before."""
        both = (*self.motifs.shared, *self.motifs.other)
        return tuple(motif for motif in both if motif.first != motif.second)


def locked(item: Architecture, inputs: tuple[str, ...] = ()) -> Locked:
    """What a lock says of an architecture.

    Args:
        item: The architecture.
        inputs: The inputs that were stated to capture it.
    """
    motifs = tuple(
        LockedMotif(operators=" ".join(each.operators), times=each.times, code=each.code)
        for each in motif_times(partition(item.graph))
    )
    return Locked(
        parameters=item.parameters,
        nodes=item.nodes,
        exact=item.exact,
        topology=item.topology,
        inference=item.inference,
        settings=_settings(item.graph),
        motifs=motifs,
        inputs=inputs,
        graph=_packed(item.graph),
    )


def _packed(graph: ComputationalGraph) -> str:
    """A graph as a text of some two kilobytes for 500 operators."""
    sizes = np.array([graph.nodes, graph.edges, graph.parameters, graph.flops], "<i8")
    # Columns, and how far back an operand stands, repeat where blocks do.
    source, target = graph.edge_index.astype("<i4")
    parts = (sizes, graph.op_ids.astype("<u2"), graph.attributes.T.astype("<i2"), target - source)
    readings = np.bincount(target, minlength=graph.nodes).astype("<i4")
    content = b"".join(part.tobytes() for part in (*parts, readings))
    return b64encode(zlib.compress(content, _LEVEL)).decode()


def _unpacked(text: str) -> ComputationalGraph:
    content = zlib.decompress(b64decode(text))
    nodes, edges, parameters, flops = np.frombuffer(content, "<i8", 4).tolist()
    widths = (("<u2", nodes), ("<i2", nodes * len(ATTRIBUTES)), ("<i4", edges), ("<i4", nodes))
    parts, place = [], 4 * 8
    for kind, count in widths:
        parts.append(np.frombuffer(content, kind, count, place))
        place += parts[-1].nbytes
    op_ids, attributes, back, readings = parts
    target = np.repeat(np.arange(nodes, dtype=np.int32), readings)
    return ComputationalGraph(
        op_ids.astype(np.uint16),
        np.ascontiguousarray(attributes.reshape(len(ATTRIBUTES), nodes).T).astype(np.int16),
        np.stack([target - back, target]).astype(np.int32),
        parameters,
        flops,
    )


def _settings(graph: ComputationalGraph) -> str:
    attributes = graph.attributes.copy()
    attributes[:, _RATIO] = 0
    return Adjacency(replace(graph, attributes=attributes)).coded().exact(0)


def write_lock(path: Path, models: Mapping[str, Locked]) -> None:
    """Write a lock, sorted by name: the same models give the same bytes.

    Raises:
        InvalidInputError: The file cannot be written.
    """
    lock = Lock(version=_VERSION, models=dict(sorted(models.items())))
    # A model without stated inputs has no line for inputs, as in earlier locks.
    text = lock.model_dump_json(indent=2, exclude_defaults=True) + "\n"
    write_text(path, text)


def read_lock(path: Path) -> Lock:
    """Read a lock of this version, whose fingerprints can be compared with new ones.

    Raises:
        InvalidInputError: The file is missing, no lock, or written by another version of NAR.
    """
    lock = _read(path)
    if lock.version != _VERSION:
        raise InvalidInputError(
            str(path),
            f"wanted a lock of version {_VERSION}, came {lock.version}, whose fingerprints are of "
            "another version of NAR; `nar lock` without names writes it anew",
        )
    return lock


def locked_inputs(path: Path) -> dict[str, tuple[str, ...]]:
    """Names of the models in a lock of any version, each with the inputs that were stated.

    Raises:
        InvalidInputError: The file is missing or no lock.
    """
    return {name: each.inputs for name, each in _read(path).models.items()}


def locked_of(lock: Lock, name: str, path: Path) -> Locked:
    """What a lock says of a model.

    Args:
        lock: The content of the file.
        name: Name of the model.
        path: Path of the lock, for the error.

    Raises:
        InvalidInputError: The lock has no such model.
    """
    if name not in lock.models:
        known = ", ".join(lock.models) or "nothing"
        raise InvalidInputError(
            name, f"{path} locks {known}; `nar lock` writes it with other names"
        )
    return lock.models[name]


def _read(path: Path) -> Lock:
    try:
        return Lock.model_validate_json(path.read_bytes())
    except OSError as error:
        hint = "`nar lock NAME` writes one"
        raise InvalidInputError(str(path), f"cannot be read ({error.strerror}); {hint}") from error
    except ValidationError as error:
        fault = error.errors()[0]
        field = ".".join(map(str, fault["loc"]))
        raise InvalidInputError(str(path), f"no lock: {field} {fault['msg']}") from error


def change(before: Locked, now: Locked) -> LockedChange | None:
    """What changed since a model was locked; None if it is the same network."""
    if before.exact == now.exact:
        return None
    graphs = _graphs(before, now)
    edits = edits_between(*graphs) if graphs else Edits()
    motifs = compare_motifs(_times(before.motifs), _times(now.motifs), edits=edits)
    return LockedChange(_kind(before, now, motifs, graphs), before, now, motifs)


def _graphs(before: Locked, now: Locked) -> tuple[ComputationalGraph, ComputationalGraph] | None:
    """The graphs of both; None where a lock of before has none.

    Raises:
        InvalidInputError: A graph is damaged.
    """
    if not (before.graph and now.graph):
        return None
    try:
        return _unpacked(before.graph), _unpacked(now.graph)
    except (ValueError, zlib.error) as error:
        hint = "`nar lock` writes it anew"
        raise InvalidInputError("graph", f"cannot be read ({error}); {hint}") from error


def _kind(
    before: Locked,
    now: Locked,
    motifs: MotifDifference,
    graphs: tuple[ComputationalGraph, ComputationalGraph] | None,
) -> ChangeKind:
    match sameness(before, now):
        case "design" if graphs:
            return _OF_DESIGN[design_change(*graphs)]
        case "design":
            return ChangeKind.WIDTH if before.settings == now.settings else ChangeKind.ATTRIBUTES
        case "inference":
            return ChangeKind.INFERENCE
    return ChangeKind.DESIGN if motifs.other else ChangeKind.DEPTH


def _times(motifs: Iterable[LockedMotif]) -> list[MotifTimes]:
    return [MotifTimes(each.code, tuple(each.operators.split()), each.times) for each in motifs]
