"""Graphs are cut on some nodes and encoded on others: the process that encodes, and who asks it.

One worker does both unless `embed: encoders:` of the cluster's sizes says who encodes. Which nodes
those are, its labels and GPUs say.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import ray
import torch
from numpy.typing import NDArray
from ray.actor import ActorHandle
from ray.exceptions import RayError, RayTaskError

from cluster.actors import START_LIMIT_S, WorkerStartError
from cluster.config import WorkerConfig
from cluster.resources import check_room, worker_share
from nar.encoding.batches import runs
from nar.encoding.embed import NODES_A_RUN
from nar.encoding.encoder import Encoder
from nar.graphs.graph import ComputationalGraph
from nar.motifs.config import MotifConfig
from nar.motifs.partition import MotifPartition
from nar.motifs.splitting import split_all


class EncodeWorker:
    """Encodes graphs that others have cut; on a GPU where its node gives it one.

    Args:
        encoder: What encodes.
    """

    def __init__(self, encoder: Encoder) -> None:
        encoder.to(torch.device("cuda" if torch.cuda.is_available() else "cpu"))
        self._encoder = encoder

    def encode(self, partitions: Sequence[MotifPartition]) -> NDArray[np.float32]:
        """Unit vectors of cut graphs: shape (graphs, dim)."""
        return self._encoder.encode(partitions)


def start_encoders(
    encoder: "ray.ObjectRef[Encoder]", config: WorkerConfig, count: int
) -> list[ActorHandle[Any]]:
    """Start processes that encode. They keep nothing, so Ray itself begins a lost one again.

    Args:
        encoder: What encodes.
        config: What each of them reserves, and the labels of its node.
        count: How many.

    Raises:
        NoRoomError: The nodes with these labels cannot hold them.
        WorkerStartError: They do not start, or others have their places.
    """
    share = worker_share(config)
    check_room(share, count)
    options = {**share.options(), "max_restarts": -1, "max_task_retries": -1}
    actor: Any = ray.remote(EncodeWorker).options(**options)
    encoders = [actor.remote(encoder) for _ in range(count)]
    try:
        # Those that cut would take their places, and then wait for them.
        ray.get([each.__ray_ready__.remote() for each in encoders], timeout=START_LIMIT_S)
    except RayError as error:
        raise WorkerStartError(
            f"the processes that encode do not start; free the cluster: {error}"
        ) from error
    return encoders


class EncodedElsewhere:
    """Embeds as an `Embedder` does: cuts graphs here, and has them encoded by other processes.

    Args:
        motifs: How the encoder wants graphs cut.
        encoder: A process that is started again reads it again, so it is held here.
        encoders: `start_encoders` has started them; they are asked in turn.
    """

    def __init__(
        self,
        motifs: MotifConfig,
        encoder: "ray.ObjectRef[Encoder]",
        encoders: Sequence[ActorHandle[Any]],
    ) -> None:
        self._motifs, self._encoder = motifs, encoder
        self._encoders = tuple(encoders)
        self._turn = 0

    def embed(self, graphs: Sequence[ComputationalGraph]) -> NDArray[np.float32]:
        """Shape (graphs, dim), every row of length 1.

        Raises:
            WorkerStartError: A process that encodes was lost and does not start again.
        """
        # The next run is cut while the one before is encoded.
        encoded = [
            self._next().encode.remote(split_all(graphs[part], self._motifs))
            for part in runs([graph.nodes for graph in graphs], NODES_A_RUN)
        ]
        try:
            return np.concatenate(ray.get(encoded))
        except RayTaskError:
            raise  # what the encoder says of these graphs
        except RayError as error:
            reason = str(error).strip().partition("\n")[0]
            raise WorkerStartError(
                f"a process that encodes does not start: {reason}; run again"
            ) from error

    def _next(self) -> ActorHandle[Any]:
        self._turn = (self._turn + 1) % len(self._encoders)
        return self._encoders[self._turn]
