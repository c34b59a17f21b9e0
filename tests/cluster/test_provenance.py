"""What decides a capture: declared versions, those of its own libraries, and a file's content."""

import sys
from importlib import metadata
from types import ModuleType

import pytest

from cluster import provenance
from cluster.capture_worker import users_modules
from cluster.provenance import (
    changed_files,
    identity,
    ingredients,
    labels_identity,
    packages,
    source_name,
    state_of,
    stated_for,
)
from nar.base.asking import NOTHING_STATED, Allowance, Asking
from nar.base.workspace import DISTRIBUTION
from nar.zoo import sources
from nar.zoo.libraries import installed
from nar.zoo.sources import source_names

TOY = """
from nar.zoo.source import Source

TOY = Source(
    name="toy", library="timm", licence="MIT", form="<model>", example="one",
    names=lambda: ["one"], entry=lambda name: None, parts={parts!r}, capture_version={version},
)
"""


@pytest.fixture
def fresh():
    """Versions as a new process would find them."""
    installed.cache_clear()
    yield installed.cache_clear
    installed.cache_clear()


@pytest.fixture
def toy_identity(tmp_path, monkeypatch):
    """The identity of a model of a source whose module is written for it and registered."""
    monkeypatch.syspath_prepend(tmp_path)
    # Byte code is told apart by second and size of its file: too little for a file written twice.
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def of(module, parts=(), version=1):
        text = TOY.format(parts=parts, version=version)
        (tmp_path / f"{module}.py").write_text(text)
        monkeypatch.delitem(sys.modules, module, raising=False)
        monkeypatch.setitem(sources.MODULES, "toy", module)
        return identity("toy:one")

    return of


def identities() -> dict[str, str]:
    return {source: identity(f"{source}:x") for source in source_names()}


# Two sources are drawn by code of this project alone.
@pytest.mark.parametrize("source", sorted({*source_names()} - {"darts", "papers", "yolo"}))
def test_every_source_has_a_library_and_the_common_ones(source):
    assert packages([source]).keys() > {DISTRIBUTION, "torch"}


def test_a_source_names_its_own_libraries_only():
    assert packages(["timm"]).keys() == {DISTRIBUTION, "timm", "torch"}
    assert packages(["open_clip"]).keys() == {
        DISTRIBUTION,
        "open_clip_torch",
        "timm",
        "torch",
        "transformers",
    }
    assert packages(["darts"]).keys() == packages(["file"]).keys() == {DISTRIBUTION, "torch"}


@pytest.mark.slow
def test_another_version_of_a_library_changes_what_is_built_from_it_alone(fresh, monkeypatch):
    before = identities()
    # A library may have brought a finder of its own, whose distributions are of another class.
    kind = type(metadata.distribution("timm"))
    version = kind.version.fget
    monkeypatch.setattr(
        kind,
        "version",
        property(lambda self: "9" if self.name == "timm" else version(self)),
    )
    fresh()
    after = identities()
    assert {source for source in before if before[source] != after[source]} == {
        "effdet",
        "open_clip",
        "smp",
        "timm",
        "torchvision_detection",
        "torchvision_segmentation",
        "transformers",
        "transformers_composed",
    }


@pytest.mark.slow
def test_a_library_that_is_not_installed_has_no_version(toy_identity):
    without = toy_identity("one", parts=("not_installed_anywhere",))
    assert without == toy_identity("one")
    assert packages(["toy"]).keys() == {DISTRIBUTION, "timm", "torch"}


def test_a_module_that_moves_recaptures_nothing(toy_identity):
    assert toy_identity("old_room") == toy_identity("new_room")


def test_a_source_says_itself_that_it_captures_otherwise(toy_identity):
    before, others = toy_identity("one"), identities()
    after = toy_identity("one", version=2)
    changed = {name for name, code in identities().items() if others[name] != code}
    assert before != after
    assert changed == {"toy"}


def test_another_version_of_capture_changes_every_source(monkeypatch):
    before = identities()
    monkeypatch.setattr(provenance, "CAPTURE_VERSION", provenance.CAPTURE_VERSION + 1)
    after = identities()
    assert [source for source in before if before[source] == after[source]] == []


