"""What the probe of Kubernetes says to who calls it wrongly."""

import subprocess
import sys
from pathlib import Path

import pytest

PROBE = Path(__file__).parents[1] / "deploy" / "probe.py"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([], "CA_FILE NAME_IN_THE_CERTIFICATE"),
        (["127.0.0.1:1", "ca.crt"], "CA_FILE NAME_IN_THE_CERTIFICATE"),
        (["127.0.0.1:1", "ca.crt", "nar", "own.crt"], "CERTIFICATE_FILE KEY_FILE"),
        (["127.0.0.1:1", "/no/ca.crt", "nar"], "cannot read /no/ca.crt: No such file"),
    ],
)
def test_a_wrong_call_hears_what_is_wanted(given, said):
    ended = subprocess.run([sys.executable, str(PROBE), *given], capture_output=True, text=True)
    assert ended.returncode == 1
    assert said in ended.stderr
    assert "Traceback" not in ended.stderr
