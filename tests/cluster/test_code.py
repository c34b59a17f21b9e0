"""What a module's code is: the modules that it imports and the data that it names, but no words."""

import pytest

from cluster import code
from cluster.code import closure, read_module


@pytest.fixture
def fresh():
    """Digests as a new process would find them."""
    code.read_module.cache_clear()
    yield code.read_module.cache_clear
    code.read_module.cache_clear()


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
