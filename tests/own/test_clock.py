"""Code that runs too long is ended, and what it imports is imported whole as far as that ends."""

import sys
import threading
import time

import pytest

from nar.own.clock import Deadline, OutOfTimeError, ending

# Each loop has an end of its own, so that what is not ended fails and does not hang.
LOOP = "import time\nend = time.thread_time() + {seconds}\nwhile time.thread_time() < end: pass\n"
ASKING = """
from contextlib import ExitStack
from nar.own.clock import Deadline, OutOfTimeError, ending
is_ended = False
try:
    with ExitStack() as stack:
        stack.enter_context(ending(Deadline(0)))
        import time
        end = time.thread_time() + 5
        while time.thread_time() < end: pass
except OutOfTimeError:
    is_ended = True
"""


@pytest.fixture
def modules(tmp_path, monkeypatch):
    """A folder whose files are imported; a deadline ends at once."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr("nar.own.clock._GRACE", 0.01)
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        del sys.modules[name]


def test_an_import_is_ended_with_the_second_bound(modules, monkeypatch):
    monkeypatch.setattr("nar.own.clock._IMPORTING", 0.05)
    (modules / "part_without_end.py").write_text(LOOP.format(seconds=5))
    with pytest.raises(OutOfTimeError), ending(Deadline(0)):
        import part_without_end  # noqa: F401
    assert "part_without_end" not in sys.modules


@pytest.mark.slow
def test_an_import_is_whole_and_what_follows_it_is_ended(modules):
    (modules / "slow_part.py").write_text(LOOP.format(seconds=0.2) + "width = 8\n")

    def run():
        import slow_part  # noqa: F401

        end = time.thread_time() + 5
        while time.thread_time() < end:
            pass

    with pytest.raises(OutOfTimeError), ending(Deadline(0)):
        run()
    assert sys.modules["slow_part"].width == 8


def test_what_is_imported_itself_has_a_deadline(modules):
    (modules / "module_with_a_deadline.py").write_text(ASKING)
    import module_with_a_deadline

    assert module_with_a_deadline.is_ended


def test_a_thread_that_has_ended_has_no_time_left():
    kept = []
    thread = threading.Thread(target=lambda: kept.append(Deadline(60)))
    thread.start()
    thread.join()
    [deadline] = kept
    assert 0 <= deadline.left <= 60
