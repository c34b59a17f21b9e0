"""The bulk jobs that the campaign of faults breaks: what each is told, and what it must leave."""

import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final

from encoding import small_default

from benchmark.campaigns.ledger import digests_of
from nar.answers.novelty import read_novelty
from nar.base.workspace import Workspace
from nar.encoding.embed import save_checkpoint
from nar.index.architecture_index import ArchitectureIndex
from nar.index.settings import IndexConfig
from nar.zoo.sources.darts.genotypes import genotype_at

MODELS: Final = Path(__file__).with_name("faulty_models.py")
GOOD: Final = ("net_1", "net_2", "net_3", "net_4", "slow_1", "slow_2", "slow_3", "slow_4")
REFUSED: Final = {"refuses": "ValueError: no such width", "exits": "SystemExit: 3"}
POISON: Final = dict.fromkeys(("segfaults", "is_killed"), "its worker process died (2 tries)")
DRAWN, COUNT = 24, 200
# Small files, so that there are many steps to fail.
SIZES: Final = """
extract: {num_workers: 2, max_in_flight: 2, shard_size: 8, batch_size: 3, batch_s: 0.5}
embed: {num_workers: 2, part_rows: 2, limit_s: 60}
"""
# What a clock decides, and how large the cluster was just then.
OF_A_RUN: Final = {"seconds", "models_per_s", "workers", "cores"}


@dataclass(frozen=True, slots=True)
class Job:
    """A bulk job.

    Attributes:
        command: Its name and own options, below the directory of the campaign.
        worker: Title of its workers.
        digest: Of what it leaves in a workspace.
        needs_corpus: Whether it begins with a corpus and an encoder.
        writes_in_workers: Whether its workers write the files.
    """

    command: Callable[[Path], tuple[str, ...]]
    worker: str
    digest: Callable[[Workspace], str]
    needs_corpus: bool = False
    writes_in_workers: bool = False


def corpus_digest(workspace: Workspace) -> str:
    """Digest of a corpus: every byte of its shards, and its manifest but for times."""
    files = sorted(workspace.corpus.iterdir())
    shards = {path.name: _of(path.read_bytes()) for path in files if path.suffix != ".json"}
    manifest = json.loads((workspace.corpus / "manifest.json").read_text(), object_hook=_timeless)
    return _of(json.dumps([shards, manifest], sort_keys=True).encode())


def index_digest(workspace: Workspace) -> str:
    """Digest of an index: every row as it reads back, and whether novelty was measured by it.

    Distances are not among it: a server and Milvus Lite round the last digit otherwise.
    """
    with ArchitectureIndex(index_of(workspace)) as index:
        rows = digests_of(index)
        is_measured = read_novelty(workspace.novelty, encoder=index.encoder) is not None
    return _of(json.dumps([rows, is_measured], sort_keys=True).encode())


def index_of(workspace: Workspace) -> IndexConfig:
    """Where the index of a workspace is: below it, or where its settings say."""
    settings = workspace.root / "nar.yaml"
    told = json.loads(settings.read_text())["index"] if settings.exists() else {}
    return IndexConfig.model_validate({"uri": str(workspace.index), "timeout_s": 60.0, **told})


def _of(content: bytes) -> str:
    return sha256(content).hexdigest()


def _timeless(found: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in found.items() if name not in OF_A_RUN}


JOBS: Final[Mapping[str, Job]] = {
    "extract": Job(
        lambda scene: ("extract", "--specs", str(scene / "good.txt")),
        "ray::CaptureWorker",
        corpus_digest,
    ),
    "extract poison": Job(
        lambda scene: ("extract", "--specs", str(scene / "poison.txt")),
        "ray::CaptureWorker",
        corpus_digest,
    ),
    "draw": Job(
        lambda _: ("draw", "--count", str(COUNT)),
        "ray::DrawWorker",
        corpus_digest,
        writes_in_workers=True,
    ),
    "embed": Job(lambda _: ("embed",), "ray::EmbedWorker", index_digest, needs_corpus=True),
}


def prepare(scene: Path) -> None:
    """Write what the jobs read into a directory, all but the corpus."""
    darts = [f"darts:{genotype_at(number * 10**14)}" for number in range(DRAWN)]
    good = [*darts, *(f"{MODELS}:{each}" for each in (*GOOD, *REFUSED))]
    poison = [*good, *(f"{MODELS}:{each}" for each in POISON)]
    for name, specs in (("good", good), ("poison", poison)):
        (scene / f"{name}.txt").write_text("\n".join(specs))
    (scene / "sizes.yaml").write_text(SIZES)


def fresh(scene: Path, name: str, job: Job, settings: Mapping[str, object] | None) -> Workspace:
    """A workspace in which a job can begin.

    Args:
        scene: Directory of the campaign; a job that needs a corpus has that of `keep_corpus`.
        name: Of the workspace.
        job: Which.
        settings: Of the index, where it is no file below the workspace.
    """
    workspace = Workspace(scene / name)
    if job.needs_corpus:
        shutil.copytree(scene / "ready", workspace.root)
    else:
        workspace.root.mkdir()
    if settings is not None:
        (workspace.root / "nar.yaml").write_text(json.dumps({"index": settings}))
    return workspace


def keep_corpus(scene: Path, extracted: Workspace) -> None:
    """Keep a corpus, and an encoder beside it, for the jobs that need both."""
    ready = Workspace(scene / "ready")
    shutil.copytree(extracted.corpus, ready.corpus)
    save_checkpoint(ready.checkpoint, small_default())
