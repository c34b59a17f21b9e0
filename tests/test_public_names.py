"""`import nar`: a few names, none of which costs anything before it is used."""

import subprocess
import sys

import nar


def test_every_public_name_is_there_and_documented():
    for name in nar.__all__:
        assert getattr(nar, name).__doc__, name
    assert dir(nar) == nar.__all__


def test_importing_nar_imports_nothing_heavy():
    code = "import nar, sys; print([m for m in ('torch', 'numpy', 'pymilvus') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
