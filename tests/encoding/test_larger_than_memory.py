"""What pretraining learns from lies on disk: it may be larger than the memory of the process."""

import subprocess
import sys
from pathlib import Path

import pytest

FEATURES_MIB = 64
# Beside what the process had before: the part that is being read, and what is kept of motifs.
ROOM_MIB = 40

# Random graphs repeat nothing, so that they have many features. The limit is on what a process
# keeps for itself; files that it has mapped do not count.
COLLECT = f"""
import resource
import psutil
from graphs import random_graph
from nar.graphs.architecture import Labels, architecture
from nar.encoding.default import pretraining
from nar.encoding.default.encoder import ASPECTS
from nar.encoding.default.encoder import FeatureVocabulary
from nar.motifs.config import MotifConfig

def one(seed):
    labels = Labels(f"file:{{seed}}", "file", "-", "random", "-")
    return architecture(labels, random_graph(2_000, seed))

def mib(sets):
    return (sets.codes.nbytes + sets.aspects.nbytes + sets.weights.nbytes) >> 20

pretraining.NODES_A_CHUNK = 10_000
pretraining.collect([one(seed) for seed in range(8)], MotifConfig())
has = psutil.Process().memory_info().data
resource.setrlimit(resource.RLIMIT_DATA, (has + ({ROOM_MIB} << 20),) * 2)
samples = pretraining.collect((one(seed) for seed in range(200)), MotifConfig())
FeatureVocabulary.of(samples.graphs, ASPECTS)
print(mib(samples.graphs) + mib(samples.motifs.sets))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the limit means something else there")
def test_features_may_be_larger_than_memory():
    answer = subprocess.run(
        [sys.executable, "-c", COLLECT],
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr[-2000:]
    assert int(answer.stdout) >= FEATURES_MIB
