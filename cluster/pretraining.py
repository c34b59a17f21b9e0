"""Pretraining on the cluster: all stages of an encoder in one run of Ray Train.

A run is named after its settings and its corpus: started again, it goes on after its last epoch,
and a finished run only writes its checkpoint anew.
"""

import logging
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from shutil import rmtree
from threading import Thread
from typing import Final

import ray
import ray.train
import torch
from ray.train.torch import TorchTrainer, get_device, prepare_model
from ray.util.queue import Queue
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from nar.base.console import progress
from nar.base.errors import CheckpointError, ConfigError, NarError
from nar.base.workspace import Workspace
from nar.config import NarConfig
from nar.corpus import Corpus, Location
from nar.corpus.manifest import Manifest
from nar.encoding.embed import fingerprint, load_checkpoint, save_checkpoint
from nar.encoding.recipe import EncoderRecipe
from nar.encoding.training import (
    BatchShare,
    EpochReport,
    TrainingState,
    Worker,
    epoch_batches,
    load_state,
    pretrain,
    save_state,
)
from nar.graphs.ragged import offsets
from nar.motifs.config import MotifConfig

from .config import PretrainConfig
from .resources import check_room, cluster_totals, worker_share
from .telemetry import JobTelemetry, job_telemetry

RUNS = "pretraining"
_SAMPLES: Final = "samples-"
# The version of what is kept of a corpus: counts up with every change of what samples hold.
SAMPLES_VERSION: Final = 1
# Chosen: if the newest checkpoint is damaged, `last_state` takes the checkpoint before.
CHECKPOINTS_KEPT = 2
# Chosen: how often Ray Train polls its workers, in seconds. For a worker an epoch ends when Ray
# Train has polled it: at the default of 2 s, every epoch of a small corpus lasts 2 s.
POLLING: Final = ("RAY_TRAIN_HEALTH_CHECK_INTERVAL_S", "0.25")


class TrainingLostError(NarError):
    """Workers died more often than the configuration allows."""


@dataclass(frozen=True, slots=True)
class TrainTask:
    """The task of a worker; it reads everything else from shared storage.

    Attributes:
        corpus: Where the training corpus lies.
        checkpoint: Directory that gets the encoder.
        motifs: How graphs are cut.
        recipe: Which encoder, and how it learns.
        threads: Threads of each worker.
        epochs: A queue that gets the report of every epoch.
        samples: Folder that keeps what the workers read of the corpus.
    """

    corpus: Location
    checkpoint: Path
    motifs: MotifConfig
    recipe: EncoderRecipe
    threads: int
    epochs: Queue
    samples: Path


@dataclass(frozen=True, slots=True)
class PretrainReport:
    """The outcome of pretraining.

    Attributes:
        directory: Directory of the checkpoint.
        fingerprint: Fingerprint of the encoder.
        architectures: Number of architectures in the training corpus.
        epochs: Reports of the epochs that this run trained.
        seconds: Wall time.
    """

    directory: Path
    fingerprint: str
    architectures: int
    epochs: tuple[EpochReport, ...]
    seconds: float


def pretrain_on_cluster(
    workspace: Workspace,
    config: NarConfig,
    sizes: PretrainConfig,
    *,
    corpus: Location | None = None,
    restart: bool = False,
) -> PretrainReport:
    """Pretrain on a corpus and write the workspace's checkpoint.

    Args:
        workspace: A workspace on storage that every node of the cluster sees.
        config: How graphs are cut, and the recipe.
        sizes: The number of workers and their resources.
        corpus: Where the corpus lies; None for the corpus of the workspace. Every node reads it.
        restart: Forget the work of an earlier run of the same name.

    Raises:
        CorpusError: There is no corpus, or it is damaged.
        ConfigError: The recipe does not fit corpus or cluster.
        TrainingLostError: Too many workers died.
    """
    started = time.monotonic()
    root = workspace.root.resolve()
    read_from = corpus.absolute() if corpus else Workspace(root).corpus
    manifest = Manifest.read(read_from)
    rows = sum(entry.rows for entry in manifest.shards)
    _check_batches(rows, config.pretraining, sizes)
    name = run_name(manifest, config)
    if restart:
        rmtree(root / RUNS / name, ignore_errors=True)
    recipe = config.pretraining
    samples = root / RUNS / samples_name(manifest, config)
    for other in samples.parent.glob(f"{_SAMPLES}*"):
        if other != samples:  # of a former corpus, or a part that a killed worker has left
            rmtree(other, ignore_errors=True)
    with (
        job_telemetry("pretrain", root) as telemetry,
        _shown(recipe, telemetry) as (queue, reports),
    ):
        threads = max(1, int(sizes.cpus))
        target = Workspace(root).checkpoint
        task = TrainTask(read_from, target, config.motifs, recipe, threads, queue, samples)
        _fit(task, sizes, ray.train.RunConfig(name=name, storage_path=str(root / RUNS)))
    return PretrainReport(
        directory=workspace.checkpoint,
        fingerprint=fingerprint(load_checkpoint(workspace.checkpoint)),
        architectures=rows,
        epochs=tuple(reports.values()),
        seconds=time.monotonic() - started,
    )


