"""From the sizes in `ray_config.yaml` and what the cluster has, to what a worker asks for."""

import resource
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, TypeVar

import ray

from cluster.config import PoolConfig, WorkerConfig
from nar.base.errors import NarError

PoolT = TypeVar("PoolT", bound=PoolConfig)
# What the table of resources shows of a node.
SHOWN: Final = ("CPU", "GPU", "memory")
_ANY: Final[Mapping[str, str]] = MappingProxyType({})


class WorkerStartError(NarError):
    """No worker could be started: too little room in the cluster, or its state does not load."""


class NoRoomError(WorkerStartError):
    """No node, or not enough of them, can hold a worker of these sizes."""


@dataclass(frozen=True, slots=True)
class Reservation:
    """What one worker reserves.

    Attributes:
        cpus: Logical CPUs.
        gpus: GPUs or a part of one.
        memory_bytes: Reserved memory, or None.
        labels: Of the nodes that it may be on.
    """

    cpus: float
    gpus: float
    memory_bytes: int | None
    labels: dict[str, str] = field(default_factory=dict)

    def options(self) -> dict[str, Any]:
        """The same as options of a Ray actor; the pool replaces a dead one, so Ray must not."""
        memory = {} if self.memory_bytes is None else {"memory": self.memory_bytes}
        labels = {"label_selector": self.labels} if self.labels else {}
        return {"num_cpus": self.cpus, "num_gpus": self.gpus, "max_restarts": 0, **memory, **labels}

    @property
    def wants(self) -> dict[str, float]:
        """The same by Ray's names, without what it does not want."""
        wants = {"CPU": self.cpus, "GPU": self.gpus, "memory": float(self.memory_bytes or 0)}
        return {name: want for name, want in wants.items() if want}


def cluster_totals(labels: Mapping[str, str] = _ANY) -> dict[str, float]:
    """What the connected cluster has in all, by Ray's names: CPU, GPU, memory.

    Args:
        labels: Only nodes with these count.
    """
    totals = Counter[str]()
    for node in _nodes(labels):
        totals.update(node["Resources"])
    return dict(totals)


def check_room(share: Reservation, workers: int = 1) -> None:
    """Refuse at once what would wait for ever.

    Args:
        share: Of each worker.
        workers: How many there have to be at once.

    Raises:
        NoRoomError: Says what is wanted, and what the nodes have.
    """
    room = sum(_held_by(node["Resources"], share.wants, workers) for node in _nodes(share.labels))
    if room < workers:
        raise NoRoomError(
            f"no room for {workers} worker{'s' * (workers > 1)} of {_described(share.wants)}"
            f"{_labelled(share.labels)}; the cluster has {resource_table()}. "
            "Ask for less in ray_config.yaml, or add nodes"
        )


def resource_table() -> str:
    """What the nodes of the cluster have, equal ones together."""
    nodes = Counter(
        _described({name: node["Resources"].get(name, 0.0) for name in SHOWN})
        + _labelled({key: value for key, value in node["Labels"].items() if "ray.io/" not in key})
        for node in _nodes()
    )
    return "; ".join(f"{count} node{'s' * (count > 1)} of {each}" for each, count in nodes.items())


def _nodes(labels: Mapping[str, str] = _ANY) -> list[dict[str, Any]]:
    return [
        node for node in ray.nodes() if node["Alive"] and labels.items() <= node["Labels"].items()
    ]


def _held_by(has: Mapping[str, float], wants: Mapping[str, float], most: int) -> int:
    """How many workers a node can hold at once, as far as that matters."""
    fitting = (has.get(name, 0.0) // want for name, want in wants.items())
    return int(min((*fitting, most)))


def _described(resources: Mapping[str, float]) -> str:
    """Resources in words, memory in GB: of equal machines no two have the same bytes."""
    amounts = {
        name: f"{value / 1e9:.0f} GB" if name == "memory" else f"{value:g}"
        for name, value in resources.items()
    }
    return ", ".join(f"{name}={amount}" for name, amount in amounts.items()) or "no resources"


def _labelled(labels: Mapping[str, str]) -> str:
    return f" labelled {', '.join(f'{key}={value}' for key, value in labels.items())}" * bool(
        labels
    )


def worker_share(config: WorkerConfig) -> Reservation:
    """What a worker of this kind asks of the connected cluster."""
    has_gpu = cluster_totals(config.labels).get("GPU", 0.0) >= 1
    gpus = float(has_gpu) if config.gpus == "auto" else config.gpus
    return Reservation(config.cpus, gpus, config.memory_bytes, config.labels)


def pool_size(config: PoolConfig, share: Reservation) -> int:
    """Number of workers: as configured, or as many as the cluster can hold, at least one."""
    if config.num_workers != "auto":
        return config.num_workers
    has = cluster_totals(share.labels)
    fitting = [int(has.get(name, 0.0) // want) for name, want in share.wants.items()]
    return max(1, min(fitting, default=1))


def resized(config: PoolT, workers: int | None) -> PoolT:
    """The same pool of another size; None leaves it."""
    return config if workers is None else config.model_copy(update={"num_workers": workers})


def bound_memory(limit_bytes: int | None) -> None:
    """Bound the private memory of this process: a model that asks for more fails alone."""
    if limit_bytes is not None:
        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        resource.setrlimit(resource.RLIMIT_DATA, (limit_bytes, hard))
