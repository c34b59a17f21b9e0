"""Attempts: which audit events of Python start programs, open connections or change files.

Names and arguments of the events are those of Python's table of audit events.
"""

import os
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from nar.base.asking import Allowance

Arguments = tuple[Any, ...]
Reader = Callable[[Arguments], "Attempt | None"]


@dataclass(frozen=True, slots=True)
class Attempt:
    """What code is about to do.

    Attributes:
        allowance: What it needs.
        action: What it is, to stand after "wanted to": ``run 'pip install x'``.
        paths: Absolute paths that it would change.
    """

    allowance: Allowance
    action: str
    paths: tuple[str, ...] = ()


def attempt_of(event: str, arguments: Arguments) -> Attempt | None:
    """What an audit event announces; None if it harms nobody.

    Example:
        >>> attempt_of("os.system", (b"pip install x",)).action
        "run 'pip install x'"
        >>> attempt_of("open", ("/etc/hosts", "r", os.O_RDONLY)) is None
        True
    """
    read = _EVENTS.get(event)
    return read(arguments) if read else None


def _run(command: object) -> Attempt:
    return Attempt(Allowance.COMMANDS, f"run '{_command(command)}'")


def _command(command: object) -> str:
    if not isinstance(command, list | tuple):
        return _text(command)
    parts = [_text(part) for part in command]
    # A line for a shell reaches Python's hook as an argument of the shell.
    is_line = len(parts) == 3 and parts[1] == "-c" and Path(parts[0]).name == "sh"
    return parts[2] if is_line else shlex.join(parts)


def _fork(_: Arguments) -> Attempt:
    return Attempt(Allowance.COMMANDS, "start a process")


def _connect(arguments: Arguments) -> Attempt | None:
    return _reach("connect to", arguments[1])


def _send(arguments: Arguments) -> Attempt | None:
    # A message over a connection that stands already names no address.
    return None if arguments[1] is None else _reach("send to", arguments[1])


_OWN_FREE_PORTS: Final = (("127.0.0.1", 0), ("localhost", 0), ("::1", 0))


def _listen(arguments: Arguments) -> Attempt | None:
    # To see whether this machine has IPv6, libraries take a free port of its own for a moment.
    if isinstance(arguments[1], tuple) and arguments[1][:2] in _OWN_FREE_PORTS:
        return None
    return _reach("listen on", arguments[1])


def _look_up(arguments: Arguments) -> Attempt | None:
    # Without a host it is one's own machine that is meant.
    return None if arguments[0] is None else _reach("look up", arguments[0])


def _fetch(arguments: Arguments) -> Attempt | None:
    address = _text(arguments[0])
    is_remote = not address.startswith(("file:", "data:"))
    return Attempt(Allowance.NETWORK, f"fetch {address}") if is_remote else None


def _reach(verb: str, address: object) -> Attempt:
    # Of an address of IPv6 the first two of four parts are host and port.
    parts = address[:2] if isinstance(address, tuple) else (address,)
    return Attempt(Allowance.NETWORK, f"{verb} {':'.join(map(_text, parts))}")


_WRITING: Final = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


def _open(arguments: Arguments) -> Attempt | None:
    path, _, flags = arguments
    # A number is a file that is open already.
    if isinstance(path, int) or not isinstance(flags, int) or not flags & _WRITING:
        return None
    whole = os.path.realpath(os.fsdecode(path))
    return Attempt(Allowance.WRITES, f"write {whole}", (whole,))


def _open_database(arguments: Arguments) -> Attempt | None:
    path = _text(arguments[0])
    # A database that is there may be read only: then nothing is written.
    if path in ("", ":memory:") or path.startswith("file:") or Path(path).exists():
        return None
    whole = os.path.realpath(path)
    return Attempt(Allowance.WRITES, f"write {whole}", (whole,))


def _changes(verb: str, folder_at: int, *, path_at: int = 0) -> Reader:
    """A reader of events that change an entry which is there; without it the call itself fails.

    Args:
        verb: What is done to the entry.
        folder_at: Place of the open folder that a relative path starts from; -1 for none.
        path_at: Place of the path.
    """

    def read(arguments: Arguments) -> Attempt | None:
        path = _entry(arguments, path_at, folder_at)
        if path is None or not os.path.lexists(path):
            return None
        return Attempt(Allowance.WRITES, f"{verb} {path}", (path,))

    return read


def _makes(noun: str, folder_at: int, *, path_at: int = 0) -> Reader:
    """A reader of events that make an entry; where it is there already the call itself fails."""

    def read(arguments: Arguments) -> Attempt | None:
        path = _entry(arguments, path_at, folder_at)
        if path is None or os.path.lexists(path):
            return None
        return Attempt(Allowance.WRITES, f"make the {noun} {path}", (path,))

    return read


def _rename(arguments: Arguments) -> Attempt | None:
    old, new = _entry(arguments, 0, 2), _entry(arguments, 1, 3)
    if old is None or new is None or not os.path.lexists(old):
        return None
    return Attempt(Allowance.WRITES, f"rename {old} to {new}", (old, new))


def _entry(arguments: Arguments, path_at: int, folder_at: int) -> str | None:
    """The absolute path of an entry, which may be a link itself; None for a file that is open."""
    path = arguments[path_at]
    if path is None or isinstance(path, int):
        return None
    written = Path(os.fsdecode(path))
    folder = arguments[folder_at] if 0 <= folder_at < len(arguments) else None
    if isinstance(folder, int) and folder >= 0:
        written = Path(f"/proc/self/fd/{folder}").resolve() / written
    return str(written.parent.resolve() / written.name)


def _text(value: object) -> str:
    return os.fsdecode(value) if isinstance(value, str | bytes | os.PathLike) else str(value)


_EVENTS: Final[Mapping[str, Reader]] = {
    "subprocess.Popen": lambda arguments: _run(arguments[1]),
    "os.system": lambda arguments: _run(arguments[0]),
    "os.exec": lambda arguments: _run(arguments[1]),
    "os.posix_spawn": lambda arguments: _run(arguments[1]),
    "pty.spawn": lambda arguments: _run(arguments[0]),
    "os.fork": _fork,
    "os.forkpty": _fork,
    "socket.connect": _connect,
    "socket.sendto": _send,
    "socket.sendmsg": _send,
    "socket.bind": _listen,
    "socket.getaddrinfo": _look_up,
    "socket.gethostbyname": _look_up,
    "socket.gethostbyaddr": _look_up,
    "socket.getnameinfo": _look_up,
    "urllib.Request": _fetch,
    "open": _open,
    "sqlite3.connect": _open_database,
    "os.remove": _changes("delete", 1),
    "os.rmdir": _changes("delete", 1),
    "shutil.rmtree": _changes("delete", 1),
    "os.truncate": _changes("empty", -1),
    "os.chmod": _changes("change the mode of", 2),
    "os.chown": _changes("change the owner of", 3),
    "os.utime": _changes("change the time of", 3),
    "os.setxattr": _changes("change an attribute of", -1),
    "os.removexattr": _changes("change an attribute of", -1),
    "os.rename": _rename,
    "os.mkdir": _makes("folder", 2),
    "os.symlink": _makes("link", 2, path_at=1),
    "os.link": _makes("link", 3, path_at=1),
}
