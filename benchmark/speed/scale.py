"""From nothing to a searched index of DARTS networks, at several sizes: results/scale.md.

The corpus is listed and counted on the way.

What larger sizes would take is derived from these: results/scaling.md.

Networks are drawn, embedded by the encoder of the atlas, indexed in a real Milvus server, and
searched by HNSW beside an exact search; then all is embedded again, unchanged and with one network
of a hundred changed. Each step is a command in a process of its own; what a step
has given is kept in WORK, so that a run that was interrupted goes on; its next step then counts the
seconds in which Milvus loads. The page has what there is.

Run: make scale SIZES='30000 100000'
"""

import json
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from threading import Event, Thread
from typing import Any

import psutil
import yaml
from milvus_server import free_port, running_milvus
from rich.console import Console

from benchmark.speed import fleet, scaling
from benchmark.speed.changed import changed_corpus
from nar.answers.atlas import shipped_atlas
from nar.base.files import write_whole

ROOT = Path(__file__).parents[2]
CONSOLE = Console()
PAGE = ROOT / "results" / "scale.md"
NAR = Path(sys.executable).with_name("nar")
DERIVED = ROOT / "results" / "scaling.md"
# How often the memory of the processes is looked at, in seconds.
LOOK_S = 0.5
KINDS = {
    "DrawWorker": "worker",
    "EmbedWorker": "worker",
    "milvus": "Milvus",
    "cluster.draw": "driver",
    "cluster.embed": "driver",
    "scale_search": "search",
    "corpus list": "list",
    "corpus stats": "stats",
}

# The steps that need a server.
SERVED = ("embed", "search", "again", "changed")


class Peaks:
    """What processes of each kind take while a step runs: the largest resident memory of any, in
    MiB, and the seconds of a core of all together.
    """

    def __init__(self) -> None:
        self.mib: dict[str, float] = {}
        self._cpu_s: dict[tuple[str, int], float] = {}
        self._ending = Event()
        self._thread = Thread(target=self._watch, daemon=True)

    def __enter__(self) -> "Peaks":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ending.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._ending.wait(LOOK_S):
            for process in psutil.Process().children(recursive=True):
                try:
                    command = " ".join([process.name(), *process.cmdline()])
                    taken = process.memory_info().rss / 2**20
                    times = process.cpu_times()
                except psutil.Error:
                    continue
                kind = next((kind for word, kind in KINDS.items() if word in command), None)
                if kind:
                    self.mib[kind] = max(taken, self.mib.get(kind, 0.0))
                    self._cpu_s[kind, process.pid] = times.user + times.system

    @property
    def cpu_s(self) -> dict[str, float]:
        """By kind; Milvus may have run before."""
        kinds = {kind for kind, _ in self._cpu_s}
        return {
            each: sum(taken for (kind, _), taken in self._cpu_s.items() if kind == each)
            for each in sorted(kinds)
        }


def step(name: str, work: Path, command: list[str], *, tells: bool = True) -> dict[str, Any]:
    """What a command printed, with its seconds and memory; as it was kept, if it was run before.

    What does not tell a JSON object is only measured. Seconds of attempts that were interrupted are
    added to those of the last.
    """
    kept, spent = work / f"{name}.json", work / f"{name}.spent"
    if kept.exists():
        return dict(json.loads(kept.read_text()))
    CONSOLE.print(f"$ python {shlex.join(command)}", soft_wrap=True)
    before = float(spent.read_text()) if spent.exists() else 0.0
    started = time.monotonic()
    try:
        with Peaks() as peaks:
            stdout = subprocess.PIPE if tells else subprocess.DEVNULL
            done = subprocess.run([sys.executable, *command], stdout=stdout, check=True)
    finally:
        wall_s = before + time.monotonic() - started
        spent.write_text(f"{wall_s:.1f}")
    told = {
        **(json.loads(done.stdout) if tells else {}),
        "wall_s": round(wall_s, 1),
        "peak_mib": {kind: round(taken) for kind, taken in peaks.mib.items()},
        "cpu_s": {kind: round(taken, 1) for kind, taken in peaks.cpu_s.items()},
        "command": shlex.join(["python", *command]),
    }
    write_whole(kept, lambda part: part.write_text(json.dumps(told, indent=1)))
    return told


def disk(work: Path) -> dict[str, Any]:
    """What a size takes on disk, in MiB; as it was kept, if it was looked at before."""
    kept = work / "disk.json"
    if not kept.exists():
        taken = {
            f"{name}_mib": round(sum(_bytes(path) for path in (work / name).rglob("*")) / 2**20)
            for name in ("corpus", "milvus")
        }
        write_whole(kept, lambda part: part.write_text(json.dumps(taken)))
    return dict(json.loads(kept.read_text()))


