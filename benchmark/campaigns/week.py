"""Week: five days of a company with a zoo of its own, on Ray with two nodes, Milvus and Prometheus.

Monday all models; Tuesday ten new, five gone, three changed by their imports, a model that hangs,
and the driver killed; Wednesday another encoder beside the old one, the switch, and back;
Thursday the store away, a full disk, a token taken away, and an increment; Friday back to how
Tuesday was. After each day every row, every label and the answers are compared with what a build
from nothing gives.
"""

import json
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any, Final

import numpy as np
import psutil
import yaml
from encoding import small_default
from graphs import graph_of
from milvus_server import free_port, running_milvus
from nodes import Nodes, running_nodes
from prometheus_server import Prometheus, prometheus
from waiting import wait_for

from benchmark.campaigns.campaign import Options, Tally, main, option
from benchmark.campaigns.processes import same_imports
from benchmark.campaigns.served import Served
from benchmark.campaigns.week_fresh import read_rows
from benchmark.campaigns.week_zoo import WeekZoo
from nar.answers.query import Answer, Query
from nar.answers.retrieve import Retriever
from nar.base.errors import NarError
from nar.client.client import Client
from nar.client.remote import ServiceError
from nar.corpus import read_cards
from nar.encoding.embed import save_checkpoint
from nar.encoding.stored import StoredEmbedder
from nar.graphs.architecture import Architecture, Labels, architecture
from nar.graphs.canonical import canonical
from nar.index.architecture_index import ArchitectureIndex
from nar.index.exact import ExactIndex
from nar.index.rows import Hit, IndexEntry, IndexRow
from nar.index.settings import IndexConfig

# One try of a model that hangs takes so long: on a machine that has much else to do, the first
# model of a worker, which imports transformers, takes half of it. Two workers, and small batches,
# so that a killed driver has some behind it.
SIZES: Final = """
extract: {num_workers: 2, limit_s: 60, batch_size: 8, batch_s: 2}
embed: {num_workers: 2, part_rows: 32}
"""
# How long something is waited for before it is a fault: ten times of what it takes alone on two
# cores, as nothing here measures time and other processes may have the cores.
JOB_LIMIT_S: Final = 3600.0
SEEN_LIMIT_S: Final = 600.0
STORE_BACK_S: Final = 600.0
ALERT_LIMIT_S: Final = 600.0
# What an answer may differ by where the same graph was embedded beside others.
NEAR: Final = 1e-4
# Chosen: rows that are asked with after each day; all rows are compared without a question.
ASKED, TOP_K = 24, 10
CANDIDATE: Final = "candidate"
# A file may not become larger: a store takes some rows and then has no room.
DISK_BYTES: Final = 150_000
FILLING: Final = 400
PAUSE_S: Final = 0.05
DAYS: Final = 5
COLUMNS: Final = tuple(each.name for each in fields(IndexEntry))


@dataclass(frozen=True, kw_only=True)
class Week(Options):
    """How large, and on which store."""

    models: int = option(300, "models of the zoo on Monday")
    store: str = option("lite", "where the index is", choices=("lite", "server"))
    away_s: float = option(75.0, "seconds that the store is away on Thursday")

    @property
    def variant(self) -> str:
        """The store."""
        return self.store


def week(told: Week) -> Iterator[Tally]:
    """Live through it, day by day."""
    with ExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="week-")))
        company = Deployment(place, stack, told)
        days = (
            company.monday,
            company.tuesday,
            company.wednesday,
            company.thursday,
            company.friday,
        )
        for done, day in enumerate(days, start=1):
            try:
                day()
            except BaseException:
                # What was found until then counts.
                yield company.tally(done - 1)
                raise
            yield company.tally(done)


