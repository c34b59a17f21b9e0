"""Spreads tests over processes: `pytest --processes 4`.

One process collects and then forks. So everything is imported once, for 20 s of a core and 800 MB
that the forks share; processes that collect by themselves, as those of pytest-xdist do, take that
each. A warning is an error here, so that reports are all that a fork has to tell.
"""

import atexit
import io
import os
from collections import defaultdict
from multiprocessing import connection, get_context

import pytest
from _pytest.config import create_terminal_writer

FORK = get_context("fork")
# Bytes of the number of a scope in the pipe from which processes take their turns.
TURN = 4


class Spread:
    """Runs the tests of a session in forks; tests of one scope run in one process, in order."""

    def __init__(self, processes, scope_of):
        """``scope_of`` gives the scope of an item; scopes begin in the order of their items."""
        self.processes = processes
        self.scope_of = scope_of

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session):
        """Run all that was collected; pytest's own loop does where that needs no second process."""
        scopes = defaultdict(list)
        for item in session.items:
            scopes[self.scope_of(item)].append(item)
        processes = min(self.processes, len(scopes))
        if session.config.option.collectonly or session.testsfailed or processes < 2:
            return None
        # Made before, so that forks do not each make one, and remove what others still need.
        session.config._tmp_path_factory.getbasetemp()
        turns = queued(len(scopes))
        forks = {}
        for _ in range(processes):
            here, there = FORK.Pipe(duplex=False)
            # A fork ends where nobody is left to read its reports, itself and other forks included.
            ours = [here, *forks]
            fork = FORK.Process(target=work, args=(session, [*scopes.values()], turns, there, ours))
            fork.start()
            there.close()
            forks[here] = fork
        try:
            follow(session, forks, turns)
        finally:
            end(turns)
            for fork in forks.values():
                fork.join()
        if session.shouldfail:
            raise session.Failed(session.shouldfail)
        return True


def queued(count):
    """Give a pipe that holds the numbers below ``count``: who reads one has that turn."""
    turns, entry = os.pipe()
    os.write(entry, b"".join(number.to_bytes(TURN) for number in range(count)))
    os.close(entry)
    return turns


def end(turns):
    """Take all turns that are left, so that no process begins another scope."""
    while os.read(turns, TURN):
        pass


def follow(session, forks, turns):
    """Report what forks say until the last has ended."""
    hook = session.config.hook
    running = {}
    while readers := [reader for reader in forks if not reader.closed]:
        for reader in connection.wait(readers):
            try:
                started, data = reader.recv()
            except EOFError:
                reader.close()
                forks[reader].join()
                if reader in running or forks[reader].exitcode:
                    hook.pytest_runtest_logreport(report=died(forks[reader], running.get(reader)))
                continue
            if started is not None:
                running[reader] = started
            elif data is None:
                running.pop(reader, None)
            else:
                report = hook.pytest_report_from_serializable(config=session.config, data=data)
                hook.pytest_runtest_logreport(report=report)
        if session.shouldfail or session.shouldstop:
            end(turns)


def died(fork, nodeid):
    """Give the failure of a test that ended its process; what followed it there was not run."""
    nodeid = nodeid or "tests"
    place = (nodeid.partition("::")[0], None, nodeid)
    said = (
        f"the process of this test ended with {fork.exitcode}, and what it had yet to run did not"
    )
    return pytest.TestReport(nodeid, place, {}, "failed", said, "call")


def work(session, scopes, turns, reports, ours):
    """Run scopes, turn by turn, in a fork."""
    for reader in ours:
        reader.close()
    plugins = session.config.pluginmanager
    # What a process captures lies in a file, and a fork has a place in it with all others.
    capture = plugins.getplugin("capturemanager")
    capture.stop_global_capturing()
    capture.start_global_capturing()
    capture.suspend_global_capture()
    # The process that reads the reports prints them.
    plugins.getplugin("terminalreporter")._tw = create_terminal_writer(
        session.config, io.StringIO()
    )
    plugins.register(Sender(session.config, reports))
    items = taken(scopes, turns)
    try:
        item = next(items, None)
        while item and not session.shouldfail and not session.shouldstop:
            following = next(items, None)
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            item = following
        reports.send((None, None))
    finally:
        session._setupstate.teardown_exact(None)
        # Servers of Milvus Lite and others end so, which a fork leaves out before Python 3.13.
        atexit._run_exitfuncs()


def taken(scopes, turns):
    """Yield the tests of one turn after the other, while some are left."""
    while turn := os.read(turns, TURN):
        yield from scopes[int.from_bytes(turn)]


class Sender:
    """Sends what a fork reports: ``(test that starts, None)``, ``(None, report)``."""

    def __init__(self, config, reports):
        self.config = config
        self.reports = reports

    def pytest_runtest_logstart(self, nodeid):
        """Say what is run next: where it ends the process, nobody else can."""
        self.reports.send((nodeid, None))

    def pytest_runtest_logreport(self, report):
        """Send a report of a phase of a test."""
        to_data = self.config.hook.pytest_report_to_serializable
        self.reports.send((None, to_data(config=self.config, report=report)))