def _bytes(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0


@contextmanager
def milvus(work: Path) -> Iterator[str]:
    """A Milvus server whose data stay below WORK."""
    directory = work / "milvus"
    directory.mkdir(parents=True, exist_ok=True)
    with running_milvus(directory, free_port()) as server:
        yield server.uri


def measured(count: int, work: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each step of a size as it ends."""
    work.mkdir(parents=True, exist_ok=True)
    checkpoint = work / "checkpoint"
    if not checkpoint.exists():
        checkpoint.symlink_to(shipped_atlas().encoder.absolute())
    config = work / "nar.yaml"
    config.write_text(yaml.safe_dump({"index": {"kind": "HNSW", "timeout_s": 120}}))
    # A call to Milvus costs the same for 64 rows and for 512.
    sizes = work / "ray_config.yaml"
    sizes.write_text(yaml.safe_dump({"embed": {"part_rows": 512}}))
    where = ["--work", str(work), "--cluster-config", str(sizes), "--json"]
    yield "draw", step("draw", work, ["-m", "cluster.draw", "--count", str(count), *where])
    for name in ("list", "stats"):
        command = [str(NAR), "corpus", name, "--work", str(work)]
        yield name, step(name, work, command, tells=False)
    if all((work / f"{name}.json").exists() for name in SERVED):
        for name in SERVED:
            yield name, step(name, work, [])
    else:
        with milvus(work) as uri:
            index = ["--uri", uri, "--config", str(config)]
            embed = ["-m", "cluster.embed", *index, *where]
            yield "embed", step("embed", work, embed)
            search = ["-m", "benchmark.speed.scale_search", *index, "--work", str(work)]
            yield "search", step("search", work, search)
            yield "again", step("again", work, embed)
            changed = ["--corpus", str(changed_corpus(work / "corpus", work / "changed"))]
            yield "changed", step("changed", work, [*embed, *changed])
    yield "disk", disk(work)


HEAD = """\
# Scale

Written {now:%Y-%m-%d %H:%M} UTC by `make scale SIZES="{sizes}"`, on {cores} cores. DARTS
networks, the encoder of the atlas, a Milvus server of one node on the same cores, HNSW. Seconds are
wall time of each command, the start of its workers included; memory is the largest resident size of
any process of a kind, in MiB. `-` was not run.

| networks | draw s | embed and index s | ms a network | driver | worker | Milvus |
|---|---|---|---|---|---|---|
"""
READING_HEAD = """
The corpus read by `nar corpus list` into a pipe, and by `nar corpus stats`; memory in MiB.

| networks | list s | list memory | stats s | stats memory |
|---|---|---|---|---|
"""
AGAIN_HEAD = """
Embedded once more: the same corpus, and one in which one network of a hundred has another label;
memory in MiB.

| networks | nothing changed s | 1% changed s | of them embedded | driver |
|---|---|---|---|---|
"""
SEARCH_HEAD = """
Searches one after the other, ten hits each, of networks that are not in the index. Recall is the
share of hits that are as near as the tenth of an exact search over all vectors as they read back.

| networks | searches | p50 ms | p99 ms | recall@10 | exact search of 200 s |
|---|---|---|---|---|---|
"""
Steps = Mapping[str, Mapping[str, Any]]


def page(sizes: Mapping[int, Steps]) -> str:
    """The page of what was measured so far."""
    named, cores = " ".join(map(str, sizes)), psutil.cpu_count()
    head = HEAD.format(now=datetime.now(UTC), sizes=named, cores=cores)
    built = "".join(_line(count, _building(count, steps)) for count, steps in sizes.items())
    reading = "".join(_line(count, _reading(steps)) for count, steps in sizes.items())
    again = "".join(_line(count, _again(steps)) for count, steps in sizes.items())
    columns = ("queries", "p50_ms", "p99_ms", "recall", "exact_s")
    searched = "".join(
        _line(count, [steps.get("search", {}).get(column, "-") for column in columns])
        for count, steps in sizes.items()
    )
    tables = (head, built, AGAIN_HEAD, again, READING_HEAD, reading, SEARCH_HEAD, searched)
    return "".join(tables)


def derived(sizes: Mapping[int, Steps]) -> str:
    """The page of larger sizes."""
    memory_gib = psutil.virtual_memory().total / 2**30
    return fleet.appended(scaling.page(sizes, cores=psutil.cpu_count() or 1, memory_gib=memory_gib))


def _line(count: int, cells: Sequence[object]) -> str:
    return f"| {' | '.join([f'{count:,}', *map(str, cells)])} |\n"


def _building(count: int, steps: Steps) -> list[object]:
    both = [steps.get(name, {}) for name in ("draw", "embed")]
    seconds = [each.get("wall_s", "-") for each in both]
    each_ms = f"{1000 * sum(seconds) / count:.2f}" if "-" not in seconds else "-"
    peaks = [
        max(each.get("peak_mib", {}).get(kind, 0) for each in both) or "-"
        for kind in ("driver", "worker", "Milvus")
    ]
    return [*seconds, each_ms, *peaks]


def _again(steps: Steps) -> list[object]:
    same, changed = (steps.get(name, {}) for name in ("again", "changed"))
    peaks = [each.get("peak_mib", {}).get("driver", 0) for each in (same, changed)]
    seconds = [each.get("wall_s", "-") for each in (same, changed)]
    return [*seconds, changed.get("embedded", "-"), max(peaks) or "-"]


def _reading(steps: Steps) -> list[object]:
    return [
        cell
        for name in ("list", "stats")
        for told in [steps.get(name, {})]
        for cell in (told.get("wall_s", "-"), told.get("peak_mib", {}).get(name, "-"))
    ]


def main() -> None:
    work, *counts = sys.argv[1:]
    sizes: dict[int, dict[str, dict[str, Any]]] = {int(count): {} for count in counts}
    for count, steps in sizes.items():
        for name, told in measured(count, Path(work).absolute() / str(count)):
            steps[name] = told
            write_whole(PAGE, lambda part: part.write_text(page(sizes)))
            write_whole(DERIVED, lambda part: part.write_text(derived(sizes)))
    CONSOLE.print(page(sizes), markup=False, soft_wrap=True)


if __name__ == "__main__":
    main()
