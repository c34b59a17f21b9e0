"""Memory of a process: how many arenas its threads take it from, and where Arrow takes it."""

import os
import subprocess
import sys
from xml.etree import ElementTree

import pytest

SHARING = """
import ctypes, os, sys
from threading import Barrier, Thread

from nar.base.process import ENVIRONMENT

if sys.argv[1] == "shared":
    os.environ.update(ENVIRONMENT | os.environ)
import pyarrow as pa
from nar.base.process import share_memory
from pyarrow import parquet

if sys.argv[1] == "shared":
    share_memory()
parquet.write_table(pa.table({"number": range(9)}), sys.argv[2])
parquet.read_table(sys.argv[2])
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
print(pa.mimalloc_memory_pool().max_memory())
"""


def arenas_of(how, path):
    """Arenas of a process with eight threads, and the most bytes that Arrow's allocator had."""
    command = [sys.executable, "-c", SHARING, how, str(path)]
    # Tests of commands have told libraries in this process, too.
    env = {name: told for name, told in os.environ.items() if name != "ARROW_DEFAULT_MEMORY_POOL"}
    most = subprocess.run(command, check=True, capture_output=True, text=True, env=env).stdout
    return len(ElementTree.parse(path).getroot().findall("heap")), int(most)


@pytest.mark.slow
def test_threads_and_arrow_share_two_arenas_once_they_are_told(tmp_path):
    assert arenas_of("shared", tmp_path / "shared.xml") == (2, 0)
    arenas, most = arenas_of("alone", tmp_path / "alone.xml")
    assert arenas > 2
    assert most > 0
