"""The follower: how it finds out that rows in memory are no longer those of the collection."""

from threading import Event

import pytest
from backends import ENCODER
from oracle import DIM, row

from nar.config import IndexConfig
from nar.errors import IndexUnavailableError
from nar.index.architecture_index import ArchitectureIndex
from nar.index.collection import Collection
from nar.index.following import Follower
from nar.index.mirror import Mirror

ROWS = [row(f"n{number}", 1, number) for number in range(40)]


@pytest.fixture
def index(tmp_path):
    with ArchitectureIndex(IndexConfig(uri=str(tmp_path / "index.db"))) as index:
        with index.build(ENCODER, DIM) as build:
            build.upsert(ROWS)
            build.publish()
        yield index


class Pauses(Event):
    """Nobody sets it, and who waits for that does not wait."""

    count = 0

    def wait(self, timeout=None):
        self.count += 1
        return False


def following(held=None, ending=None):
    """What looks a hundred times while it compares once."""
    return Follower(IndexConfig(compare_s=100, follow_s=1), held, ending or Event())


def test_a_look_compares_a_part_of_the_rows(index, monkeypatch):
    """All at once would keep a core busy for seconds, beside who searches."""
    monkeypatch.setattr("nar.index.following._ROWS_A_LOOK", 2)
    follower = following()
    follower.look(index)
    held = follower.mirror
    assert held.rows.count() == len(ROWS)
    compared = []
    monkeypatch.setattr(Collection, "digests_between", lambda _, *part: compared.append(part))
    monkeypatch.setattr(Mirror, "digests_between", lambda *_: None)
    follower.look(index)
    assert not compared  # they were just read
    monkeypatch.setattr(follower, "_compare_at", 0.0)
    for _ in range(100):
        follower.look(index)
    assert len(compared) == len(set(compared)) > 10
    assert (compared[0][0], compared[-1][1]) == ("0" * 32, "g")
    with pytest.raises(IndexUnavailableError), follower.writing():
        raise IndexUnavailableError("nobody knows what was written")
    follower.look(index)
    assert compared[-1] == ("0" * 32, "g")  # all at once
    assert follower.mirror is held


@pytest.mark.parametrize("family", ["of the files", ROWS[1].family])
def test_files_that_answered_before_are_compared_with_pauses(index, monkeypatch, family):
    """A server has just begun then, and its first callers would wait."""
    monkeypatch.setattr("nar.index.following._ROWS_A_LOOK", 10)
    files = [row("n1", 1, 1, family=family), *(each for each in ROWS if each.name != "n1")]
    ending = Pauses()
    follower = following(Mirror.of(files, dim=DIM), ending)
    follower.look(index)
    assert follower.mirror.rows.get(["n1"])["n1"].family == ROWS[1].family
    if family == ROWS[1].family:
        assert ending.count == 4  # as many parts of ten rows


def test_what_could_not_be_read_anew_is_found_again(index, monkeypatch):
    follower = following()
    follower.look(index)
    index.live.upsert([row("n1", 1, 1, family="renamed")])
    monkeypatch.setattr(follower, "_compare_at", 0.0)
    with monkeypatch.context() as broken:
        broken.setattr(Mirror, "read", refuse)
        with pytest.raises(IndexUnavailableError):
            follower.look(index)
    follower.look(index)
    assert follower.mirror.rows.get(["n1"])["n1"].family == "renamed"


def refuse(*_):
    raise IndexUnavailableError("no page comes")
