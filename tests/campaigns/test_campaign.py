"""Campaigns: their options, their lines and the page that is made of these."""

import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
from dataclasses import asdict, dataclass

import pytest
from milvus_server import free_port, is_free

from benchmark.campaigns.bare import bare
from benchmark.campaigns.campaign import Options, Tally, command_of, last, machine, option, parsed
from benchmark.campaigns.faults import Faults, Run, faults, schedule_of
from benchmark.campaigns.heavy import deployed_mb
from benchmark.campaigns.inputs import joined
from benchmark.campaigns.ledger import Ledger, digest_of, id_of
from benchmark.campaigns.load import REFUSED, open_loop
from benchmark.campaigns.processes import slope
from nar.v1 import retrieval_pb2 as wire

COUNTING = """
import sys
from dataclasses import dataclass
from threading import Event
from benchmark.campaigns.campaign import Options, Tally, main, option

@dataclass(frozen=True, kw_only=True)
class Counting(Options):
    until: int = option(3, "how far")

def count(told):
    for number in range(told.until):
        yield Tally(number + 1, told.until, {"number": number})
        if told.until == 9:
            raise ValueError("no ninth")
        if number > 5:
            Event().wait()

sys.argv[0] = "counting.py"
main(Counting, count)
"""


@dataclass(frozen=True, kw_only=True)
class Plain(Options):
    kills: int = option(200, "how often")
    store: str = option("lite", "where", ("lite", "server"))


def test_options_are_read_and_a_command_says_all_of_them(tmp_path):
    told, log = parsed(Plain, ["--kills", "3", "--log", str(tmp_path / "log")])
    assert (told, log) == (Plain(kills=3), tmp_path / "log")
    assert command_of("kills", told) == (
        'make campaign-kills OPTIONS="--seed 1 --kills 3 --store lite"'
    )
    with pytest.raises(SystemExit):
        parsed(Plain, ["--store", "elsewhere"])


def counting(log, *options):
    command = [sys.executable, "-c", COUNTING, "--log", str(log), *options]
    # What the tests import, its own process has to find as well.
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=environment)


def test_a_line_says_how_fast_its_machine_is():
    wanted = r"\d+ cores, \d+ GiB, Python [\d.]+, 10,000 steps of it in \d+\.\d\d ms"
    assert re.fullmatch(wanted, machine())


def test_a_command_names_no_place_of_this_machine(tmp_path):
    told, _ = parsed(Faults, ["--runs", "7", "--kept", str(tmp_path)])
    assert told.kept == str(tmp_path)
    assert command_of("faults", told) == (
        """make campaign-faults OPTIONS="--seed 1 --runs 7 --only '*'\""""
    )


@pytest.mark.slow
def test_a_campaign_prints_its_line_and_adds_it_to_the_log(tmp_path):
    for _ in range(2):
        with counting(tmp_path / "log") as process:
            line = json.loads(process.communicate()[0])
        assert process.returncode == 0
    assert (line["campaign"], line["met"], line["done"], line["figures"]) == (
        "counting",
        True,
        3,
        {"number": 2},
    )
    assert [json.loads(each) for each in (tmp_path / "log").read_text().splitlines()][1] == line


def test_a_campaign_that_is_interrupted_writes_down_what_it_had(tmp_path):
    with counting(tmp_path / "log", "--until", "99") as process:
        for told in process.stderr:
            if told.startswith("counting: 7 of 99"):
                break
        process.send_signal(signal.SIGINT)
        line = json.loads(process.communicate()[0])
    assert process.returncode == 1
    assert (line["finished"], line["met"], line["done"]) == (False, False, 7)


def test_a_campaign_that_fails_says_so_in_its_line(tmp_path):
    with counting(tmp_path / "log", "--until", "9") as process:
        line = json.loads(process.communicate()[0])
    assert (process.returncode, line["finished"], line["done"]) == (1, False, 1)
    assert line["faults"] == ["the campaign ended by ValueError: no ninth"]


@pytest.mark.parametrize(
    ("tally", "is_met"),
    [(Tally(3, 3), True), (Tally(2, 3), False), (Tally(3, 3, faults=("lost",)), False)],
)
def test_a_tally_is_met_when_all_is_done_without_a_fault(tally, is_met):
    assert tally.is_met is is_met
    assert last(iter([Tally(1, 3), tally])) is tally


