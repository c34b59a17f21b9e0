"""Every default of the library, in frozen models. Sizes of clusters live in `ray_config.yaml`."""

import os
from pathlib import Path
from typing import Annotated, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError

from nar.errors import ConfigError

Splitting = Literal["repeats", "node_number", "motif_number", "random"]
Losses = Literal["ce+cl", "ce", "cl"]
LabelKind = Literal["operators", "attributes", "motifs", "paths"]


class Settings(BaseModel):
    """Base of all settings: frozen, and a misspelt name is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class MotifConfig(Settings):
    """How a graph is cut into motifs (paper, section 3.2)."""

    splitting: Splitting = Field("repeats", description="the others are baselines of Table 2")
    steps: int = Field(2, ge=1, le=8, description="s of Eq. 2: radius of the neighbour encoding")
    max_remainder_nodes: int = Field(16, ge=1, description="bound of what repeats nowhere")
    context_hops: int = Field(1, ge=1, description="k of the context graph (section 3.4)")


class PaperMotifRecipe(Settings):
    """Stage 1, the row "Motifs CL" of Table 5, but for its learning rate.

    Table 5 prints 1e-2. With Adam the loss then stays near that of chance (`results/README.md`).
    """

    epochs: int = Field(5, ge=1)
    batch_size: int = Field(256, ge=2, description="motifs a step")
    layers: int = Field(3, ge=2)
    learning_rate: float = Field(1e-3, gt=0, description="Table 5 prints 1e-2")
    dim: int = Field(512, ge=1)
    temperature: float = Field(0.1, gt=0, description="the paper prints none")
    seed: int = 0


class PaperGraphRecipe(Settings):
    """Stage 2, the row "Graph CL" of Table 5."""

    epochs: int = Field(15, ge=1)
    batch_size: int = Field(512, ge=2, description="architectures a step")
    layers: int = Field(3, ge=2)
    learning_rate: float = Field(1e-3, gt=0)
    dim: int = Field(512, ge=1)
    dropout: float = Field(0.1, ge=0, lt=1)
    losses: Losses = Field("ce+cl", description="parts of Eq. 6; the others are Table 3")
    temperature: float = Field(0.1, gt=0, description="the paper prints none")
    seed: int = 0


class PaperRecipe(Settings):
    """Both stages of Algorithm 1, as printed."""

    encoder: Literal["paper"] = "paper"
    motif: PaperMotifRecipe = PaperMotifRecipe()
    graph: PaperGraphRecipe = PaperGraphRecipe()


class MotifRecipe(Settings):
    """Stage 1 of the default encoder: motifs against their contexts."""

    epochs: int = Field(2, ge=0)
    batch_size: int = Field(512, ge=2, description="motifs a step")
    learning_rate: float = Field(1e-3, gt=0)
    temperature: float = Field(0.1, gt=0)
    seed: int = 0


class GraphRecipe(Settings):
    """Stage 2 of the default encoder: architectures of a family against all others."""

    epochs: int = Field(30, ge=0)
    batch_size: int = Field(512, ge=2, description="architectures a step")
    relatives: int = Field(4, ge=1, description="members of a family that come together")
    learning_rate: float = Field(5e-3, gt=0)
    temperature: float = Field(0.1, gt=0)
    seed: int = 0


class DefaultRecipe(Settings):
    """The default encoder and both of its stages."""

    encoder: Literal["default"] = "default"
    labels: tuple[LabelKind, ...] = Field(
        ("operators", "attributes", "motifs", "paths"),
        min_length=1,
        description="which labels are read",
    )
    rows_log2: int = Field(12, ge=4, le=20, description="rows of the table, a stream of labels")
    learned_dim: int = Field(256, ge=1)
    unknown_dim: int = Field(128, ge=0, multiple_of=64)
    unknown_weight: float = Field(1.0, ge=0)
    size_weight: float = Field(0.1, ge=0)
    motif: MotifRecipe = MotifRecipe()
    graph: GraphRecipe = GraphRecipe()


Recipe = Annotated[DefaultRecipe | PaperRecipe, Field(discriminator="encoder")]


class IndexConfig(Settings):
    """Where the vectors are, and how they are searched."""

    uri: str = Field("work/index.db", description="a path ending in .db (Milvus Lite) or http://…")
    token: str | None = Field(None, description="token of a Milvus server", repr=False)
    alias: str = Field("architectures", pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,63}$")
    kind: Literal["FLAT", "HNSW"] = Field("FLAT", description="FLAT is exact, HNSW faster")
    batch_rows: int = Field(1_000, ge=1, le=10_000)
    timeout_s: float = Field(10.0, gt=0)


def _token_from_environment() -> SecretStr | None:
    token = os.environ.get("NAR_TOKEN")
    return SecretStr(token) if token else None


class ServerConfig(Settings):
    """The query server. Loopback unless told otherwise."""

    host: str = "127.0.0.1"
    port: int = Field(50_051, ge=0, le=65_535, description="0 takes a free port")
    metrics_host: str = "127.0.0.1"
    metrics_port: int = Field(9_464, ge=0, le=65_535)
    token: SecretStr | None = Field(
        default_factory=_token_from_environment,
        description="what callers must bring; NAR_TOKEN in the environment unless set here",
    )
    max_queries: int = Field(64, ge=1, description="queries, graphs or names of one call")
    max_top_k: int = Field(1_000, ge=1, le=16_384)
    default_top_k: int = Field(10, ge=1, description="for queries that name none")
    max_nodes: int = Field(50_000, ge=1, description="nodes of one graph")
    max_edges: int = Field(200_000, ge=1)
    max_message_bytes: int = Field(16 * 1024 * 1024, ge=1_024)
    max_in_flight: int = Field(32, ge=1, description="calls at a time; more are shed")
    compute_threads: int = Field(2, ge=1)
    drain_grace_s: float = Field(10.0, ge=0)
    probe_interval_s: float = Field(5.0, gt=0, description="how often health asks the index")


class NarConfig(Settings):
    """Everything together, as one YAML file may set it."""

    motifs: MotifConfig = MotifConfig()
    pretraining: Recipe = DefaultRecipe()
    index: IndexConfig = IndexConfig()
    server: ServerConfig = Field(default_factory=ServerConfig)


def load_config(path: Path | None) -> NarConfig:
    """Read settings from a YAML file; without one, the defaults.

    Raises:
        ConfigError: Names the setting at fault.
    """
    if path is None:
        return NarConfig()
    try:
        return NarConfig.model_validate(yaml.safe_load(path.read_text()) or {})
    except OSError as error:
        raise ConfigError(f"cannot read settings from {path}: {error.strerror}") from error
    except (yaml.YAMLError, ValidationError) as error:
        raise ConfigError(f"{path} holds no valid settings: {error}") from error
