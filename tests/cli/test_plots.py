"""The pictures of a corpus: files that open, the same for the same corpus, and no window."""

import subprocess
import sys

import pytest
from corpora import corpus

from nar.base.errors import MissingLibraryError
from nar.corpus.manifest import Manifest
from nar.corpus.summary import summarise
from nar.views.plots import write_plots

pytest.importorskip("matplotlib")

NAMES = ["copies.png", "families.png", "sizes.png", "sources.png", "tasks.png"]


def drawn(directory, held):
    write_plots(directory, held, summarise(held), Manifest.read(held).sources)
    return {path.name: path.read_bytes() for path in directory.iterdir()}


@pytest.mark.slow
def test_every_picture_is_a_png_and_the_same_again(tmp_path):
    held = corpus(tmp_path / "corpus")
    files = drawn(tmp_path / "plots", held)
    assert sorted(files) == NAMES
    assert all(content.startswith(b"\x89PNG") for content in files.values())
    assert drawn(tmp_path / "again", held) == files


@pytest.mark.slow
def test_an_empty_corpus_is_drawn_too(tmp_path):
    assert sorted(drawn(tmp_path / "plots", corpus(tmp_path / "corpus", []))) == NAMES


@pytest.mark.slow
def test_without_the_library_the_error_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingLibraryError, match=r"pip install '\.\[plots\]'"):
        drawn(tmp_path / "plots", corpus(tmp_path / "corpus"))


@pytest.mark.slow
def test_the_library_is_imported_only_when_something_is_drawn():
    program = "import sys, nar.views.plots; sys.exit('matplotlib' in sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True)