def run_name(manifest: Manifest, config: NarConfig) -> str:
    """Digest of everything that decides the result but rounding: corpus, cutting and recipe."""
    parts = [entry.identity for entry in manifest.shards]
    parts += [config.motifs.model_dump_json(), config.pretraining.model_dump_json()]
    return sha256("\n".join(parts).encode()).hexdigest()[:16]


def samples_name(manifest: Manifest, config: NarConfig) -> str:
    """Name of the folder with what an encoder learns from: by the corpus, and how it is cut."""
    parts = [entry.identity for entry in manifest.shards]
    parts += [str(SAMPLES_VERSION), config.pretraining.encoder, config.motifs.model_dump_json()]
    return _SAMPLES + sha256("\n".join(parts).encode()).hexdigest()[:16]


def _check_batches(rows: int, recipe: EncoderRecipe, sizes: PretrainConfig) -> None:
    """Refuse batches that do not fit before any resource of the cluster is reserved."""
    share = BatchShare(rank=0, world=sizes.num_workers)
    *_, last = recipe.stages.values()  # the only stage whose items are architectures
    epoch_batches(rows, last.batch_size, seed=0, epoch=0, share=share)


def scaling(sizes: PretrainConfig) -> ray.train.ScalingConfig:
    """The resources to reserve: never more CPUs than exist, or the run would wait for ever.

    Raises:
        ConfigError: There are fewer GPUs than workers need.
        NoRoomError: The nodes cannot hold so many workers at once.
    """
    share = worker_share(sizes)
    has = cluster_totals(share.labels)
    if share.gpus * sizes.num_workers > has.get("GPU", 0.0):
        raise ConfigError(
            f"pretrain.num_workers: wanted at most one worker a GPU, came {sizes.num_workers} "
            f"workers for {has.get('GPU', 0.0):g} GPUs; take fewer workers, or gpus: 0"
        )
    reserved = {"CPU": min(share.cpus, has.get("CPU", 0.0) / sizes.num_workers)}
    if share.gpus:
        reserved["GPU"] = share.gpus
    if share.memory_bytes is not None:
        reserved["memory"] = share.memory_bytes
    check_room(replace(share, cpus=reserved["CPU"]), sizes.num_workers)
    return ray.train.ScalingConfig(
        num_workers=sizes.num_workers,
        use_gpu=share.gpus > 0,
        resources_per_worker=reserved,
        # Ray's annotations describe Train v1, which had no label selector.
        label_selector=share.labels or None,  # type: ignore[call-arg]
    )


def _fit(task: TrainTask, sizes: PretrainConfig, run: ray.train.RunConfig) -> None:
    os.environ.setdefault(*POLLING)
    limit = sizes.max_failures
    # Ray's annotations describe Train v1, which had no second limit.
    run.failure_config = ray.train.FailureConfig(
        max_failures=limit,
        controller_failure_limit=limit,  # type: ignore[call-arg]
    )
    run.checkpoint_config = ray.train.CheckpointConfig(num_to_keep=CHECKPOINTS_KEPT)
    trainer = TorchTrainer(
        train_on_worker,
        train_loop_config={"task": task},
        scaling_config=scaling(sizes),
        run_config=run,
    )
    try:
        trainer.fit()
    except ray.train.TrainingFailedError as error:
        raise cause(error) from error


