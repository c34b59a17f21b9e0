import logging

import pytest

from nar.base.errors import ConfigError
from nar.base.files import WatchedFiles


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "number.txt"
    path.write_text("1")
    return path


def number_in(path):
    """What reads a file that holds one number."""

    def read():
        try:
            return int(path.read_text())
        except ValueError as error:
            raise ConfigError(f"no number in {path}") from error

    return read


def test_content_is_read_once_until_a_file_changes(path):
    readings = []
    watched = WatchedFiles("the numbers", [path], lambda: readings.append(path.read_text()))
    watched.content()
    watched.content()
    path.write_text("22")
    watched.content()
    watched.content()
    assert readings == ["1", "22"]


def test_a_file_at_fault_is_complained_of_once_and_its_last_content_stays(path, caplog):
    watched = WatchedFiles("the numbers", [path], number_in(path))
    path.write_text("none")
    assert [watched.content(), watched.content()] == [1, 1]
    path.unlink()
    assert [watched.content(), watched.content()] == [1, 1]
    path.write_text("333")
    assert watched.content() == 333
    complaints = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert [line.split(":")[0] for line in complaints] == ["the numbers stay as they were"] * 2
    assert "no number" in complaints[0]
    assert "No such file" in complaints[1]


def test_each_of_several_files_is_watched(tmp_path):
    paths = [tmp_path / name for name in "ab"]
    for path in paths:
        path.write_text("old")
    watched = WatchedFiles("the notes", paths, lambda: [path.read_text() for path in paths])
    paths[1].write_text("newer")
    assert watched.content() == ["old", "newer"]


def test_the_first_reading_raises(path):
    path.write_text("none")
    with pytest.raises(ConfigError, match="no number"):
        WatchedFiles("the numbers", [path], number_in(path))


def test_nothing_is_read_after_the_stop(path, caplog):
    caplog.set_level(logging.INFO)
    watched = WatchedFiles("the numbers", [path], number_in(path))
    watched.stop()
    path.write_text("22")
    assert watched.content() == 1
    assert not caplog.records
