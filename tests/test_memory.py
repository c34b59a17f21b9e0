"""Memory of a process: how many arenas its threads take it from, and what Arrow uses."""

import subprocess
import sys
from xml.etree import ElementTree

SHARING = """
import ctypes, sys
from threading import Barrier, Thread

import pyarrow as pa
from nar.memory import share_memory

if sys.argv[1] == "shared":
    share_memory()
libc, together = ctypes.CDLL(None), Barrier(8)
libc.malloc.restype = libc.fopen.restype = ctypes.c_void_p

def allocate():
    together.wait()
    libc.malloc(5_000)

threads = [Thread(target=allocate) for _ in range(8)]
for each in threads:
    each.start()
for each in threads:
    each.join()
file = libc.fopen(sys.argv[2].encode(), b"w")
libc.malloc_info(0, ctypes.c_void_p(file))
libc.fclose(ctypes.c_void_p(file))
print(pa.default_memory_pool().backend_name)
"""


def arenas_of(how, path):
    """Arenas of a process with eight threads, and the allocator of Arrow."""
    command = [sys.executable, "-c", SHARING, how, str(path)]
    pool = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
    return len(ElementTree.parse(path).getroot().findall("heap")), pool


def test_threads_and_arrow_share_two_arenas_once_they_are_told(tmp_path):
    assert arenas_of("shared", tmp_path / "shared.xml") == (2, "system")
    assert arenas_of("alone", tmp_path / "alone.xml")[0] > 2