def cause(error: ray.train.TrainingFailedError) -> NarError:
    """The error of NAR that a worker raised, or else an error with the report of Ray Train."""
    failures = (
        error.worker_failures.values() if isinstance(error, ray.train.WorkerGroupError) else ()
    )
    ours = (failure for failure in failures if isinstance(failure, NarError))
    last_line = str(error).strip().rpartition("\n")[2].strip()
    lost = TrainingLostError(f"pretraining failed: {last_line}; run it again to go on")
    return next(ours, lost)


def train_on_worker(config: dict[str, TrainTask]) -> None:
    """Train as one worker of the group, from the start or from the state of the last epoch."""
    task = config["task"]
    torch.set_num_threads(task.threads)
    context = ray.train.get_context()
    share = BatchShare(context.get_world_rank(), context.get_world_size())

    def after_epoch(report: EpochReport, state: TrainingState) -> None:
        _report(task, share, report, state)

    encoder = pretrain(
        Corpus(task.corpus).architectures(),
        task.motifs,
        task.recipe,
        worker=Worker(share, get_device(), prepare_model),
        start=last_state(),
        after_epoch=after_epoch,
        kept=task.samples,
    )
    if share.rank == 0:
        save_checkpoint(task.checkpoint, encoder)


def _report(task: TrainTask, share: BatchShare, report: EpochReport, state: TrainingState) -> None:
    """Hand the state to Ray Train. Every worker has to call this, because it is a barrier."""
    metrics = {"stage": report.stage, "epoch": report.epoch, "loss": report.loss}
    if share.rank:
        ray.train.report(metrics)
        return
    task.epochs.put(report)
    with tempfile.TemporaryDirectory() as directory:
        save_state(Path(directory), state)
        ray.train.report(metrics, checkpoint=ray.train.Checkpoint.from_directory(directory))


@contextmanager
def _shown(
    recipe: EncoderRecipe, telemetry: JobTelemetry
) -> Iterator[tuple[Queue, dict[int, EpochReport]]]:
    """A queue whose reports are shown, and kept by their number among the epochs of all stages.

    An epoch may come twice, if its worker dies before its state is safe. Reports come by a queue,
    because the callbacks of Ray Train run in its controller, which is another process.
    """
    epochs = [stage.epochs for stage in recipe.stages.values()]
    first = dict(zip(recipe.stages, offsets(epochs).tolist(), strict=False))
    # On the node of this process: the queue must not be lost with a node of workers.
    here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
    queue = Queue(actor_options={"num_cpus": 0, "scheduling_strategy": here})
    reports: dict[int, EpochReport] = {}
    telemetry.total = sum(epochs)
    with progress("Pretrain", telemetry.total) as advance:

        def relay() -> None:
            for report in iter(queue.get, None):
                number = first[report.stage] + report.epoch
                more = max(0, number - max(reports, default=0))
                advance(more)
                telemetry.losses[report.stage] = report.loss
                telemetry.count("epoch", more)
                reports[number] = report

        reader = Thread(target=relay)
        reader.start()
        try:
            yield queue, reports
        finally:
            queue.put(None)
            reader.join()
            queue.shutdown()


def last_state() -> TrainingState | None:
    """The newest undamaged state of this run; None before the first."""
    newest = ray.train.get_checkpoint()
    return None if newest is None else newest_whole(Path(newest.path))


def newest_whole(newest: Path) -> TrainingState:
    """The state in a directory or, if it is damaged, in the latest undamaged directory before it.

    Args:
        newest: The newest directory. Ray Train names each after the time at which it was written.

    Raises:
        CheckpointError: Every state that is kept is damaged.
    """
    beside = newest.parent.glob("checkpoint_*")
    before = sorted((each for each in beside if each.name < newest.name), reverse=True)
    damage: CheckpointError | None = None
    for directory in (newest, *before):
        try:
            return load_state(directory)
        except CheckpointError as error:
            logging.getLogger(__name__).warning("%s; taking the one before", error)
            damage = damage or error
    assert damage is not None, "the newest was tried"
    raise damage