class Deployment:
    """Its zoo, its cluster, its index, its server, and who watches them.

    Args:
        place: Folder of everything.
        stack: Ends what is started.
        told: How large, and on which store.

    Attributes:
        figures: CPU seconds of each step, and what else was counted.
        faults: What must not be.
    """

    def __init__(self, place: Path, stack: ExitStack, told: Week) -> None:
        self.figures: dict[str, float] = {}
        self.faults: list[str] = []
        self._place, self._stack, self._options = place, stack, told
        self._zoo = WeekZoo(place / "zoo", told.models)
        self._work = place / "work"
        self._sizes = place / "sizes.yaml"
        self._sizes.write_text(SIZES)
        self._nodes: Nodes = stack.enter_context(running_nodes(2))
        self._milvus_port = free_port()
        self._uri = str(place / "mine.db")
        if told.store == "server":
            (place / "milvus").mkdir()
            self._milvus = self._started_milvus()
            self._uri = self._milvus.uri
        self._tokens = place / "readers.txt"
        self._tokens.write_text("team-a\nteam-b\n")
        self._servers = {
            alias: self._server_of(alias) for alias in (IndexConfig().alias, CANDIDATE)
        }
        stack.callback(self._kill_servers)
        self._prometheus: Prometheus | None = None
        self._fresh: dict[str, list[IndexRow]] = {}

    def tally(self, days: int) -> Tally:
        """What was found, after so many days: models on each day are what is compared."""
        models = self._options.models
        return Tally(days * models, DAYS * models, dict(self.figures), tuple(self.faults))

    # The days.

    def monday(self) -> None:
        """All models, by two commands."""
        self._zoo.monday()
        with self._step("mon_extract"):
            self._job("extract", str(self._zoo.root))
        with self._step("mon_embed"):
            self._job("embed", *self._index())
        self._build_anew("monday", self._work / "checkpoint")
        self._compare("monday", "monday")
        target = self._servers[IndexConfig().alias].metrics_url
        self._prometheus = self._stack.enter_context(
            prometheus(self._place, target.split("/")[2], jobs=self._work / "metrics")
        )

    def tuesday(self) -> None:
        """Models come, go and change; one hangs, and the driver is killed meanwhile."""
        self._zoo.tuesday()
        with self._step("tue_killed"):
            self.figures["kept_by_the_killed"] = self._kill_an_extraction()
        with self._step("tue_extract"):
            self._job("extract", str(self._zoo.root))
        with self._step("tue_embed"):
            self._job("embed", "--remove", *self._index())
        self._build_anew("tuesday", self._work / "checkpoint")
        changed = {row.exact for row in self._fresh["tuesday"] if row.name.startswith("late/")}
        if changed & {row.exact for row in self._fresh["monday"]}:
            self.faults.append("tuesday: the module that was changed changes nothing")
        self._compare("tuesday", "tuesday")

    def wednesday(self) -> None:
        """Another encoder: refused in place, built beside under an alias, switched to, and back."""
        other = self._place / "other"
        save_checkpoint(other / "checkpoint", small_default())
        corpus = ("--corpus", str(self._work / "corpus"))
        with self._step("wed_refused"):
            self._job("embed", *corpus, *self._index(), work=other, wanted=1)
        with self._step("wed_embed"):
            self._job("embed", *corpus, *self._index(CANDIDATE), work=other)
        self._build_anew("candidate", other / "checkpoint")
        self._compare("wednesday, switched", "candidate", CANDIDATE)
        self._compare("wednesday, back", "tuesday")

    def thursday(self) -> None:
        """The store goes, the disk is full, a token is taken away; models go, a label changes."""
        with self._step("thu_away"):
            self._lose_the_store()
        self._compare("thursday, the store back", "tuesday")
        if self._options.store == "lite":
            with self._step("thu_full"):
                self._fill_the_disk()
        with self._step("thu_token"):
            self._take_a_token_away()
        self._zoo.thursday()
        with self._step("thu_extract"):
            self._job("extract", str(self._zoo.root))
        with self._step("thu_embed"):
            self._job("embed", "--remove", *self._index())
        self._build_anew("thursday", self._work / "checkpoint")
        self._compare("thursday", "thursday")

    def friday(self) -> None:
        """Back to how Tuesday was, under load where the store takes jobs beside a server."""
        history = json.loads(self._nar("index", "history", "--json"))["jobs"]
        first = history[0]["number"]
        self.figures["jobs_in_history"] = len(history)
        with self._step("fri_rollback"):
            if self._options.store == "server":
                with self._load("friday"):
                    self._nar("index", "rollback", str(first), "--json")
            else:
                self._nar("index", "rollback", str(first), "--json")
        self._compare("friday", "tuesday")
        self._watched()

    # Jobs.

    def _job(self, name: str, *options: str, work: Path | None = None, wanted: int = 0) -> None:
        """Run a job to its end; another exit code than the wanted one is a fault."""
        self._make_room()
        done = subprocess.run(
            self._command(name, *options, work=work),
            capture_output=True,
            text=True,
            check=False,
            timeout=JOB_LIMIT_S,
            env=self._nodes.job_environment(),
            cwd=self._place,
        )
        if done.returncode != wanted:
            self.faults.append(f"{name} ended with {done.returncode}: {done.stderr[-600:]}")

    def _command(self, name: str, *options: str, work: Path | None = None) -> list[str]:
        where = ("--work", str(work or self._work), "--cluster-config", str(self._sizes))
        return [sys.executable, "-m", f"cluster.{name}", *options, *where]

    def _index(self, alias: str = IndexConfig().alias) -> tuple[str, ...]:
        """Options that say where the index is."""
        path = self._place / f"{alias}.yaml"
        settings = {"uri": self._uri, "alias": alias, "timeout_s": 60.0}
        path.write_text(yaml.safe_dump({"index": settings}))
        return ("--config", str(path))

    def _kill_an_extraction(self) -> int:
        """Kill a driver that waits for a model that hangs; gives how many captures it has kept."""
        journal = self._work / "ledger/extract/journal"
        before = {*journal.glob("*.parquet")}
        process = subprocess.Popen(
            self._command("extract", str(self._zoo.root)),
            env=self._nodes.job_environment(),
            cwd=self._place,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        with suppress(AssertionError):  # it ended before anything was kept, or never kept any
            wait_for(
                lambda: {*journal.glob("*.parquet")} > before,
                or_ended=process,
                limit_s=SEEN_LIMIT_S,
            )
        process.send_signal(signal.SIGKILL)
        process.wait()
        kept = sum(len(read_cards(path)) for path in {*journal.glob("*.parquet")} - before)
        if not kept:
            self.faults.append("tuesday: the killed driver has kept no capture")
        return kept

    def _nar(self, *words: str) -> str:
        """What a command of `nar` on the index says."""
        self._make_room()
        command = [sys.executable, "-c", "from nar.cli.app import app; app()", *words]
        done = subprocess.run(
            [*command, *self._index(), "--work", str(self._work)],
            capture_output=True,
            text=True,
            check=False,
            timeout=JOB_LIMIT_S,
            env=same_imports(),
            cwd=self._place,
        )
        if done.returncode:
            self.faults.append(f"nar {' '.join(words)}: {done.stderr[-600:]}")
        return done.stdout

    def _build_anew(self, day: str, checkpoint: Path) -> None:
        """Capture and embed the zoo with nothing that was kept."""
        out = self._place / f"{day}.json"
        command = [sys.executable, "-m", "benchmark.campaigns.week_fresh"]
        told = (str(self._zoo.root), str(checkpoint), str(out), *sorted(self._zoo.failing))
        with self._step(f"{day}_anew"):
            subprocess.run(
                [*command, *told],
                check=True,
                env=same_imports(),
                cwd=self._place,
                timeout=JOB_LIMIT_S,
                stderr=subprocess.DEVNULL,
            )
        self._fresh[day] = read_rows(out)

    # Servers.

    def _server_of(self, alias: str) -> Served:
        work = self._place / "other" if alias == CANDIDATE else self._work
        index = {"uri": self._uri, "alias": alias, "follow_s": 0.5, "timeout_s": 5.0}
        server = {"reader_tokens_file": str(self._tokens), "probe_interval_s": 0.5}
        settings: dict[str, dict[str, Any]] = {"index": index, "server": server}
        return Served(self._place / f"server-{alias}", settings, work=work)

    def _kill_servers(self) -> None:
        for server in self._servers.values():
            server.kill()

    def _make_room(self) -> None:
        """A `.db` belongs to one process."""
        if self._options.store == "lite":
            for server in self._servers.values():
                server.stop()

    @contextmanager
    def _asking(self, alias: str = IndexConfig().alias, token: str = "team-a") -> Iterator[Client]:
        server = self._servers[alias]
        if not (server.process and server.process.poll() is None):
            self._make_room()
            server.start()
        with Client(server.target, token=token) as client:
            yield client

    @contextmanager
    def _load(self, day: str) -> Iterator[None]:
        """Somebody asks all the time, and is always answered."""
        ending, calls = Event(), [0]
        name = self._fresh["tuesday"][0].name

        def ask() -> None:
            with self._asking() as client:
                while not ending.wait(PAUSE_S):
                    try:
                        client.search(name)
                        calls[0] += 1
                    except NarError as error:
                        self.faults.append(f"{day}: a call failed: {error}")

        with ThreadPoolExecutor(1) as pool:
            asking = pool.submit(ask)
            wait_for(lambda: calls[0] > 0 or asking.done(), limit_s=SEEN_LIMIT_S)
            try:
                yield
            finally:
                ending.set()
            asking.result()
        self.figures["calls_under_rollback"] = calls[0]

    # What goes wrong on Thursday.

    def _lose_the_store(self) -> None:
        """A server whose store is away answers from memory, says so, and stays ready."""
        name = self._fresh["tuesday"][0].name
        with self._asking() as client:
            if self._options.store == "lite":
                _kill_lite(self._servers[IndexConfig().alias])
                client.search(name)
                return
            self._milvus.signal(signal.SIGKILL)
            self._milvus.process.wait()
            gone = time.monotonic()
            self._becomes("thursday: stale_since is not said", partial(_is_stale, client, name))
            if self._metric("nar_serving") != 1 or self._metric("nar_index_stale") != 1:
                self.faults.append("thursday: a server with rows in memory is not ready, or silent")
            if self._options.away_s > ALERT_AFTER_S:
                self._fires("NarStoreAway")
            Event().wait(max(0.0, self._options.away_s - (time.monotonic() - gone)))
            if not client.search(name).hits:
                self.faults.append("thursday: no answer from memory")
            self._milvus = self._started_milvus()
            limit_s = STORE_BACK_S
            text = "thursday: still stale, though the store is back"
            self._becomes(text, lambda: not _is_stale(client, name), limit_s)

    def _fill_the_disk(self) -> None:
        """A write without room is refused with the words, and loses nothing; an alert says it."""
        self._make_room()
        server = self._writable_server()
        server.start()
        written: list[str] = []
        try:
            with Client(server.target, token="writer") as client:
                said = _filled(client, written)
            if "RESOURCE_EXHAUSTED" not in said or "disk" not in said:
                self.faults.append(f"thursday: a full disk is told as {said!r}")
            if server.metric("nar_store_errors_total", kind="full") < 1:
                self.faults.append("thursday: nar_store_errors_total has no full disk")
            self._fires("NarStoreFull")
        finally:
            server.stop()
        if written:
            self._nar("index", "remove", *written, "--json")
        self._compare("thursday, room again", "tuesday")

    def _writable_server(self) -> Served:
        """A server at the address of the other one, on a disk that is nearly full."""
        usual = self._servers[IndexConfig().alias]
        writers = self._place / "writers.txt"
        writers.write_text("writer\n")
        settings: dict[str, dict[str, Any]] = {
            "index": {"uri": self._uri},
            "server": {
                "writable": True,
                "writer_tokens_file": str(writers),
                "port": int(usual.target.rpartition(":")[2]),
                "metrics_port": int(usual.metrics_url.split("/")[2].rpartition(":")[2]),
            },
        }
        place = self._place / "server-full"
        return Served(place, settings, file_bytes=DISK_BYTES, work=self._work)

    def _take_a_token_away(self) -> None:
        """Who has it is refused from then on; the other one is not."""
        with self._asking(token="team-b") as other, self._asking() as client:
            other.describe()
            self._tokens.write_text("team-a\n")
            self._becomes("thursday: a token that is gone lets in", partial(_is_refused, other))
            client.describe()

    def _becomes(
        self, fault: str, condition: Callable[[], bool], limit_s: float = SEEN_LIMIT_S
    ) -> None:
        try:
            wait_for(condition, limit_s=limit_s)
        except AssertionError:
            self.faults.append(fault)

    def _fires(self, alert: str) -> None:
        """Wait until Prometheus lets an alert fire."""
        told = f'ALERTS{{alertname="{alert}", alertstate="firing"}}'
        watching = self._prometheus
        assert watching is not None, "Monday comes first"
        self._becomes(f"{alert} did not fire", lambda: bool(watching.values(told)), ALERT_LIMIT_S)

    def _watched(self) -> None:
        """Prometheus has the last success of both jobs, and no alert says that one is late."""
        assert self._prometheus is not None
        for job in ("extract", "embed"):
            said = f'nar_job_last_success_timestamp_seconds{{name="{job}"}}'
            if not self._prometheus.values(said):
                self.faults.append(f"friday: Prometheus does not know when {job} succeeded")
        if self._prometheus.values('ALERTS{alertname="NarJobLate"}'):
            self.faults.append("friday: a job is called late")

    def _metric(self, name: str) -> float:
        return self._servers[IndexConfig().alias].metric(name)

    def _started_milvus(self) -> Any:
        return self._stack.enter_context(running_milvus(self._place / "milvus", self._milvus_port))

    # What a build from nothing gives.

    def _compare(self, when: str, day: str, alias: str = IndexConfig().alias) -> None:
        """Rows, labels and answers of an index and its server, beside those of a fresh build."""
        fresh = self._fresh[day]
        with self._step(f"{when.replace(', ', '_').replace(' ', '_')}_compared"):
            self._make_room()
            config = IndexConfig(uri=self._uri, alias=alias, timeout_s=60.0)
            with ArchitectureIndex(config) as index:
                held = [stored.row for page in index.live.pages() for stored in page]
            self.faults += [f"{when}: {each}" for each in row_faults(held, fresh)]
            with self._asking(alias) as client:
                wanted = entries_of(fresh)
                text = f"{when}: the server never had the rows of a fresh build"
                self._becomes(text, lambda: entries_of([*client.list()]) == wanted)
                work = self._place / "other" if alias == CANDIDATE else self._work
                embedder = StoredEmbedder(work / "checkpoint")
                faults = answer_faults(client, fresh, embedder)
                self.faults += [f"{when}: {each}" for each in faults]
        self.figures["rows_compared"] = self.figures.get("rows_compared", 0) + len(fresh)

    @contextmanager
    def _step(self, name: str) -> Iterator[None]:
        """Note the CPU seconds of a step, those of all processes below this one."""
        before = cpu_s()
        yield
        key = f"{name}_cpu_s"
        self.figures[key] = round(self.figures.get(key, 0.0) + cpu_s() - before, 1)


# After how long the alert on a store that is away fires: its rule waits for a minute.
ALERT_AFTER_S: Final = 70.0


def cpu_s() -> float:
    """CPU seconds of this process and of all below it so far, those that have ended included."""
    own = [resource.getrusage(each) for each in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    total = sum(each.ru_utime + each.ru_stime for each in own)
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            times = process.cpu_times()
            total += times.user + times.system + times.children_user + times.children_system
    return total


def entries_of(rows: Sequence[IndexEntry]) -> dict[str, tuple[object, ...]]:
    """All that an index says of rows, labels included, by name."""
    return {row.name: tuple(getattr(row, column) for column in COLUMNS) for row in rows}


def row_faults(held: Sequence[IndexRow], fresh: Sequence[IndexRow]) -> Iterator[str]:
    """Where the rows of an index are not those of a fresh build."""
    here, there = ({row.name: row for row in rows} for rows in (held, fresh))
    if lost := sorted(there.keys() - here.keys()):
        yield f"{len(lost)} rows are missing, such as {lost[0]}"
    if more := sorted(here.keys() - there.keys()):
        yield f"{len(more)} rows should not be there, such as {more[0]}"
    for name in sorted(here.keys() & there.keys()):
        one, other = here[name], there[name]
        wrong = [each for each in COLUMNS if getattr(one, each) != getattr(other, each)]
        if wrong:
            values = ", ".join(
                f"{each} {getattr(one, each)} for {getattr(other, each)}" for each in wrong
            )
            yield f"{name} has {values}"
        if not np.allclose(one.embedding, other.embedding, atol=NEAR):
            yield f"{name} has another vector"


def answer_faults(
    client: Client, fresh: Sequence[IndexRow], embedder: StoredEmbedder
) -> Iterator[str]:
    """Where a server answers otherwise than the rows of a fresh build."""
    rows = ExactIndex(list(fresh), dim=len(fresh[0].embedding))
    retriever = Retriever(embedder, rows)
    for row in list(fresh)[:: max(1, len(fresh) // ASKED)]:
        answer = client.search(row.name, top_k=TOP_K)
        wanted = retriever.answer(Query(row.name, len(fresh)))
        if fault := _answer_fault(answer, wanted.hits):
            yield f"{row.name}: {fault}"


def _answer_fault(answer: Answer, wanted: Sequence[Hit]) -> str:
    """What is wrong with an answer; equally near hits may stand in any order."""
    scores = {hit.name: hit.score for hit in wanted}
    if not answer.hits:
        return "no hits"
    least = wanted[min(len(answer.hits), len(wanted)) - 1].score
    for hit in answer.hits:
        score = scores.get(hit.name)
        if score is None:
            return f"{hit.name} is no row"
        if abs(score - hit.score) > NEAR or score < least - NEAR:
            return f"{hit.name} has {hit.score:.5f} for {score:.5f}, the last is {least:.5f}"
    return ""


def _is_stale(client: Client, name: str) -> bool:
    return client.search(name).stale_since is not None


def _is_refused(client: Client) -> bool:
    try:
        client.describe()
    except ServiceError as error:
        return error.code == "UNAUTHENTICATED"
    return False


def _kill_lite(server: Served) -> None:
    """End the process of Milvus Lite beside a server."""
    for process in psutil.Process(server.pid).children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            if any("nar.index.lite" in word for word in process.cmdline()):
                process.kill()


def _filled(client: Client, written: list[str]) -> str:
    """Write until there is no room; gives what the refusal says."""
    for number in range(FILLING):
        try:
            [known] = client.upsert([_filling(number)])
        except ServiceError as error:
            return str(error)
        if isinstance(known, NarError):
            return str(known)
        written.append(known.name)
    return "nothing: all was written"


def _filling(number: int) -> Architecture:
    text = "; ".join(["input", *(f"conv {at}" for at in range(1 + number % 5))])
    labels = Labels(f"filling/{number}", "own", "own 1", "filling", "none")
    return architecture(labels, canonical(graph_of(text)))


if __name__ == "__main__":
    main(Week, week)
