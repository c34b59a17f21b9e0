"""Libraries read what they are told when they are imported, so that it has to be said before."""

import os
import subprocess
import sys

import pytest

WATCHED = """
import os, sys

class Watching:
    def find_spec(self, name, path=None, target=None):
        if name == "numpy":
            print(os.environ.get("OPENBLAS_NUM_THREADS"))

sys.meta_path.insert(0, Watching())
from nar.cli.app import app
app(["index", "info", "--work", sys.argv[1]])
"""


@pytest.mark.slow
@pytest.mark.parametrize(("said", "told"), [(None, "1"), ("2", "2")])
def test_numpy_is_told_before_it_is_imported_unless_somebody_has_said_otherwise(
    said, told, tmp_path
):
    environment = {**os.environ, **({"OPENBLAS_NUM_THREADS": said} if said else {})}
    done = subprocess.run(
        [sys.executable, "-c", WATCHED, str(tmp_path)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.split()[:1] == [told]
