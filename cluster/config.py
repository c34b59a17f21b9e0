"""Sizes and resources of the bulk jobs, frozen; `ray_config.yaml` holds the same values."""

from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Literal

import yaml
from pydantic import Field, ValidationError, model_validator

from nar.base.console import stderr
from nar.base.errors import ConfigError
from nar.base.settings import Settings, faults

CONFIG_NAME = "ray_config.yaml"
# Chosen: how alike a name is that may be misspelt: ray-config.yml is, nar.zoo.yaml is not.
_ALIKE = 0.8


class WorkerConfig(Settings):
    """What the scheduler reserves for one worker process."""

    cpus: float = Field(1, ge=0)
    gpus: float | Literal["auto"] = Field(0, description="auto: one where the cluster has any")
    memory_bytes: int | None = Field(None, ge=1, description="None reserves nothing")
    labels: dict[str, Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]+$")]] = Field(
        default_factory=dict, description="only nodes that were started with these labels"
    )


class WorkerRange(Settings):
    """A pool that grows and shrinks with the cluster, which is asked for nodes for the most."""

    min: int = Field(1, ge=1)
    max: int = Field(ge=1)

    @model_validator(mode="after")
    def _in_order(self) -> "WorkerRange":
        if self.max < self.min:
            raise ValueError(f"wanted max of at least min, came {self.max} and {self.min}")
        return self


class PoolConfig(WorkerConfig):
    """A pool of equal actors that work through a list of items."""

    num_workers: Annotated[int, Field(ge=1)] | Literal["auto"] | WorkerRange = "auto"
    max_in_flight: int = Field(2, ge=1, description="calls of one worker, running and waiting")
    max_attempts: int = Field(2, ge=1, description="tries of an item that loses its worker")
    limit_s: float = Field(180, gt=0, description="one item; a worker over it is replaced")
    patience_s: float | None = Field(
        None, gt=0, description="an item that takes longer is left until no other waits"
    )
    memory_limit_bytes: int | None = Field(None, ge=1, description="private memory of a worker")
    items_per_process: int | None = Field(None, ge=1, description="then the worker is replaced")


class ExtractConfig(PoolConfig):
    """Capture of models."""

    max_in_flight: int = Field(4, ge=1)
    patience_s: float | None = Field(30, gt=0)
    memory_limit_bytes: int | None = Field(8_000_000_000, ge=1)
    items_per_process: int | None = Field(2_000, ge=1)
    resident_limit_bytes: int = Field(3_000_000_000, ge=1, description="then it is replaced")
    shard_size: int = Field(2_048, ge=1, description="models a corpus shard")
    batch_size: int = Field(64, ge=1, description="models a batch of the journal, at most")
    batch_s: float = Field(10, ge=0, description="a batch is written after so long")


class EncodersConfig(WorkerConfig):
    """Processes that encode the graphs that embedding workers have cut."""

    num_workers: int = Field(1, ge=1)
    gpus: float | Literal["auto"] = "auto"


class EmbedConfig(PoolConfig):
    """Embedding of corpus shards; a GPU makes it no faster (`results/benchmarks.md`)."""

    max_attempts: int = Field(3, ge=1)
    limit_s: float = Field(1_800, gt=0)
    part_rows: int = Field(512, ge=1, description="rows of a shard that a worker takes at once")
    encoders: EncodersConfig | None = Field(
        None, description="workers that encode what others have cut; none: each worker does both"
    )
    workers_write: bool = Field(
        True,
        description="workers write into a Milvus server; false if only the driver reaches it",
    )


class EvaluateConfig(PoolConfig):
    """Cells of the benchmark: each may train a model."""

    gpus: float | Literal["auto"] = "auto"
    max_in_flight: int = Field(1, ge=1)
    limit_s: float = Field(14_400, gt=0)


class PretrainConfig(WorkerConfig):
    """Ranks of Ray Train."""

    num_workers: int = Field(1, ge=1)
    gpus: float | Literal["auto"] = "auto"
    max_failures: int = Field(2, ge=0, description="worker deaths survived by resuming")


class ClusterConfig(Settings):
    """All settings of where the work runs; none changes the result."""

    object_store_bytes: int = Field(300_000_000, ge=80_000_000, description="local clusters only")
    env_vars: dict[str, str] = Field(default_factory=lambda: {"OMP_NUM_THREADS": "1"})
    extract: ExtractConfig = ExtractConfig()
    embed: EmbedConfig = EmbedConfig()
    evaluate: EvaluateConfig = EvaluateConfig()
    pretrain: PretrainConfig = PretrainConfig()


def load_cluster_config(path: Path | None = None) -> ClusterConfig:
    """Read the sizes from a YAML file.

    Args:
        path: The file; None takes `ray_config.yaml` of the working directory, and the defaults
            where there is none.

    Raises:
        ConfigError: Names the setting at fault.
    """
    chosen = Path(CONFIG_NAME) if path is None else path
    if path is None and not chosen.exists():
        _say(f"sizes: defaults, for there is no {CONFIG_NAME} in {Path.cwd()}{_unread()}")
        return ClusterConfig()
    try:
        sizes = ClusterConfig.model_validate(yaml.safe_load(chosen.read_text()) or {})
        _say(f"sizes: {chosen.resolve()}")
        return sizes
    except OSError as error:
        raise ConfigError(f"cannot read cluster sizes from {chosen}: {error.strerror}") from error
    except yaml.YAMLError as error:
        raise ConfigError(f"{chosen} is no YAML: {error}") from error
    except ValidationError as error:
        found = faults(error, ClusterConfig)
        raise ConfigError(f"{chosen} holds no valid sizes:\n{found}") from None


def _say(line: str) -> None:
    stderr.print(line, style="dim", soft_wrap=True)


def _unread() -> str:
    """The end of a line that names a file which somebody may have meant."""
    files = [each.name for each in Path().glob("*.y*ml")]
    near = get_close_matches(CONFIG_NAME, files, n=1, cutoff=_ALIKE)
    return f"; {near[0]} lies there and was not read" if near else ""
