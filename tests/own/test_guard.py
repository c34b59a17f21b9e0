"""What a user's own code tries while it is asked about, and what comes of it."""

import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from nar.base.asking import Allowance, Asking
from nar.base.errors import CaptureError, RefusedError
from nar.own import capture_architecture, landlock
from nar.own.guard import Guard, scratch_folder

NET = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.c = nn.Conv2d(3, 8, 3)
    def forward(self, x):
        return self.c(x)
"""


@pytest.fixture
def marker(tmp_path):
    return tmp_path / "it_ran.txt"


def net(folder: Path, *lines: str) -> str:
    """The name of a network in a file that begins with some lines."""
    path = folder / "net.py"
    path.write_text("\n".join([*lines, "from torch import nn", NET]))
    return f"{path}:Net"


def factory(folder: Path, *lines: str) -> str:
    """The name of a function that makes a network after some lines, the first its second."""
    path = folder / "net.py"
    body = "\n".join(f"    {line}" for line in [*lines, "return nn.Conv2d(3, 8, 3)"])
    path.write_text(f"from torch import nn; import os, torch\ndef make():\n{body}\n")
    return f"{path}:make"


def skipped(name: str, *allowed: Allowance) -> tuple[str, ...]:
    assumed = capture_architecture(name, Asking(allowed=frozenset(allowed))).assumed
    return assumed.skipped if assumed else ()


INSTALLS_ON_IMPORT = """
import os
import re
from torch import nn
try: import absent_package_of_nobody
except ImportError: os.system("echo 'stands for: pip install -U something' > {marker}")
class Net(nn.Module):
    def __init__(self): super().__init__(); self.c = nn.Conv2d(3, 8, 3)
    def forward(self, x): return self.c(x)
