"""What a job says: lines in a log, one red line for an error, 130 for ctrl-c."""

import errno
import io

import pytest
import typer
from rich.console import Console

from nar.base import console
from nar.base.console import Pace, progress, reporting_errors
from nar.base.errors import ConfigError
from nar.views import display


def shown(steps: list[int], total: int, *, terminal: bool = False) -> str:
    text = io.StringIO()
    console = Console(file=text, force_terminal=terminal, width=100)
    with progress("capturing", total, console) as advance:
        for amount in steps:
            advance(amount)
    return text.getvalue()


def test_a_log_gets_the_last_line_and_no_bar():
    assert shown([3, 4, 3], 10) == "capturing: 10/10, 0 s left\n"


def test_a_log_gets_lines_on_the_way_with_the_time_left(monkeypatch):
    monkeypatch.setattr(console, "LOG_EVERY_S", 0.0)
    lines = shown([5, 5], 10).splitlines()
    assert [line.split(",")[0] for line in lines] == ["capturing: 5/10", "capturing: 10/10"]


def test_a_terminal_gets_a_bar():
    assert "10/10" in shown([10], 10, terminal=True)


@pytest.mark.parametrize("terminal", [False, True])
def test_groups_are_counted_beside_the_whole(terminal):
    text = io.StringIO()
    to = Console(file=text, force_terminal=terminal, width=120)
    with progress("capturing", 3, to, groups={"timm": 2, "file": 1}) as advance:
        advance(1, group="timm")
        advance(1, group="file", failed=1)
        advance(1, group="timm")
    last = text.getvalue()
    for shown in ("capturing", "3/3", "timm", "2/2", "file", "1/1", "1 failed", "/s"):
        assert shown in last


def test_a_line_tells_of_the_groups_that_changed_since_the_last(monkeypatch):
    monkeypatch.setattr(console, "LOG_EVERY_S", 0.0)
    text = io.StringIO()
    with progress("capturing", 2, Console(file=text), groups={"timm": 1, "file": 1}) as advance:
        advance(1, group="timm")
        advance(1, group="file")
    first, second = text.getvalue().splitlines()
    assert "(timm 1/1, " in first
    assert "(file 1/1, " in second


def test_before_a_first_result_no_time_is_said(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("nar.base.console.time.monotonic", lambda: now[0])
    text = io.StringIO()
    with progress("capturing", 4, Console(file=text)) as advance:
        now[0] = 30
        advance.wait(lambda: {"slow.py:net": 25.0})
    assert text.getvalue() == "capturing: 0/4; waiting for slow.py:net (25 s)\n"


def test_a_log_is_not_silent_while_one_item_takes_long(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("nar.base.console.time.monotonic", lambda: now[0])
    text = io.StringIO()
    with progress("capturing", 4, Console(file=text)) as advance:
        now[0] = 1
        for seconds in (2.0, 4.0, 90.0):
            advance(1, seconds=seconds)
        assert advance.wait(lambda: {"slow.py:net": 1.0}) == 29
        now[0] = 31
        assert advance.wait(lambda: {"slow.py:net": 31.0, "b.onnx": 2.0}) == 30
        assert advance.wait(lambda: {"slow.py:net": 31.0}) == 30
    waited = "waiting for slow.py:net (31 s), b.onnx (2 s)"
    # Four seconds are the median of what is done, and two workers share the item that is left.
    assert text.getvalue() == f"capturing: 3/4, 2 s left; {waited}\n"


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (ConfigError("extract.cpu: unknown"), 1, "error extract.cpu: unknown"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (
            OSError(errno.ENOSPC, "No space left on device", "shard.parquet"),
            1,
            "error the file shard.parquet cannot be kept (No space left on device); mend that",
        ),
    ],
)
def test_errors_become_exit_codes(error, code, said, monkeypatch):
    text = io.StringIO()
    monkeypatch.setattr(console, "stderr", Console(file=text, width=200))

    @reporting_errors
    def command() -> None:
        raise error

    with pytest.raises(typer.Exit) as stopped:
        command()
    assert stopped.value.exit_code == code
    assert said in text.getvalue()


def test_an_error_of_the_system_that_nobody_can_mend_keeps_its_traceback():
    @reporting_errors
    def command() -> None:
        raise FileNotFoundError(errno.ENOENT, "No such file or directory", "internal")

    with pytest.raises(FileNotFoundError):
        command()


@pytest.mark.parametrize(("columns", "lines"), [(None, 1), ("80", 2)])
def test_a_pipe_gets_a_row_on_one_line_unless_somebody_says_how_wide(
    capsys, monkeypatch, columns, lines
):
    monkeypatch.delenv("COLUMNS", raising=False)
    if columns:
        monkeypatch.setenv("COLUMNS", columns)
    console.show({}, lambda: "an " * 50, as_json=False)
    assert len(capsys.readouterr().out.splitlines()) == lines


def test_what_users_name_is_shown_as_they_wrote_it(capsys):
    @reporting_errors
    def command() -> None:
        raise ConfigError("model.py:factory: no [bias] here")

    with pytest.raises(typer.Exit):
        command()
    told = capsys.readouterr()
    assert told.err == "error model.py:factory: no [bias] here\n"
    console.stdout.print(display.properties("net[v2].py:factory:", {"why": "no [bias] :warning:"}))
    told = capsys.readouterr()
    assert "net[v2].py:factory:" in told.out
    assert "no [bias] :warning:" in told.out


def test_the_clock_of_what_is_left_begins_with_the_first_result():
    pace = Pace(began=0.0)
    # Workers start for a minute; then one result comes each second.
    pace.note(60.0, 1)
    pace.note(69.0, 10)
    assert pace.left_s(69.0, done=10, total=100) == 90.0
    assert Pace(began=0.0).left_s(5.0, done=1, total=3) == 10.0


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("\x1b[31mred", "\\x1b[31mred"),
        ("a\x9bb", "a\\x9bb"),
        ("a\u202eb", "a\\u202eb"),
        ("net:\u7f51", "net:\u7f51"),
    ],
)
@pytest.mark.parametrize("is_error", [False, True])
def test_what_would_steer_a_terminal_is_shown_as_an_escape(capsys, name, shown, is_error):
    (console.stderr if is_error else console.stdout).print(display.properties(name, {"why": name}))
    told = capsys.readouterr()
    assert shown in (told.err if is_error else told.out)
    assert "\x1b[31m" not in told.out + told.err
