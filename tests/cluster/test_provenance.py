"""What decides a capture: its own source and libraries, and nothing of the others."""

from importlib import metadata

import pytest

from cluster import code, provenance
from cluster.code import closure, read_module
from cluster.provenance import identity, packages, source_of
from nar.zoo import SOURCES


@pytest.fixture
def fresh():
    """Digests as a new process would find them."""

    def clear() -> None:
        provenance._source_identity.cache_clear()
        provenance._distributions.cache_clear()
        code.read_module.cache_clear()

    clear()
    yield clear
    clear()


def identities() -> dict[str, str]:
    return {source: identity(f"{source}:x") for source in ("timm", "torchvision", "transformers")}


@pytest.mark.parametrize("source", [source for source in SOURCES if source != "darts"])
def test_every_source_has_a_library_and_the_common_ones(source):
    found = packages([source])
    assert found.keys() > {"nar", "torch"}


def test_a_source_names_its_own_libraries_only():
    assert "transformers" not in packages(["timm"])
    assert packages(["darts"]).keys() == {"nar", "torch"}


def test_another_version_of_a_library_changes_its_sources_alone(fresh, monkeypatch):
    before = identities()
    version = metadata.version
    monkeypatch.setattr(
        metadata, "version", lambda name: "9" if name == "transformers" else version(name)
    )
    fresh()
    after = identities()
    assert {source for source in before if before[source] != after[source]} == {"transformers"}


def test_a_module_counts_for_those_that_import_it():
    modules = closure("nar.zoo.sources.timm")
    assert {"nar.zoo.building", "nar.capture.forward.recorder", "nar.canonical"} <= modules.keys()
    assert "nar.zoo.sources.torchvision" not in modules


def test_a_package_is_left_out_with_what_only_it_imports():
    assert "nar.zoo.spec" not in closure("nar.zoo.sources.timm", without=("nar.zoo",))


@pytest.mark.parametrize(
    ("text", "is_same"),
    [
        ('"""Other words."""\n\ndef f():\n    """More."""\n    return 1  # why\n', True),
        ('"""Words."""\ndef f(): return 2\n', False),
    ],
)
def test_words_and_layout_do_not_count(fresh, tmp_path, monkeypatch, text, is_same):
    monkeypatch.setattr(code, "ROOT", tmp_path)
    file = tmp_path / "nar" / "one.py"
    file.parent.mkdir()
    file.write_text('"""Words."""\ndef f(): return 1\n')
    before = read_module("nar.one").digest
    fresh()
    file.write_text(text)
    assert (read_module("nar.one").digest == before) is is_same


def test_a_data_file_that_a_module_names_counts(fresh, tmp_path, monkeypatch):
    monkeypatch.setattr(code, "ROOT", tmp_path)
    (tmp_path / "nar").mkdir()
    (tmp_path / "nar" / "one.py").write_text('TABLE = "table.yaml"\n')
    before = read_module("nar.one").digest
    fresh()
    (tmp_path / "nar" / "table.yaml").write_text("a: 1")
    assert read_module("nar.one").digest != before


def test_a_file_counts_by_its_content(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text("one")
    first = identity(f"{file}:net")
    file.write_text("two")
    assert identity(f"{file}:net") != first
    assert source_of(f"{file}:net") == "file"