def test_a_file_counts_by_its_content(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text("one")
    first = identity(f"{file}:net")
    file.write_text("two")
    assert identity(f"{file}:net") != first
    assert source_name(f"{file}:net") == "file"


def test_numbers_beside_a_net_count_also_where_they_are_not_there(tmp_path):
    file = tmp_path / "net.xml"
    file.write_text('<net name="it"/>')
    without = identity(str(file))
    file.with_suffix(".bin").write_bytes(bytes(8))
    one = identity(str(file))
    file.with_suffix(".bin").write_bytes(bytes(9))
    assert len({without, one, identity(str(file))}) == 3


@pytest.fixture
def package(tmp_path):
    """A package whose factory imports others of it in five ways."""
    files = {
        "__init__.py": "",
        "net.py": "from pkg.blocks import WIDTH\nimport pkg.deep.parts\nfrom . import near\n"
        "import numpy\ndef factory():\n    from pkg import late\n",
        "blocks.py": "from .far import MORE\n",
        "near.py": "",
        "far.py": "",
        "late.py": "",
        "unused.py": "",
        "deep/parts.py": "",
    }
    for name, text in files.items():
        (tmp_path / "pkg" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "pkg" / name).write_text(text)
    return tmp_path / "pkg"


@pytest.mark.parametrize("file", ["blocks", "near", "far", "late", "deep/parts", "__init__"])
def test_what_a_factory_imports_counts_by_its_content(package, file):
    before = ingredients(f"{package}/net.py:factory")
    with (package / f"{file}.py").open("a") as text:
        text.write("VALUE = 1")
    after = ingredients(f"{package}/net.py:factory")
    assert {name for name in after if before[name] != after[name]} == {f"{file}.py"}
    assert before.keys() == after.keys()


def test_what_a_factory_does_not_import_does_not_count(package):
    before = identity(f"{package}/net.py:factory")
    (package / "unused.py").write_text("VALUE = 1")
    assert identity(f"{package}/net.py:factory") == before


def test_of_installed_packages_the_version_counts(package, monkeypatch):
    parts = ingredients(f"{package}/net.py:factory")
    assert parts["numpy"] == f"numpy {metadata.version('numpy')}"
    real = provenance.package_of
    monkeypatch.setattr(
        provenance, "package_of", lambda name: ("numpy", "9") if name == "numpy" else real(name)
    )
    assert ingredients(f"{package}/net.py:factory")["numpy"] == "numpy 9"


@pytest.mark.parametrize(
    ("text", "library"),
    [('{"model_type": "bert"}', "transformers"), ('{"architecture": "resnet18"}', "timm")],
)
def test_a_configuration_counts_with_the_library_that_builds_it(tmp_path, text, library):
    (tmp_path / "config.json").write_text(text)
    for spec in (tmp_path, tmp_path / "config.json"):
        assert ingredients(str(spec))[library] == f"{library} {metadata.version(library)}"


def test_labels_that_are_read_otherwise_recapture_configurations_alone(tmp_path, monkeypatch):
    (tmp_path / "config.json").write_text('{"model_type": "bert"}')
    (tmp_path / "mine.py").touch()
    specs = (str(tmp_path), str(tmp_path / "mine.py") + ":net")
    before = [identity(spec) for spec in specs]
    monkeypatch.setattr(provenance, "STATED_LABELS_VERSION", 0)
    after = [identity(spec) for spec in specs]
    assert [old == new for old, new in zip(before, after, strict=True)] == [False, True]


def test_a_file_that_a_capture_has_read_is_stale_when_it_changes(tmp_path):
    file = tmp_path / "sizes.json"
    file.write_text("1")
    read = {str(file): state_of(file), str(tmp_path / "gone"): ""}
    assert changed_files(read, {}) == []
    file.write_text("2")
    assert changed_files(read, {}) == [str(file)]


def test_what_is_stated_counts_for_files_alone(tmp_path):
    file = tmp_path / "mine.py"
    file.touch()
    stated = Asking(("1x3x8x8",), frozenset({Allowance.NETWORK}))
    codes = {identity(f"{file}:net", asking) for asking in (NOTHING_STATED, stated, Asking(("8",)))}
    assert len(codes) == 3
    assert identity("timm:resnet18", stated) == identity("timm:resnet18")
    assert stated_for(f"{file}:net", stated) == stated
    assert stated_for("timm:resnet18", stated) == NOTHING_STATED


def test_tables_of_labels_do_not_decide_a_capture(tmp_path, monkeypatch):
    before = identities(), labels_identity()
    (tmp_path / "labels").mkdir(parents=True)
    (tmp_path / "labels" / "families.yaml").write_text("defining: {}")
    monkeypatch.setattr(provenance, "package_path", tmp_path.joinpath)
    labels_identity.cache_clear()
    after = identities(), labels_identity()
    labels_identity.cache_clear()
    assert after[0] == before[0]
    assert after[1] != before[1]


def test_of_loaded_modules_the_users_count_and_none_is_asked_for_what_it_would_import(
    tmp_path, monkeypatch
):
    class Lazy(ModuleType):
        def __getattr__(self, name):
            raise AssertionError(f"{name} was asked for")

    own, late = ModuleType("own"), ModuleType("lazy")
    own.__file__, late.__file__ = str(tmp_path / "own.py"), str(tmp_path / "late.py")
    for name, module in {"own": own, "lazy": Lazy("lazy")}.items():
        monkeypatch.setitem(sys.modules, name, module)
    for _ in range(2):
        assert own.__file__ in users_modules()
    monkeypatch.setitem(sys.modules, "lazy", late)  # another of a name that was passed over
    assert {own.__file__, late.__file__} <= {*users_modules()}
