"""Full disks: where no file may grow, nothing that was acknowledged is lost and a server answers.

A limit on the size of files stands in for the disk: it needs no rights, and fails writes as well.
"""

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from benchmark.campaigns.ledger import Ledger, held_by, make_live
from benchmark.campaigns.processes import same_imports
from benchmark.campaigns.served import served
from nar.v1 import retrieval_pb2 as wire

ROWS: Final = 20_000
# Enough to begin with, and not for all.
STORE_BYTES: Final = 100_000
CACHE_BYTES: Final = 1_000_000
LIMIT_S: Final = 300.0


def full_store_faults() -> list[str]:
    """What is wrong with a store of Milvus Lite whose disk filled while rows were written."""
    with tempfile.TemporaryDirectory() as directory:
        store, ledger = str(Path(directory) / "index.db"), Ledger()
        make_live(store)
        numbers = map(str, (0, ROWS, 1, STORE_BYTES))
        command = [sys.executable, "-m", "benchmark.campaigns.writer", "live", store, *numbers]
        ended = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
            env=same_imports(),
        )
        ledger.read(ended.stdout.splitlines())
        faults = [f"full store: {each}" for each in ledger.compare(held_by(store, "live"))]
    if not ended.returncode:
        faults.append("full store: it was never full")
    *_, end = ended.stderr.strip().splitlines() or ["nothing"]
    if ended.returncode and not end.startswith("nar."):
        faults.append(f"full store: the writer ended with {end}")
    return faults


def full_cache_faults() -> list[str]:
    """What is wrong with a server of the atlas that cannot store it."""
    request = wire.SearchRequest(queries=[wire.Query(architecture="timm:resnet50")])
    with (
        tempfile.TemporaryDirectory() as directory,
        served(Path(directory), file_bytes=CACHE_BYTES) as server,
    ):
        server.settle()
        with server.asking() as stub:
            [result] = stub.Search(request).results
        log = server.log.read_text()
    faults = [] if result.hits else ["full cache: no answer from the files"]
    if "answering from files alone" not in log:
        faults.append("full cache: it was never full")
    if "Traceback" in log:
        faults.append("full cache: the log has a traceback")
    return faults
