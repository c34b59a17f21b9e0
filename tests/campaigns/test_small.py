"""Every campaign at a small size, with a fixed seed."""

import pytest

from benchmark.campaigns.campaign import last
from benchmark.campaigns.damage import Damage, damage
from benchmark.campaigns.faults import Faults, faults
from benchmark.campaigns.heavy import Heavy, heavy
from benchmark.campaigns.inputs import Inputs, inputs
from benchmark.campaigns.kills import Kills, kills
from benchmark.campaigns.model import Model, model
from benchmark.campaigns.overload import Overload, overload
from benchmark.campaigns.rolling import Rolling, rolling
from benchmark.campaigns.soak import Soak, soak
from benchmark.campaigns.statuses import Statuses, statuses, untold
from benchmark.campaigns.store import Store, store
from benchmark.campaigns.week import Week, week


@pytest.mark.slow
def test_no_acknowledged_row_is_lost_when_its_writer_is_killed():
    assert last(kills(Kills(kills=3, rows=1_500))).faults == ()


# Kinds that need no Milvus server: a job that a failed step ends is run once more, and repairs what
# it left. What kills workers, drivers and nodes takes minutes, and `tests/cluster` kills them too.
@pytest.mark.ray
@pytest.mark.parametrize(
    ("only", "runs"),
    [("rename fails", 1), pytest.param("[!m]*", 3, marks=pytest.mark.faults)],
)
def test_a_bulk_job_that_is_broken_leaves_the_same_or_is_repaired(tmp_path, only, runs):
    told = Faults(runs=runs, only=only, kept=str(tmp_path / "runs.jsonl"))
    assert last(faults(told)).faults == ()


@pytest.mark.faults
@pytest.mark.milvus_server
def test_no_acknowledged_row_is_lost_when_milvus_is_killed():
    assert last(kills(Kills(kills=3, rows=1_500, store="server"))).faults == ()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("store", "operations"),
    [
        ("lite", 200),
        ("reader", 200),
        pytest.param(
            "server", 200, marks=[pytest.mark.faults, pytest.mark.milvus_server], id="server"
        ),
    ],
)
def test_an_index_never_differs_from_a_dictionary(store, operations):
    assert last(model(Model(operations=operations, store=store))).faults == ()


@pytest.mark.ray
@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(
    "store",
    [
        pytest.param("lite", marks=pytest.mark.faults),
        pytest.param("server", marks=[pytest.mark.faults, pytest.mark.milvus_server], id="server"),
    ],
)
def test_a_week_leaves_what_a_fresh_build_gives(store):
    assert last(week(Week(models=30, store=store, away_s=3.0))).faults == ()


@pytest.mark.slow
def test_bad_inputs_are_refused():
    assert last(inputs(Inputs(inputs=500, clients=4))).faults == ()


@pytest.mark.slow
def test_every_status_is_met():
    assert last(statuses(Statuses())).faults == ()


def test_every_status_is_told_and_has_a_scene():
    assert list(untold()) == []


@pytest.mark.parametrize(
    ("of", "file"),
    [
        ("atlas", "config.json"),
        pytest.param("store", "manifest.json", marks=pytest.mark.faults),
    ],
)
@pytest.mark.slow
def test_a_damaged_file_never_changes_an_answer(of, file):
    tally = last(damage(Damage(samples=1, only=file, of=of)))
    assert tally.done == tally.wanted
    assert tally.faults == ()


# These measure times, which no test does: here they come to their end, whatever they find.
@pytest.mark.faults
@pytest.mark.parametrize(
    ("campaign", "told"),
    [
        (heavy, Heavy(seconds=10, callers=4)),
        (rolling, Rolling(restarts=2)),
        (overload, Overload(seconds=3)),
        (soak, Soak(minutes=0.2, looks=4)),
        pytest.param(store, Store(rounds=1), marks=pytest.mark.milvus_server),
        pytest.param(faults, Faults(runs=2, only="milvus*"), marks=pytest.mark.milvus_server),
    ],
)
def test_a_campaign_comes_to_its_end(campaign, told):
    tally = last(campaign(told))
    assert tally.done == tally.wanted
