"""From the sizes in `ray_config.yaml` and what the cluster has, to what a worker asks for."""

import resource
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import ray

from cluster.config import PoolConfig, WorkerConfig

PoolT = TypeVar("PoolT", bound=PoolConfig)


@dataclass(frozen=True, slots=True)
class Share:
    """What one worker reserves.

    Attributes:
        cpus: Logical CPUs.
        gpus: GPUs or a part of one.
        memory_bytes: Reserved memory, or None.
    """

    cpus: float
    gpus: float
    memory_bytes: int | None

    def options(self) -> dict[str, Any]:
        """The same as options of a Ray actor; the pool replaces a dead one, so Ray must not."""
        memory = {} if self.memory_bytes is None else {"memory": self.memory_bytes}
        return {"num_cpus": self.cpus, "num_gpus": self.gpus, "max_restarts": 0, **memory}


def cluster_totals() -> dict[str, float]:
    """What the connected cluster has in all, by Ray's names: CPU, GPU, memory."""
    return cast("dict[str, float]", ray.cluster_resources())


def worker_share(config: WorkerConfig) -> Share:
    """What a worker of this kind asks of the connected cluster."""
    has_gpu = cluster_totals().get("GPU", 0.0) >= 1
    gpus = float(has_gpu) if config.gpus == "auto" else config.gpus
    return Share(config.cpus, gpus, config.memory_bytes)


def pool_size(config: PoolConfig, share: Share) -> int:
    """Number of workers: as configured, or as many as the cluster can hold, at least one."""
    if config.num_workers != "auto":
        return config.num_workers
    has = cluster_totals()
    wants = {"CPU": share.cpus, "GPU": share.gpus, "memory": float(share.memory_bytes or 0)}
    fitting = [int(has.get(name, 0.0) // want) for name, want in wants.items() if want]
    return max(1, min(fitting, default=1))


def resized(config: PoolT, workers: int | None) -> PoolT:
    """The same pool of another size; None leaves it."""
    return config if workers is None else config.model_copy(update={"num_workers": workers})


def bound_memory(limit_bytes: int | None) -> None:
    """Bound the private memory of this process: a model that asks for more fails alone."""
    if limit_bytes is not None:
        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        resource.setrlimit(resource.RLIMIT_DATA, (limit_bytes, hard))
