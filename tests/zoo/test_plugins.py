"""Sources that other packages register: found by name, imported late, and broken alone."""

import subprocess
import sys
import tomllib
from importlib import invalidate_caches
from pathlib import Path
from zipfile import ZipFile

import pytest

from nar.answers.naming import resolve_name
from nar.base.errors import PluginError, UnknownArchitectureError
from nar.graphs.ops import op_name
from nar.own import capture_architecture, resolve
from nar.zoo import sources
from nar.zoo.selections import select
from nar.zoo.sources import licences, list_specs, source_names

EXAMPLE = Path(__file__).parents[2] / "deploy/examples/private_zoo"


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The folder that the example is installed into, as its owner would install it."""
    work = tmp_path_factory.mktemp("private_zoo")
    options = ("--quiet", "--no-deps", "--no-index", "--disable-pip-version-check")
    target = work / "installed"
    subprocess.run(
        [sys.executable, "-m", "pip", "install", *options, "--target", target, wheel(work)],
        check=True,
    )
    return target


def wheel(folder):
    """The example as a wheel: what its build backend would pack, which tests do without."""
    setup = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())
    project, (module,) = setup["project"], setup["tool"]["setuptools"]["py-modules"]
    name, version = project["name"], project["version"]
    rows = (
        (group, f"{key} = {value}")
        for group, points in project["entry-points"].items()
        for key, value in points.items()
    )
    metadata = f"{module}-{version}.dist-info"
    contents = {
        f"{module}.py": (EXAMPLE / f"{module}.py").read_text(),
        f"{metadata}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{metadata}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{metadata}/entry_points.txt": "".join(f"[{group}]\n{row}\n" for group, row in rows),
        f"{metadata}/RECORD": "",
    }
    path = folder / f"{module}-{version}-py3-none-any.whl"
    with ZipFile(path, "w") as file:
        for member, text in contents.items():
            file.writestr(member, text)
    return path


@pytest.fixture
def on_path(monkeypatch):
    """Puts a folder where Python looks for packages, and forgets what was imported from there."""

    def put(folder):
        monkeypatch.syspath_prepend(str(folder))
        invalidate_caches()

    before = set(sys.modules)
    yield put
    for name in {"private_zoo", "another_zoo"} - before:
        sys.modules.pop(name, None)


def register(folder, *rows, name="another-zoo", code="SOURCE = 1\n"):
    """A package with these entry points, installed in a folder."""
    metadata = folder / f"{name.replace('-', '_')}-2.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 2.0\n")
    (metadata / "entry_points.txt").write_text("\n".join(["[nar.sources]", *rows, ""]))
    (folder / "another_zoo.py").write_text(code)


@pytest.mark.slow
def test_models_of_an_installed_package_are_found_by_name(installed, on_path):
    on_path(installed)
    assert resolve_name("private:wide", None) == "private:wide"
    item = capture_architecture("private:wide").architecture
    assert [op_name(op) for op in item.graph.op_ids.tolist()] == ["input", "conv", "relu"]
    assert item.labels.library == "private-zoo 1.0"
    with pytest.raises(UnknownArchitectureError, match="did you mean private:narrow"):
        resolve("private:narow")


@pytest.mark.slow
def test_they_are_listed_and_selected(installed, on_path):
    on_path(installed)
    assert source_names()[-1] == "private"
    assert list_specs("private") == ["private:narrow", "private:wide"]
    assert select("private").names == ("private:narrow", "private:wide")
    assert licences()["private_zoo"] == "LicenseRef-Proprietary"


@pytest.mark.slow
def test_no_package_is_imported_before_a_name_asks_for_it(tmp_path, on_path):
    code = (EXAMPLE / "private_zoo.py").read_text().replace('name="private"', 'name="late"')
    register(tmp_path, "late = another_zoo:SOURCE", code=code)
    on_path(tmp_path)
    resolve("timm:resnet18")
    assert "late" in source_names()
    assert "another_zoo" not in sys.modules
    assert list_specs("late") == ["late:narrow", "late:wide"]
    assert "another_zoo" in sys.modules


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("import no_such_library\n", "ModuleNotFoundError: No module named 'no_such_library'"),
        ("SOURCE = 1\n", "wanted a Source, came int"),
        ("from nar.zoo.sources.timm import TIMM as SOURCE\n", "that name, came timm"),
    ],
)
def test_a_broken_one_names_its_package_and_leaves_the_others(tmp_path, on_path, code, reason):
    register(tmp_path, "broken = another_zoo:SOURCE", code=code)
    on_path(tmp_path)
    with pytest.raises(PluginError, match=f"another-zoo 2.0 registers.*{reason}"):
        resolve("broken:net")
    assert resolve("timm:resnet18").labels.name == "timm:resnet18"
    assert "timm" in licences()


def test_a_broken_one_is_left_out_of_all_that_is_installed(tmp_path, on_path, monkeypatch):
    monkeypatch.setattr(sources, "MODULES", {})
    register(tmp_path, "broken = another_zoo:SOURCE")
    on_path(tmp_path)
    selection = select("corpus")
    assert selection.names == ()
    assert "another-zoo 2.0" in selection.skipped["broken"]


def test_two_packages_with_one_name_are_both_named(tmp_path, on_path):
    for name in ("one-zoo", "other-zoo"):
        register(tmp_path / name, "broken = another_zoo:SOURCE", name=name)
        on_path(tmp_path / name)
    with pytest.raises(PluginError, match=r"one-zoo 2\.0 and other-zoo 2\.0 register"):
        list_specs("broken")


def test_a_name_of_nar_stays_its_own(tmp_path, on_path):
    register(tmp_path, "timm = another_zoo:SOURCE")
    on_path(tmp_path)
    assert resolve("timm:resnet18").labels.name == "timm:resnet18"
    assert source_names().count("timm") == 1
