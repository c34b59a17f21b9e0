"""The follower: how it finds out that rows in memory are no longer those of the collection."""

from threading import Event

import pytest
from backends import ENCODER
from oracle import DIM, row

from nar.base.errors import IndexUnavailableError
from nar.index.architecture_index import ArchitectureIndex
from nar.index.collection import Collection
from nar.index.exact import ExactIndex
from nar.index.following import Follower
from nar.index.lite import DamagedIndexError
from nar.index.publishing import CHANGED
from nar.index.rows import architecture_id
from nar.index.settings import IndexConfig

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


@pytest.mark.slow
def test_a_look_compares_a_part_of_the_rows(index, monkeypatch):
    """All at once would keep a core busy for seconds, beside who searches."""
    monkeypatch.setattr("nar.index.following._ROWS_A_LOOK", 2)
    follower = following()
    follower.look(index)
    held = follower.rows
    assert held.count() == len(ROWS)
    compared = []
    monkeypatch.setattr(Collection, "digests_between", lambda _, *part: compared.append(part) or {})
    monkeypatch.setattr(ExactIndex, "digests_between", lambda *_: {})
    follower.look(index)
    assert not compared  # they were just read
    monkeypatch.setattr(follower, "_compare_at", 0.0)
    for _ in range(100):
        follower.look(index)
    assert len(compared) == len(set(compared)) > 10
    assert (compared[0][0], compared[-1][1]) == ("0" * 32, "g")
    with pytest.raises(IndexUnavailableError), follower.writing(index):
        raise IndexUnavailableError("nobody knows what was written")
    compared.clear()
    follower.look(index)
    assert (compared[0][0], compared[-1][1]) == ("0" * 32, "g")  # all
    assert follower.rows is held


@pytest.mark.slow
def test_a_write_of_its_own_lets_no_look_compare(index, monkeypatch):
    follower = following()
    follower.look(index)
    with follower.writing(index):
        mine = [row("mine", 1, 1)]
        mark(index, "mine")
        index.upsert(mine)
        follower.written(mine, ())
    compared = []
    monkeypatch.setattr(Collection, "digests_between", lambda _, *part: compared.append(part) or {})
    follower.look(index)
    assert not compared
    mark(index, "of another process")
    with pytest.raises(DamagedIndexError):  # for no row comes
        follower.look(index)
    assert compared


@pytest.mark.slow
def test_written_rows_are_folded_in_by_a_look(index, monkeypatch):
    monkeypatch.setattr("nar.index.following._FOLDED_FROM", 3)
    follower = following()
    follower.look(index)
    for number, unfolded in enumerate([1, 2, 3]):
        mine = [row(f"mine {number}", 1, 1)]
        with follower.writing(index):
            index.upsert(mine)
            follower.written(mine, ())
        assert follower.rows.unfolded == unfolded
    held, folded = follower.rows, ExactIndex.folded

    def meanwhile(rows):
        """A write comes while rows are folded, which is not lost."""
        with follower.writing(index):
            index.upsert([row("meanwhile", 1, 1)])
            follower.written([row("meanwhile", 1, 1)], [architecture_id("mine 1")])
        return folded(rows)

    monkeypatch.setattr(ExactIndex, "folded", meanwhile)
    follower.look(index)
    names = {each.name for each in follower.rows.rows()}
    assert names == {each.name for each in held.rows()} - {"mine 1"} | {"meanwhile"}
    assert follower.rows.unfolded == 2  # what came meanwhile: a row, and a deletion


@pytest.mark.slow
def test_of_rows_that_others_wrote_only_these_are_read(index, monkeypatch):
    follower = following()
    follower.look(index)
    before = follower.rows
    monkeypatch.setattr("nar.index.following.read_rows", refuse)
    asked = []
    rows = Collection.rows
    monkeypatch.setattr(Collection, "rows", lambda *wanted: asked.append(wanted) or rows(*wanted))
    index.live.upsert([row("n1", 1, 1, family="renamed"), row("new", 1, 1)])
    index.live.delete([architecture_id("n2")])
    mark(index, "of another process")
    follower.look(index)
    kept = follower.rows
    assert kept.get(["n1"])["n1"].family == "renamed"
    assert kept.get(["n2", "new"]).keys() == {"new"}
    assert kept.count() == before.count() == len(ROWS)
    [(_, wanted)] = asked
    assert len(wanted["id"]) == 2


def mark(index, text):
    """Milvus Lite is written by one process only, and so its writes are not marked."""
    index.live.milvus.client.alter_collection_properties(index.live.name, {CHANGED: text})


@pytest.mark.slow
@pytest.mark.parametrize("family", ["of the files", ROWS[1].family])
def test_files_that_answered_before_are_compared_with_pauses(index, monkeypatch, family):
    """A server has just begun then, and its first callers would wait."""
    monkeypatch.setattr("nar.index.following._ROWS_A_LOOK", 10)
    files = [row("n1", 1, 1, family=family), *(each for each in ROWS if each.name != "n1")]
    ending = Pauses()
    follower = following(ExactIndex(files, dim=DIM), ending)
    follower.look(index)
    assert follower.rows.get(["n1"])["n1"].family == ROWS[1].family
    if family == ROWS[1].family:
        assert ending.count == 4  # as many parts of ten rows


@pytest.mark.slow
def test_what_could_not_be_read_anew_is_found_again(index, monkeypatch):
    follower = following()
    follower.look(index)
    index.live.upsert([row("n1", 1, 1, family="renamed")])
    monkeypatch.setattr(follower, "_compare_at", 0.0)
    with monkeypatch.context() as broken:
        broken.setattr(Collection, "rows", refuse)
        with pytest.raises(IndexUnavailableError):
            follower.look(index)
    follower.look(index)
    assert follower.rows.get(["n1"])["n1"].family == "renamed"


def refuse(*_):
    raise IndexUnavailableError("no page comes")
