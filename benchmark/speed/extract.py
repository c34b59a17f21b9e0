"""What a worker of `cluster.extract` adds to the captures themselves, in seconds of a processor.

The models are those of the campaign of a week: factories, configurations, ONNX files and exported
programs, all small, so that what is beside the captures counts most. One process captures them one
after the other and does nothing else; then a job does with one worker. What Ray takes to start a
worker that does nothing is measured in the same run, and is no part of either.

Run: python -m benchmark speed extract [results.json]
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Thread

import psutil
from nodes import Nodes, running_nodes

from benchmark.campaigns.week_zoo import WeekZoo
from benchmark.speed.measure import report

MODELS = int(os.environ.get("NAR_BENCH_ROWS", "300"))
# How often a worker is looked at, and how often new ones are looked for, in looks.
LOOK_S, NEW_EVERY = 0.1, 10
CAPTURES = """
import json, os, sys
from pathlib import Path
from nar.base.asking import Asking
from nar.base.errors import NarError
from nar.base.own_zoo import read_zoo
from nar.own import capture_architecture
captured = 0
for each in read_zoo(Path(sys.argv[1])).models:
    try:
        capture_architecture(each.spec, Asking(inputs=each.inputs))
        captured += 1
    except NarError:
        pass
print(json.dumps([captured, sum(os.times()[:2])]))
"""
BARE = """
import json, os, ray
ray.init(logging_level="ERROR", log_to_driver=False)
@ray.remote(num_cpus=1)
class Bare:
    def cpu_s(self):
        return sum(os.times()[:2])
print(json.dumps(ray.get(Bare.remote().cpu_s.remote())))
"""


def output_of(command: list[str], environment: dict[str, str]) -> object:
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


class Workers:
    """The processors' seconds of workers, of ended workers too."""

    def __init__(self, nodes: Nodes) -> None:
        self._nodes, self._seen = nodes, {}
        self._cpu_s: dict[int, float] = {}

    @property
    def cpu_s(self) -> float:
        return sum(self._cpu_s.values())

    @contextmanager
    def watched(self) -> Iterator[None]:
        ending = Event()
        thread = Thread(target=self._watch, args=(ending,))
        thread.start()
        try:
            yield
        finally:
            ending.set()
            thread.join()

    def _watch(self, ending: Event) -> None:
        looks = 0
        while not ending.wait(LOOK_S):
            if looks % NEW_EVERY == 0:
                self._seen |= {one.pid: one for one in self._nodes.processes("ray::CaptureWorker")}
            looks += 1
            for pid, process in self._seen.items():
                with suppress(psutil.NoSuchProcess):
                    times = process.cpu_times()
                    self._cpu_s[pid] = times.user + times.system


def measured(root: Path) -> list[dict[str, object]]:
    zoo = WeekZoo(root / "zoo", MODELS)
    zoo.monday()
    here = dict(os.environ)
    captured, pure_s = output_of([sys.executable, "-c", CAPTURES, str(zoo.root)], here)
    with running_nodes(1) as nodes:
        environment = nodes.job_environment()
        start_s = output_of([sys.executable, "-c", BARE], environment)
        workers = Workers(nodes)
        where = ("--work", str(root / "work"), "--workers", "1", "--json")
        with workers.watched():
            job = [sys.executable, "-m", "cluster.extract", str(zoo.root), *where]
            done = output_of(job, environment)
    rows = sum(shard["rows"] for shard in done["manifest"]["shards"])
    assert rows == captured, f"the job captured {rows}, the process {captured}"
    beyond_s = workers.cpu_s - start_s
    return [
        row("captures in one process", captured, pure_s, 1.0),
        row("start of a worker of Ray", 0, start_s, start_s / pure_s),
        row("worker of cluster.extract, beyond that", rows, beyond_s, beyond_s / pure_s),
    ]


def row(what: str, models: int, seconds: float, ratio: float) -> dict[str, object]:
    return {
        "what": what,
        "models": f"{models:,}",
        "CPU seconds": f"{seconds:.1f}",
        "of the captures": f"{ratio:.2f}",
    }


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        rows = measured(Path(directory))
    report("Capturing small models of one's own", rows)


if __name__ == "__main__":
    main()
