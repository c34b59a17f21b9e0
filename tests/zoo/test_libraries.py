"""Model libraries: imported on demand, and missed in words that help."""

import subprocess
import sys

import pytest

from nar.base.errors import MissingLibraryError
from nar.zoo.libraries import import_library, library_version


def test_versions_name_the_distribution():
    name, version = library_version("timm").split()
    assert name == "timm"
    assert version == import_library("timm").__version__


@pytest.mark.slow
@pytest.mark.parametrize("distribution", ["", "open_clip_torch"])
def test_a_distribution_of_another_name_is_found_named_or_not(distribution):
    assert library_version("open_clip", distribution).startswith("open_clip_torch ")


@pytest.mark.slow
@pytest.mark.parametrize("ask", [import_library, library_version])
def test_a_missing_library_names_the_extra_of_its_name(ask):
    with pytest.raises(MissingLibraryError, match=r"pip install '\.\[no_such_library\]'"):
        ask("no_such_library")


def test_torchvision_imports_with_or_without_its_native_operators():
    operators = import_library("torchvision.ops")
    assert callable(operators.nms)


@pytest.mark.slow
def test_naming_an_architecture_imports_no_model_library():
    script = (
        "import sys, nar.own; from nar.zoo.sources import list_specs;"
        "nar.own.resolve(list_specs('darts')[0]);"
        "print([name for name in ('timm', 'torchvision', 'transformers') if name in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