SAID = ["open", "begin 0 2 1", "done 0 2 1", "begin 0 2 2"]


def held(*versions):
    """What a store holds: a row of each version that is given, in turn."""
    return {
        id_of(number): digest_of(number, version)
        for number, version in enumerate(versions)
        if version
    }


@pytest.mark.parametrize(
    ("rows", "faults"),
    [
        (held(1, 1), 0),
        (held(2, 1), 0),
        (held(2, 2), 0),
        (held(1), 1),
        (held(3, 1), 1),
        (held(1, 1, 1), 1),
    ],
)
def test_rows_are_of_the_version_that_was_acknowledged_or_is_being_written(rows, faults):
    ledger = Ledger()
    ledger.read(SAID)
    assert len(ledger.compare(rows)) == faults


def test_what_was_read_once_may_not_change():
    ledger = Ledger()
    ledger.read(SAID)
    assert ledger.compare(held(2, 1)) == []
    assert len(ledger.compare(held(1, 1))) == 1


def test_the_slope_leaves_out_the_first_quarter():
    assert slope([0, 1, 2, 3, 4], [9, 1, 3, 5, 7]) == 2
    assert slope([0], [9]) == 0


@pytest.mark.slow
def test_the_floor_of_shedding_is_a_server_that_refuses_every_call():
    with bare() as target:
        load = open_loop(target, [("Search", b"")], per_s=50, seconds=1, deadline_s=30, seed=1)
    assert set(load.codes) == {REFUSED}
    assert load.milliseconds([REFUSED], 50) > 0


def test_the_limit_of_memory_is_that_of_the_deployment():
    assert deployed_mb() >= 1_024


def test_two_messages_of_a_method_are_joined_to_a_third_and_others_are_not():
    draw = random.Random(1)
    made = [("Get", wire.GetRequest(architectures=[name]).SerializeToString()) for name in "ab"]
    made += [("Embed", wire.EmbedRequest(graphs=[{}]).SerializeToString())]
    sent = {joined(draw, made) for _ in range(200)}
    asked = {
        "".join(wire.GetRequest.FromString(content).architectures)
        for method, content in sent
        if method == "Get"
    }
    assert asked == {"a", "b", "aa", "ab", "ba", "bb"}
    assert {
        len(wire.EmbedRequest.FromString(content).graphs)
        for method, content in sent
        if method == "Embed"
    } == {1, 2}


def test_a_port_is_not_free_while_a_connection_of_it_is_closing():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert not is_free(port)
        with socket.create_connection(("127.0.0.1", port)) as caller:
            accepted, _ = server.accept()
            # As the kernel does for a server that is killed: its end is closed first.
            accepted.close()
            assert caller.recv(1) == b""
    assert not is_free(port)
    assert is_free(free_port())


def test_every_kind_of_fault_is_made_once_before_one_is_made_again():
    schedule = schedule_of("*")
    kinds = [kind for kind, _ in schedule]
    assert len(set(kinds)) == len(set(kinds[: len(set(kinds))])) == 12
    assert len(set(schedule)) == len(schedule)
    assert schedule_of("poison*") == [("poison models", "extract poison")]


def test_runs_that_were_kept_are_not_made_again(tmp_path, monkeypatch):
    # Nothing is started: all runs of this seed are there, and one of another seed is passed over.
    monkeypatch.setattr("benchmark.campaigns.faults.running_nodes", None)
    ends = ["equal", "repaired", "silently other"]
    made = [Run(n, 1, "disk full", "draw", 1, True, end, "", 1.0) for n, end in enumerate(ends)]
    made.append(Run(1, 2, "disk full", "draw", 1, True, "of another seed", "", 1.0))
    kept = tmp_path / "runs.jsonl"
    kept.write_text("".join(f"{json.dumps(asdict(run))}\n" for run in made))
    tally = last(faults(Faults(runs=3, kept=str(kept))))
    assert tally.figures == {"struck": 3, "equal": 1, "repaired": 1}
    assert tally.faults == ("run 2, disk full, draw: silently other",)