"""


def test_an_import_that_installs_is_refused_and_quoted(tmp_path, marker):
    path = tmp_path / "net.py"
    path.write_text(INSTALLS_ON_IMPORT.format(marker=marker))
    try:
        refused = skipped(f"{path}:Net")
    except CaptureError as error:
        refused = (error.reason,)
    assert not marker.exists()
    # Where the package is taken to be there, nothing was tried.
    assert all("net.py:6 wanted to run 'echo 'stands for: pip" in each for each in refused)


# What is tried, and the sentence that quotes it; {0} is a path that must not come to be.
ATTEMPTS = {
    "system": ("import os; os.system('touch {0}')", r"run 'touch .*it_ran.txt'"),
    "shell": ("import subprocess; subprocess.run('touch {0}', shell=True)", r"run 'touch .*'"),
    "list": ("import subprocess; subprocess.run(['touch', 'a b'])", r"run 'touch 'a b''"),
    "spawn": ("import os; os.posix_spawn('/bin/touch', ['touch', '{0}'], {{}})", r"run 'touch "),
    "fork": ("import os; os.fork() or os._exit(0)", r"start a process"),
    "write": ("open('{0}', 'w').write('x')", r"write .*it_ran.txt"),
    "append": ("import logging; logging.FileHandler('{0}')", r"write .*it_ran.txt"),
    "folder": ("import os; os.makedirs('{0}/deep')", r"make the folder .*it_ran.txt"),
    "link": ("import os; os.symlink('/', '{0}')", r"make the link .*it_ran.txt"),
    "database": ("import sqlite3; sqlite3.connect('{0}')", r"write .*it_ran.txt"),
    "thread": (
        "import threading; t = threading.Thread(target=lambda: open('{0}', 'w')); "
        "t.start(); t.join()",
        r"write .*it_ran.txt",
    ),
    "pool": (
        "from concurrent.futures import ThreadPoolExecutor as Pool; "
        "Pool().submit(open, '{0}', 'w').result()",
        r"write .*it_ran.txt",
    ),
    "fetch": ("from urllib.request import urlopen; urlopen('http://localhost:9/x')", r"fetch http"),
    "connect": (
        "import socket; socket.create_connection(('127.0.0.1', 9))",
        r"look up 127.0.0.1",
    ),
    "listen": ("import socket; socket.socket().bind(('127.0.0.1', 9))", r"listen on 127.0.0.1:9"),
}


# The thread's own error is raised nowhere, and Python warns of it.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_what_nobody_asked_for_is_refused_and_quoted(tmp_path, marker, attempt):
    line, sentence = ATTEMPTS[attempt]
    lines = ["try:", f"    {line.format(marker)}", "except PermissionError: pass"]
    # The code goes on as if nothing had happened, and its owner is told all the same.
    [refused] = skipped(net(tmp_path, *lines))[:1]
    lifts = {"fetch": "network", "connect": "network", "listen": "network"}.get(attempt, "writes")
    if attempt in ("system", "shell", "list", "spawn", "fork"):
        lifts = "commands"
    assert re.match(
        rf"net.py:2 wanted to {sentence}.*: refused \(--allow {lifts} lets it\)", refused
    )
    assert not os.path.lexists(marker)


def test_what_lies_outside_the_temporary_folder_stays(tmp_path):
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "results.csv").write_text("1")
    lines = [
        "import os, shutil",
        *(
            f"try: {line}\nexcept PermissionError: pass"
            for line in (
                f"shutil.rmtree({str(kept)!r})",
                f"os.remove({str(kept / 'results.csv')!r})",
                f"os.rename({str(kept)!r}, {str(tmp_path / 'moved')!r})",
                f"os.truncate({str(kept / 'results.csv')!r}, 0)",
                f"os.chmod({str(kept / 'results.csv')!r}, 0)",
            )
        ),
    ]
    refused = skipped(net(tmp_path, *lines))
    verbs = [each.split("wanted to ")[1].split()[0] for each in refused]
    assert verbs == ["delete", "delete", "rename", "empty", "change"]
    assert (kept / "results.csv").read_text() == "1"


@pytest.mark.parametrize(
    "line",
    [
        "import ctypes; ctypes.CDLL(None).system(b'touch {0}')",
        "import ctypes; ctypes.CDLL(None).creat(b'{0}', 0o600)",
        "import _thread, time; _thread.start_new_thread(open, ('{0}', 'w')); time.sleep(0.1)",
    ],
)
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_the_kernel_refuses_what_python_does_not_see(tmp_path, marker, line):
    if not landlock.restricts():
        pytest.skip("this kernel has no Landlock")
    capture_architecture(net(tmp_path, line.format(marker)))
    assert not marker.exists()


def test_an_error_of_a_library_in_c_names_the_way_out(tmp_path, marker):
    if not landlock.restricts():
        pytest.skip("this kernel has no Landlock")
    with pytest.raises(CaptureError, match=r"Permission denied; .*--allow writes"):
        capture_architecture(factory(tmp_path, f"torch.save({{}}, {str(marker)!r})"))


def test_code_that_stops_at_a_refusal_says_only_that(tmp_path, marker):
    name = factory(tmp_path, f"os.system('touch {marker}')")
    with pytest.raises(CaptureError) as failure:
        capture_architecture(name)
    sentence = f"net.py:3 wanted to run 'touch {marker}': refused (--allow commands lets it)"
    assert failure.value.reason == sentence


def test_code_that_fails_after_a_refusal_says_both(tmp_path):
    lines = ["try: os.system('make')", "except OSError: pass", "import made_by_nobody"]
    with pytest.raises(CaptureError, match=r"made_by_nobody.*; before that net.py:3 wanted to run"):
        capture_architecture(factory(tmp_path, *lines, "made_by_nobody.start()"))


def test_a_statement_of_a_file_that_is_refused_is_left_out_and_said(tmp_path, marker):
    name = net(tmp_path, f"import os; os.system('touch {marker}')")
    refused = f"net.py:1 wanted to run 'touch {marker}': refused (--allow commands lets it)"
    assert any(
        each.startswith("net.py: line 1: only definitions were run") for each in skipped(name)
    )
    assert refused in skipped(name)
    assert not marker.exists()


@pytest.mark.parametrize(
    ("line", "allowance"),
    [
        ("open({0!r}, 'w').close()", Allowance.WRITES),
        (
            "import socket; socket.getaddrinfo('localhost', 80)",
            Allowance.NETWORK,
        ),
        ("import subprocess; subprocess.run(['true'], check=True)", Allowance.COMMANDS),
    ],
)
def test_each_allowance_lifts_its_refusal(tmp_path, marker, line, allowance):
    name = factory(tmp_path, line.format(str(marker)))
    others = set(Allowance) - {allowance}
    with pytest.raises(CaptureError, match=rf"--allow {allowance} lets it"):
        skipped(name, *others)
    assert skipped(name, allowance) == ()


HARMLESS = """
import importlib, json, os, signal, socket, sqlite3, sys, tempfile
from multiprocessing import Lock
Lock()
open(__file__).read()
os.makedirs(os.path.dirname(__file__), exist_ok=True)
open(os.devnull, "w").write("x")
with tempfile.TemporaryDirectory() as folder:
    open(os.path.join(folder, "a"), "w").write("x")
    os.mkdir(os.path.join(folder, "b"))
    os.rename(os.path.join(folder, "a"), os.path.join(folder, "b", "c"))
