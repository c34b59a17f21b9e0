"""What libraries do while they are imported, and models while they are built, is no accident."""

import json
import subprocess
import sys

import pytest

from nar.base.errors import MissingLibraryError
from nar.corpus import Corpus, shipped_corpus
from nar.zoo.sources import list_specs, source_names

# Of the two libraries that most users build on, more models than one.
COUNTS = {"timm": 60, "transformers": 40}

# In a process that has imported no library yet.
ASKED = """
import json, sys
from nar.base.errors import NarError
from nar.own import resolve
from nar.own.guard import Guard
alarms = {}
for name in json.load(sys.stdin):
    guard = Guard()
    try:
        guard.run(lambda: resolve(name).capture())
    except NarError as error:
        alarms[name] = str(error)
    if guard.refused:
        alarms[name] = guard.refused
print(json.dumps(alarms))
"""


def cheapest(names: set[str], flops: dict[str, int], count: int) -> list[str]:
    """The models that take the least time; a source whose models are in no corpus has others."""
    known = sorted(names & flops.keys(), key=flops.__getitem__)
    return (known or sorted(names))[:count]


@pytest.mark.slow
def test_every_source_and_a_hundred_models_run_under_the_guard():
    columns = Corpus(shipped_corpus()).columns(["name", "flops"]).to_pydict()
    flops = dict(zip(columns["name"], columns["flops"], strict=True))
    chosen, missing = {}, []
    for source in source_names():
        try:
            names = set(list_specs(source))
        except MissingLibraryError:
            missing.append(source)
        else:
            chosen[source] = cheapest(names, flops, COUNTS.get(source, 1))
    asked = [name for names in chosen.values() for name in names]
    command = [sys.executable, "-W", "ignore", "-c", ASKED]
    done = subprocess.run(
        command, input=json.dumps(asked), capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout.splitlines()[-1]) == {}
    # How much that says: libraries that are not installed raised no alarm for that reason.
    assert len(chosen) + len(missing) == len(source_names())
    assert len(asked) == len(chosen) - 2 + 100, f"asked {len(asked)}; not installed: {missing}"
