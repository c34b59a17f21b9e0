"""`import nar` in the folder above a clone that is called `nar` too, as `git clone` leaves it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
WAYS = {"editable": ["-e"], "wheel": []}


@pytest.fixture(params=WAYS)
def installed(tmp_path, request):
    """The clone, with packages of one line each, and where its installation lies."""
    clone, site = tmp_path / "nar", tmp_path / "site"
    for package in ("nar", "cluster"):
        (clone / package).mkdir(parents=True)
        (clone / package / "__init__.py").write_text("SEARCH = 'found'\n")
    (clone / "cluster" / "job.py").write_text("from . import SEARCH\n\nprint(SEARCH)\n")
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE", "NOTICE"):
        (clone / name).write_bytes((ROOT / name).read_bytes())
    command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(site)]
    done = subprocess.run(
        [*command, *WAYS[request.param], str(clone)], capture_output=True, text=True
    )
    if "No matching distribution found for setuptools" in done.stderr:
        pytest.skip("the package index has no setuptools that builds NAR")
    assert done.returncode == 0, done.stderr
    return clone, site


# The folder that one stands in comes first, then the installation, then that of the tests.
PROGRAM = """
import site, sys
standing, *others = sys.path
site.addsitedir({site!r})
added = [folder for folder in sys.path if folder not in (standing, *others)]
sys.path[:] = [standing, *added, *others]
import nar
print(nar.SEARCH)
"""


@pytest.mark.slow
def test_a_clone_of_the_same_name_does_not_hide_the_package(installed):
    clone, site = installed
    program = PROGRAM.format(site=str(site))
    environment = {name: each for name, each in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        cwd=clone.parent,
        env=environment,
    )
    assert done.stdout.strip() == "found", done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("installed", ["wheel"], indirect=True)
def test_jobs_are_installed_below_the_one_package(installed):
    _, site = installed
    assert not (site / "cluster").exists()
    done = subprocess.run(
        [sys.executable, "-m", "nar.cluster.job"],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(site)},
        cwd=site,
    )
    assert done.stdout.strip() == "found", done.stderr
