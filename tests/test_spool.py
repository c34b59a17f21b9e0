"""Arrays on disk: what was appended is read, and nothing of it is left behind."""

import numpy as np
import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from nar.encoding.collecting import Spool

TYPES = (np.uint8, np.int64, np.uint64, np.float32)


@pytest.mark.slow
@given(st.data(), st.sampled_from(TYPES))
def test_what_was_appended_is_read(data, dtype):
    pieces = data.draw(st.lists(arrays(dtype, st.integers(0, 20)), max_size=6))
    spool = Spool(dtype)
    for piece in pieces:
        spool.append(piece)
    whole = spool.array()
    assert whole.dtype == dtype
    assert whole.tobytes() == b"".join(piece.tobytes() for piece in pieces)


def test_every_other_item_of_an_array_can_be_appended():
    spool = Spool(np.int64)
    spool.append(np.arange(6)[::2])
    assert spool.array().tolist() == [0, 2, 4]


def test_what_is_read_cannot_be_written():
    spool = Spool(np.int64)
    spool.append(np.arange(3))
    with pytest.raises(ValueError, match="read-only"):
        spool.array()[0] = 1


def test_files_have_no_name_and_go_with_their_reader(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    before = open_files()
    spool = Spool(np.int64)
    spool.append(np.arange(100_000))
    whole = spool.array()
    assert whole[-1] == 99_999
    assert not list(tmp_path.iterdir())
    del spool, whole
    assert open_files() == before


def test_a_spool_that_is_given_up_is_closed():
    before = open_files()
    spool = Spool(np.int64)
    assert open_files() == before + 1
    del spool
    assert open_files() == before


def open_files() -> int:
    return psutil.Process().num_fds()
