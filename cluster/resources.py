"""The resources of a worker, by the sizes in `ray_config.yaml` and the nodes of the cluster."""

import resource
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, TypeVar

import ray
from ray._private import state
from ray.actor import ActorHandle
from ray.autoscaler.sdk import request_resources

from nar.base.errors import NarError

from .config import PoolConfig, WorkerConfig, WorkerRange

PoolT = TypeVar("PoolT", bound=PoolConfig)
# The resources of a node that the table shows.
SHOWN: Final = ("CPU", "GPU", "memory")
# The label by which Ray names each node.
NODE_ID: Final = "ray.io/node-id"
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
        may_grow: Whether an autoscaler may bring the nodes, so that there may be none now.
    """

    cpus: float
    gpus: float
    memory_bytes: int | None
    labels: dict[str, str] = field(default_factory=dict)
    may_grow: bool = False

    def options(self, avoided: Collection[str] = ()) -> dict[str, Any]:
        """The options of a Ray actor. Ray must not restart a dead actor: the pool replaces it.

        Args:
            avoided: Ids of nodes on which it must not run.
        """
        memory = {} if self.memory_bytes is None else {"memory": self.memory_bytes}
        without = {NODE_ID: f"!in({', '.join(sorted(avoided))})"} if avoided else {}
        selector = {**self.labels, **without}
        labels = {"label_selector": selector} if selector else {}
        return {"num_cpus": self.cpus, "num_gpus": self.gpus, "max_restarts": 0, **memory, **labels}

    @property
    def wants(self) -> dict[str, float]:
        """The resources by Ray's names, without those that are not reserved."""
        wants = {"CPU": self.cpus, "GPU": self.gpus, "memory": float(self.memory_bytes or 0)}
        return {name: want for name, want in wants.items() if want}


def cluster_totals(
    labels: Mapping[str, str] = _ANY, avoided: Collection[str] = ()
) -> dict[str, float]:
    """All resources of the connected cluster by Ray's names: CPU, GPU, memory.

    Args:
        labels: Only nodes with these count.
        avoided: Ids of nodes that do not count.
    """
    totals = Counter[str]()
    for node in _nodes(labels, avoided):
        totals.update(node["Resources"])
    return dict(totals)


def check_room(share: Reservation, workers: int = 1, avoided: Collection[str] = ()) -> None:
    """Refuse workers that would wait for ever for a place.

    Args:
        share: The reservation of each worker.
        workers: How many workers have to run at once.
        avoided: Ids of nodes that do not count.

    Raises:
        NoRoomError: Says which resources are wanted, and which the nodes have.
    """
    nodes = _nodes(share.labels, avoided)
    room = sum(_places(node["Resources"], share.wants, workers) for node in nodes)
    if room < workers and not share.may_grow:
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


def _nodes(labels: Mapping[str, str] = _ANY, avoided: Collection[str] = ()) -> list[dict[str, Any]]:
    return [
        node
        for node in ray.nodes()
        if node["Alive"]
        and node["NodeID"] not in avoided
        and labels.items() <= node["Labels"].items()
    ]


@dataclass(frozen=True, slots=True)
class NodeOf:
    """The node on which an actor ran or runs.

    Attributes:
        id: Its id; empty if the actor was not on any.
        name: Its host, address and labels, for a person.
        is_alive: Whether it is part of the cluster now.
    """

    id: str
    name: str
    is_alive: bool


def node_of(actor: ActorHandle[Any]) -> NodeOf:
    """The node of an actor, dead or alive."""
    known = _node_id(actor)
    for node in ray.nodes():
        if node["NodeID"] == known:
            own = {key: value for key, value in node["Labels"].items() if "ray.io/" not in key}
            where = f"{node['NodeManagerHostname']} ({node['NodeManagerAddress']})"
            return NodeOf(known, where + _labelled(own), bool(node["Alive"]))
    return NodeOf("", "no node", False)


def without_place(actors: Iterable[ActorHandle[Any]]) -> list[ActorHandle[Any]]:
    """Those of some actors to which the scheduler has given no place yet."""
    return [actor for actor in actors if not _node_id(actor)]


def _node_id(actor: ActorHandle[Any]) -> str:
    """Id of the node of an actor; empty if it has none."""
    # Ray's public API of states asks the dashboard, which a cluster need not have.
    described: dict[str, Any] = state.actors(actor._actor_id.hex())
    node = str(described.get("Address", {}).get("NodeID", ""))
    return "" if node.strip("f") == "" else node


def holders() -> str:
    """How much of the cluster is free, and whose actors hold the rest, for a person."""
    totals, free = cluster_totals(), ray.available_resources()
    shown = [f"{name}={free.get(name, 0.0):g} of {totals.get(name, 0.0):g}" for name in SHOWN[:2]]
    alive = Counter(
        (each["JobID"], each["ActorClassName"])
        for each in state.actors().values()
        if each["State"] == "ALIVE"
    )
    entrypoints = {job["JobID"]: job.get("Entrypoint", "") for job in state.jobs()}
    held = [
        f"{count} {actor} of {entrypoints.get(job) or f'job {job}'}"
        for (job, actor), count in sorted(alive.items())
    ]
    return f"free are {', '.join(shown)}; there run {'; '.join(held) or 'no actors'}"


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
    may_grow = isinstance(config, PoolConfig) and isinstance(config.num_workers, WorkerRange)
    return Reservation(config.cpus, gpus, config.memory_bytes, config.labels, may_grow)


@dataclass(frozen=True, slots=True)
class PoolSize:
    """How many workers a pool has: as many as the nodes hold that are there now, within bounds.

    Attributes:
        share: What each reserves.
        least: The fewest; these wait for a place where there is none.
        most: The most; None for as many as the nodes hold.
        asks: Whether an autoscaler is asked for nodes for the most.
    """

    share: Reservation
    least: int = 1
    most: int | None = None
    asks: bool = False

    def __call__(self, avoided: Collection[str] = ()) -> int:
        """The number now, without the nodes of some ids."""
        if self.least == self.most:
            return self.least
        has = cluster_totals(self.share.labels, avoided)
        fitting = [int(has.get(name, 0.0) // want) for name, want in self.share.wants.items()]
        held = max(self.least, min(fitting, default=1))
        return held if self.most is None else min(held, self.most)

    @contextmanager
    def wanted(self) -> Iterator[None]:
        """Ask an autoscaler, where there is one, to hold nodes for the most while the body runs."""
        if not self.asks:
            yield
            return
        most = self.most or 0
        labels = [self.share.labels] * most if self.share.labels else None
        request_resources(bundles=[self.share.wants] * most, bundle_label_selectors=labels)
        try:
            yield
        finally:
            request_resources(bundles=[])


def pool_size(config: PoolConfig, share: Reservation) -> PoolSize:
    """Number of workers: as configured, or as many as the cluster can hold, at least one."""
    wanted = config.num_workers
    if isinstance(wanted, WorkerRange):
        return PoolSize(share, wanted.min, wanted.max, asks=True)
    return PoolSize(share) if wanted == "auto" else PoolSize(share, wanted, wanted)


def resized(config: PoolT, workers: int | None) -> PoolT:
    """The same pool of another size; None leaves it."""
    return config if workers is None else config.model_copy(update={"num_workers": workers})


def bound_memory(limit_bytes: int | None) -> None:
    """Bound the private memory of this process, so that a model that wants more fails alone."""
    if limit_bytes is not None:
        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        resource.setrlimit(resource.RLIMIT_DATA, (limit_bytes, hard))
