"""What is known of fifty models changes by decision only: see `tests/golden.py`."""

import golden
import pytest

GOLDEN = golden.read()


@pytest.mark.slow
@pytest.mark.parametrize("name", GOLDEN)
def test_a_well_known_model_keeps_its_fingerprints(name):
    assert golden.measure(name) == GOLDEN[name]


def test_there_are_fifty_of_eight_libraries():
    assert len(GOLDEN) >= 50
    assert len({name.partition(":")[0] for name in GOLDEN}) >= 8