tempfile.NamedTemporaryFile().write(b"x")
tempfile.TemporaryFile().write(b"x")
sqlite3.connect(":memory:").execute("create table t (x)")
socket.socketpair()[0].close()
signal.signal(signal.SIGUSR1, signal.SIG_IGN)
free = socket.socket()
free.bind(("127.0.0.1", 0))
free.close()
import ctypes.util, platform
platform.processor(), ctypes.util.find_library("c")
import neighbour
"""


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_what_harms_nobody_is_free(tmp_path):
    (tmp_path / "neighbour.py").write_text("x = 1\n")
    before = signal.getsignal(signal.SIGUSR1)
    assert skipped(net(tmp_path, HARMLESS)) == ()
    assert {each.name for each in tmp_path.iterdir()} == {"net.py", "neighbour.py"}
    assert signal.getsignal(signal.SIGUSR1) == before


def test_the_process_is_afterwards_as_it_was(tmp_path):
    before = dict(os.environ), signal.signal, threading.Thread.start, sys.dont_write_bytecode
    guard = Guard()
    assert guard.run(lambda: os.environ["TMPDIR"]) == str(scratch_folder())
    after = dict(os.environ), signal.signal, threading.Thread.start, sys.dont_write_bytecode
    assert before == after
    (tmp_path / "free").write_text("the caller's thread is not restricted")


def test_a_guard_inside_of_a_guard_lets_nothing_more(marker):
    outer, inner = Guard(), Guard(Allowance)
    with pytest.raises(RefusedError):
        outer.run(lambda: inner.run(lambda: marker.write_text("x")))
    assert not marker.exists()


def test_a_thread_outlives_its_guard_under_guard(marker):
    go_on, done, errors = threading.Event(), threading.Event(), []

    def write():
        go_on.wait()
        try:
            marker.write_text("x")
        except PermissionError as error:
            errors.append(error)
        done.set()

    Guard().run(lambda: threading.Thread(target=write).start())
    go_on.set()
    done.wait()
    assert [type(error) for error in errors] == [RefusedError]


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), ValueError("x")])
def test_what_code_raises_reaches_the_caller(error):
    def stop():
        raise error

    with pytest.raises(type(error)):
        Guard().run(stop)


INTERRUPTED = """
import signal, threading
from nar.own.guard import Guard
ended = threading.Event()
def loop():
    try:
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        while True: pass
    finally: ended.set()
try: Guard().run(loop)
except KeyboardInterrupt: print("interrupted", ended.wait(300))
"""


@pytest.mark.slow
def test_ctrl_c_stops_the_code_that_is_asked_about():
    command = [sys.executable, "-c", INTERRUPTED]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.stdout.strip() == "interrupted True", done.stderr


@pytest.mark.slow
def test_the_temporary_folder_ends_with_its_process():
    program = (
        "from nar.own.guard import Guard; from nar.own.guard import scratch_folder as f\n"
        "Guard().run(lambda: (f() / 'x').write_text('x')); print(f())"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert Path(done.stdout.strip()).name.startswith("nar-"), done.stderr
    assert not Path(done.stdout.strip()).exists()


SETTLED = """
from pathlib import Path
folder = Path.home() / "{folder}"
if not (folder / "settings.ini").exists():
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "settings.ini").write_text("new")
settings = (folder / "settings.ini").read_text()
beside = sorted(each.name for each in folder.parent.iterdir())
"""


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A home with a few files, and where a library is installed that settles there."""
    home = tmp_path / "home"
    (home / ".config/other").mkdir(parents=True)
    (home / "mine.txt").write_text("mine")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.syspath_prepend(str(tmp_path / "site-packages"))
    (tmp_path / "site-packages").mkdir()
    # Each test has a home of its own, and a process lends one.
    lent = scratch_folder() / "home"
    if lent.exists():
        shutil.rmtree(lent)
    return home


def installed(tmp_path: Path, name: str, folder: str) -> None:
    (tmp_path / f"site-packages/{name}.py").write_text(SETTLED.format(folder=folder))


def files_of(home: Path) -> list[str]:
    return sorted(str(each.relative_to(home)) for each in home.rglob("*"))


@pytest.mark.parametrize("folder", [".settled", ".config/settled", ".new/of/settled"])
def test_a_library_that_settles_at_home_settles_elsewhere(tmp_path, home, folder):
    name = f"settles_{folder.count('/')}_{len(folder)}"
    installed(tmp_path, name, folder)
    before = files_of(home)
    lines = (f"from {name} import settings, beside", "assert settings == 'new', settings")
    assert skipped(net(tmp_path, *lines)) == ()
    assert files_of(home) == before
    assert os.environ["HOME"] == str(home)


def test_what_is_at_home_is_found_where_a_library_settles_elsewhere(tmp_path, home):
    installed(tmp_path, "settles_beside", ".config/beside")
    lines = (
        "from pathlib import Path",
        "from settles_beside import beside",
        "assert beside == ['beside', 'other'], beside",
        "assert (Path.home() / 'mine.txt').read_text() == 'mine'",
    )
    assert skipped(net(tmp_path, *lines)) == ()


def test_code_of_the_user_s_own_settles_nowhere(tmp_path, home):
    before = files_of(home)
    line = "from pathlib import Path; (Path.home() / '.mine').mkdir()"
    with pytest.raises(CaptureError, match=r"wanted to make the folder .*\.mine: refused"):
        capture_architecture(net(tmp_path, line).replace(":Net", ":Gone"))
    assert files_of(home) == before


def test_a_library_does_not_change_what_is_at_home(tmp_path, home):
    (home / ".kept").mkdir()
    (home / ".kept/settings.ini").write_text("old")
    changes = "from pathlib import Path\n(Path.home() / '.kept/settings.ini').write_text('new')\n"
    (tmp_path / "site-packages/changes_settings.py").write_text(changes)
    [said] = skipped(net(tmp_path, "try: import changes_settings", "except OSError: pass"))
    assert "wanted to write" in said
    assert (home / ".kept/settings.ini").read_text() == "old"
