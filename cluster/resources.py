"""The resources of a worker, by the sizes in `ray_config.yaml` and the nodes of the cluster."""

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
# The resources of a node that the table shows.
SHOWN: Final = ("CPU", "GPU", "memory")
_ANY: Final[Mapping[str, str]] = MappingProxyType({})


class WorkerStartError(NarError):
    """No worker could be started: the cluster has too little room, or its state does not load."""


class NoRoomError(WorkerStartError):
    """No node, or too few nodes, can hold a worker of these sizes."""


@dataclass(frozen=True, slots=True)
class Reservation:
    """The resources that one worker reserves.

    Attributes:
        cpus: Logical CPUs.
        gpus: GPUs, or a part of a GPU.
        memory_bytes: Reserved memory, or None.
        labels: Labels of the nodes on which it may run.
    """

    cpus: float
    gpus: float
    memory_bytes: int | None
    labels: dict[str, str] = field(default_factory=dict)

    def options(self) -> dict[str, Any]:
        """The options of a Ray actor. Ray must not restart a dead actor: the pool replaces it."""
        memory = {} if self.memory_bytes is None else {"memory": self.memory_bytes}
        labels = {"label_selector": self.labels} if self.labels else {}
        return {"num_cpus": self.cpus, "num_gpus": self.gpus, "max_restarts": 0, **memory, **labels}

    @property
    def wants(self) -> dict[str, float]:
        """The resources by Ray's names, without those that are not reserved."""
        wants = {"CPU": self.cpus, "GPU": self.gpus, "memory": float(self.memory_bytes or 0)}
        return {name: want for name, want in wants.items() if want}


def cluster_totals(labels: Mapping[str, str] = _ANY) -> dict[str, float]:
    """All resources of the connected cluster by Ray's names: CPU, GPU, memory.

    Args:
        labels: Only nodes with these count.
    """
    totals = Counter[str]()
    for node in _nodes(labels):
        totals.update(node["Resources"])
    return dict(totals)


def check_room(share: Reservation, workers: int = 1) -> None:
    """Refuse workers that would wait for ever for a place.

    Args:
        share: The reservation of each worker.
        workers: How many workers have to run at once.

    Raises:
        NoRoomError: Says which resources are wanted, and which the nodes have.
    """
    room = sum(_places(node["Resources"], share.wants, workers) for node in _nodes(share.labels))
    if room < workers:
        raise NoRoomError(
            f"no room for {workers} worker{'s' * (workers > 1)} of {_described(share.wants)}"
            f"{_labelled(share.labels)}; the cluster has {resource_table()}. "
            "Ask for less in ray_config.yaml, or add nodes"
        )


def resource_table() -> str:
    """A table of the resources of the nodes, equal nodes in one row."""
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


def _places(has: Mapping[str, float], wants: Mapping[str, float], most: int) -> int:
    """How many workers a node can hold at once, up to ``most``."""
    fitting = (has.get(name, 0.0) // want for name, want in wants.items())
    return int(min((*fitting, most)))


def _described(resources: Mapping[str, float]) -> str:
    """Resources in words; memory in GB, because equal machines differ by some bytes."""
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
    """The reservation of a worker of this kind on the connected cluster."""
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
    """Bound the private memory of this process, so that a model that wants more fails alone."""
    if limit_bytes is not None:
        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        resource.setrlimit(resource.RLIMIT_DATA, (limit_bytes, hard))
