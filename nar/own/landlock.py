"""Landlock: a thread asks the Linux kernel to refuse it writes, programs and connections.

The kernel sees what Python's audit hooks do not: libraries written in C. Only the thread that asks
is restricted, with the threads and processes that it starts, and nothing lifts that again.
"""

import ctypes
import errno
import os
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Final

from nar.base.asking import Allowance

# Numbers of system calls, the same on every architecture, and of linux/landlock.h, linux/prctl.h.
_CREATE_RULESET: Final = 444
_ADD_RULE: Final = 445  # landlock_add_rule
_RESTRICT_SELF: Final = 446  # landlock_restrict_self
_ASK_VERSION: Final = 1  # LANDLOCK_CREATE_RULESET_VERSION
_PATH_BENEATH: Final = 1  # LANDLOCK_RULE_PATH_BENEATH
_PORT: Final = 2  # LANDLOCK_RULE_NET_PORT
_SET_NO_NEW_PRIVILEGES: Final = 38  # PR_SET_NO_NEW_PRIVS

_EXECUTE: Final = 1 << 0  # the rights of files, as LANDLOCK_ACCESS_FS_ has them
_WRITE_FILE: Final = 1 << 1  # LANDLOCK_ACCESS_FS_WRITE_FILE
_TRUNCATE: Final = 1 << 14  # LANDLOCK_ACCESS_FS_TRUNCATE
# Removing and making of entries: bits 4 to 12.
_CHANGE_FOLDER: Final = sum(1 << bit for bit in range(4, 13))
_REFER: Final = 1 << 13  # LANDLOCK_ACCESS_FS_REFER: to link or move to another folder
_BIND_TCP: Final = 1 << 0  # LANDLOCK_ACCESS_NET_BIND_TCP
_CONNECT_TCP: Final = 1 << 1  # LANDLOCK_ACCESS_NET_CONNECT_TCP

# Version of Landlock -> the right of files that it began to know.
_RIGHTS_TO_WRITE: Final[Mapping[int, int]] = {
    1: _WRITE_FILE | _CHANGE_FOLDER,
    2: _REFER,
    3: _TRUNCATE,
}
_FIRST_WITH_NETWORK: Final = 4  # the version that began to know ports
# Terminals, /dev/null and graphics cards are files that are written to.
_DEVICES: Final = Path("/dev")
# Locks between processes are files of it: a progress bar makes one.
_SHARED_MEMORY: Final = Path("/dev/shm")


class _Ruleset(ctypes.Structure):
    """``struct landlock_ruleset_attr``: what is refused unless a rule allows it."""

    _fields_ = (("files", ctypes.c_uint64), ("network", ctypes.c_uint64))


class _PathBeneath(ctypes.Structure):
    """``struct landlock_path_beneath_attr``: what is allowed below an open folder."""

    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("folder", ctypes.c_int32))


class _Port(ctypes.Structure):
    """``struct landlock_net_port_attr``: what is allowed at a port."""

    _fields_ = (("allowed", ctypes.c_uint64), ("port", ctypes.c_uint64))


def restrict_thread(allowed: Collection[Allowance], writable: Path) -> bool:
    """Let the kernel refuse this thread, for as long as it lives, what is not allowed.

    Args:
        allowed: What is not restricted. Reading never is.
        writable: The folder that may be written to all the same.

    Returns:
        Whether it does; False where the kernel has no Landlock or restricts nobody.
    """
    if not restricts():
        return False
    version = _version()
    writes = sum(bits for since, bits in _RIGHTS_TO_WRITE.items() if since <= version)
    files = (0 if Allowance.WRITES in allowed else writes) | (
        0 if Allowance.COMMANDS in allowed else _EXECUTE
    )
    is_open = Allowance.NETWORK in allowed or version < _FIRST_WITH_NETWORK
    ruleset = _Ruleset(files, 0 if is_open else _BIND_TCP | _CONNECT_TCP)
    # An older kernel does not know the second field.
    size = 8 if version < _FIRST_WITH_NETWORK else ctypes.sizeof(ruleset)
    rules = {writable: writes, _SHARED_MEMORY: writes, _DEVICES: writes & (_WRITE_FILE | _TRUNCATE)}
    try:
        with _closing(_call(_CREATE_RULESET, ctypes.byref(ruleset), size, 0)) as descriptor:
            for folder, rights in rules.items():
                _allow(descriptor, folder, rights & files)
            if not is_open:
                # Libraries take a free port for a moment to see what this machine can do.
                rule = _Port(_BIND_TCP, 0)
                _call(_ADD_RULE, descriptor, _PORT, ctypes.byref(rule), 0)
            _set_no_new_privileges()
            _call(_RESTRICT_SELF, descriptor, 0)
    except OSError:
        return False
    return True


def restricts() -> bool:
    """Whether the kernel has Landlock."""
    return _version() > 0


@cache
def _version() -> int:
    """The version of the kernel's Landlock; 0 where it has none."""
    try:
        return _call(_CREATE_RULESET, None, 0, _ASK_VERSION)
    except (OSError, AttributeError):  # a C library without `syscall` is that of another system
        return 0


def _allow(ruleset: int, folder: Path, rights: int) -> None:
    if not rights or not folder.is_dir():
        return
    with _closing(os.open(folder, os.O_PATH | os.O_CLOEXEC)) as descriptor:
        rule = _PathBeneath(rights, descriptor)
        _call(_ADD_RULE, ruleset, _PATH_BENEATH, ctypes.byref(rule), 0)


def _set_no_new_privileges() -> None:
    """A condition of the kernel: programs that this thread starts gain no rights."""
    if ctypes.CDLL(None, use_errno=True).prctl(_SET_NO_NEW_PRIVILEGES, 1, 0, 0, 0) != 0:
        raise OSError(errno.EPERM, "the kernel grants no restriction")


def _call(number: int, *arguments: object) -> int:
    """The result of a system call.

    Raises:
        OSError: The kernel refuses it.
    """
    library = ctypes.CDLL(None, use_errno=True)
    result = int(library.syscall(number, *arguments))
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


@contextmanager
def _closing(descriptor: int) -> Iterator[int]:
    try:
        yield descriptor
    finally:
        os.close(descriptor)
