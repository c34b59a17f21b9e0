"""Store: the Milvus behind a server of the atlas hangs, is slow, gone, restarted; disks fill.

Searches must end in time with a status that says it, `nar_serving` must fall, by which the alert
pages, and once the store is back all is well again without a restart of the server.
"""

import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Final

import grpc
from milvus_server import MilvusServer, free_port, running_milvus
from pymilvus import MilvusClient, MilvusException
from waiting import wait_for

from benchmark.campaigns.asked import by_vector, vectors_of
from benchmark.campaigns.campaign import Options, Tally, main, option
from benchmark.campaigns.ledger import Ledger, held_by, make_live
from benchmark.campaigns.processes import same_imports
from benchmark.campaigns.served import Served, served
from nar.answers.atlas import read_atlas, shipped_atlas
from nar.answers.atlas_store import open_atlas
from nar.index.settings import IndexConfig
from nar.v1 import retrieval_pb2 as wire

ROWS: Final = 20_000
# Enough to begin with, and not for all.
STORE_BYTES: Final = 100_000
CACHE_BYTES: Final = 1_000_000
LIMIT_S: Final = 300.0
TIMEOUT_S: Final = 2.0
PROBE_S: Final = 1.0
# Two of the server's own time limits: it tries once more where the alias may have been switched.
STATUS_S: Final = 3 * TIMEOUT_S
DEADLINE_S: Final = 30.0
NOTICED_S: Final = 15.0
RECOVERED_S: Final = 60.0
# Milvus itself, which after a kill does not always come up.
STORE_BACK_S, STARTS = 150.0, 3
# The index itself is asked for every search, and given up soon.
SETTINGS: Final = {
    "index": {"kind": "HNSW", "timeout_s": TIMEOUT_S, "reader_rows": 0},
    "server": {"probe_interval_s": PROBE_S},
}
CLEAR: Final = {"UNAVAILABLE", "DEADLINE_EXCEEDED"}
STORING_S: Final = 120.0
STOPPED_S, GOING_S = 0.3, 0.1
SLOW_S: Final = 10.0


def full_store_faults() -> list[str]:
    """What is wrong with a store of Milvus Lite whose disk filled while rows were written."""
    with tempfile.TemporaryDirectory() as directory:
        store, ledger = str(Path(directory) / "index.db"), Ledger()
        make_live(store)
        numbers = map(str, (0, ROWS, 1, STORE_BYTES))
        command = [sys.executable, "-m", "benchmark.campaigns.writer", "live", store, *numbers]
        ended = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
            env=same_imports(),
        )
        ledger.read(ended.stdout.splitlines())
        faults = [f"full store: {each}" for each in ledger.compare(held_by(store, "live"))]
    if not ended.returncode:
        faults.append("full store: it was never full")
    *_, end = ended.stderr.strip().splitlines() or ["nothing"]
    if ended.returncode and not end.startswith("nar."):
        faults.append(f"full store: the writer ended with {end}")
    return faults


def full_cache_faults() -> list[str]:
    """What is wrong with a server of the atlas that cannot store it."""
    request = wire.SearchRequest(queries=[wire.Query(architecture="timm:resnet50")])
    with (
        tempfile.TemporaryDirectory() as directory,
        served(Path(directory), file_bytes=CACHE_BYTES) as server,
    ):
        server.settle()
        with server.asking() as stub:
            [result] = stub.Search(request).results
        log = server.log.read_text()
    faults = [] if result.hits else ["full cache: no answer from the files"]
    if "answering from files alone" not in log:
        faults.append("full cache: it was never full")
    if "Traceback" in log:
        faults.append("full cache: the log has a traceback")
    return faults


@dataclass(frozen=True, kw_only=True)
class Store(Options):
    """How often."""

    rounds: int = option(3, "how often each fault is made")


def store(told: Store) -> Iterator[Tally]:
    """Make each fault in turn."""
    with tempfile.TemporaryDirectory() as directory, ExitStack() as stack:
        behind = ServerWithStore(Path(directory), stack, told.seed)
        scenes: list[Callable[[], list[str]]] = [
            *(behind.hung, behind.slow, behind.gone, behind.restarted),
            full_store_faults,
            full_cache_faults,
        ] * told.rounds
        faults: list[str] = []
        for done, scene in enumerate(scenes, start=1):
            faults += scene()
            yield Tally(done, len(scenes), dict(behind.figures), tuple(faults))


class ServerWithStore:
    """A server of the atlas, and the Milvus server behind it.

    Attributes:
        figures: The longest times, by what was waited for.
    """

    def __init__(self, directory: Path, stack: ExitStack, seed: int) -> None:
        self.figures: dict[str, float] = {}
        self._milvus_directory = directory / "milvus"
        self._milvus_directory.mkdir()
        self._port, self._stack = free_port(), stack
        self._vectors = vectors_of(read_atlas(shipped_atlas()).rows, seed)
        self._milvus = self._started()
        # With patience, as the server has little: it would answer from its files for good.
        patient = IndexConfig(uri=self._milvus.uri, kind="HNSW", timeout_s=STORING_S)
        open_atlas(shipped_atlas(), patient, Event()).close()
        index = {**SETTINGS["index"], "uri": self._milvus.uri}
        self._server: Served = stack.enter_context(
            served(directory / "server", {**SETTINGS, "index": index})
        )
        self._server.settle()
        assert "files alone" not in self._server.log.read_text(), "Milvus is not asked"

    def _started(self) -> MilvusServer:
        return self._stack.enter_context(running_milvus(self._milvus_directory, self._port))

    def hung(self) -> list[str]:
        """The store takes connections and answers nothing."""
        self._milvus.signal(signal.SIGSTOP)
        try:
            faults = self._is_noticed("hung")
        finally:
            self._milvus.signal(signal.SIGCONT)
        return faults + self._is_well("hung")

    def slow(self) -> list[str]:
        """The store stands still most of the time: calls end, one way or another."""
        ending = Event()
        with ThreadPoolExecutor(1) as pool:
            going = pool.submit(self._stutter, ending)
            end, faults = time.monotonic() + SLOW_S, []
            while time.monotonic() < end:
                faults += self._search("slow", {"OK"} | CLEAR)
            ending.set()
            going.result()
        return faults + self._is_well("slow")

    def gone(self) -> list[str]:
        """The store is killed, and comes back later."""
        self._milvus.signal(signal.SIGKILL)
        self._milvus.process.wait()
        faults = self._is_noticed("gone")
        self._milvus = self._started()
        return faults + self._is_well("gone")

    def restarted(self) -> list[str]:
        """The store is restarted at once."""
        self._milvus.signal(signal.SIGTERM)
        self._milvus.signal(signal.SIGKILL)
        self._milvus.process.wait()
        self._milvus = self._started()
        return self._is_well("restarted")

    def _await_store(self, scene: str) -> None:
        """Wait until the store itself answers; if it does not come up, it is started once more."""
        began = time.monotonic()
        for _ in range(STARTS):
            with suppress(AssertionError):
                wait_for(self._store_answers, limit_s=STORE_BACK_S)
                break
            self._milvus.signal(signal.SIGKILL)
            self._milvus.process.wait()
            self._milvus = self._started()
        self._longest(f"{scene}_store_s", time.monotonic() - began)

    def _store_answers(self) -> bool:
        """Whether a client that knows nothing of what happened is answered."""
        try:
            client = MilvusClient(self._milvus.uri, timeout=TIMEOUT_S, dedicated=True)
        except MilvusException:
            return False
        try:
            vector = self._vectors[0].tolist()
            client.search(IndexConfig().alias, [vector], limit=1, timeout=TIMEOUT_S)
        # Where an answer is late, grpc's own error comes through.
        except (MilvusException, grpc.RpcError):
            return False
        finally:
            client.close()
        return True

    def _stutter(self, ending: Event) -> None:
        while not ending.is_set():
            self._milvus.signal(signal.SIGSTOP)
            ending.wait(STOPPED_S)
            self._milvus.signal(signal.SIGCONT)
            ending.wait(GOING_S)

    def _is_noticed(self, scene: str) -> list[str]:
        """What is wrong while the store does not answer."""
        faults = self._search(scene, CLEAR)
        if not self._takes(scene, "noticed", lambda: self._server.metric("nar_serving") == 0):
            faults.append(f"{scene}: nar_serving did not fall, and nobody is paged")
        return faults + self._search(scene, CLEAR)

    def _is_well(self, scene: str) -> list[str]:
        """What is wrong once the store is back, which is not what is measured."""
        self._await_store(scene)

        def is_well() -> bool:
            return self._server.metric("nar_serving") == 1 and not self._search(scene, {"OK"})

        return [] if self._takes(scene, "recovered", is_well) else [f"{scene}: it did not recover"]

    def _takes(self, scene: str, what: str, condition: Callable[[], bool]) -> bool:
        limit_s, began = {"noticed": NOTICED_S, "recovered": RECOVERED_S}[what], time.monotonic()
        try:
            wait_for(condition, limit_s=limit_s)
        except AssertionError:
            return False
        finally:
            self._longest(f"{scene}_{what}_s", time.monotonic() - began)
        return True

    def _search(self, scene: str, wanted: set[str]) -> list[str]:
        """What is wrong with one search: its status, or how long it took."""
        request, began = by_vector(self._vectors[0]), time.monotonic()
        with self._server.asking() as stub:
            code = _code_of(stub.Search.future(request, timeout=DEADLINE_S))
        seconds = time.monotonic() - began
        self._longest(f"{scene}_status_s", seconds)
        faults = [] if code in wanted else [f"{scene}: a search ended with {code}"]
        late = seconds > STATUS_S
        return faults + ([f"{scene}: a search ended after {seconds:.1f} s"] if late else [])

    def _longest(self, name: str, seconds: float) -> None:
        self.figures[name] = round(max(seconds, self.figures.get(name, 0.0)), 2)


def _code_of(call: grpc.Future) -> str:
    """How a search ended; where it was answered, how its item ended."""
    if call.code() is not grpc.StatusCode.OK:
        return call.code().name
    answer: wire.SearchResponse = call.result()
    status = answer.results[0].status.code
    return "OK" if not status else f"item of code {status}"


if __name__ == "__main__":
    main(Store, store)
