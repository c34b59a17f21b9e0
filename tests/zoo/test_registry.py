"""What is said of a source elsewhere agrees with its record: extras, datasheet."""

import re
import tomllib
from pathlib import Path

import pytest

from nar.base.errors import MissingLibraryError
from nar.base.workspace import DISTRIBUTION
from nar.corpus.datasheet import datasheet
from nar.corpus.manifest import Manifest, Totals
from nar.own import resolve
from nar.zoo.libraries import APART
from nar.zoo.sources import package_of, shipped_sources, source_names

ROOT = Path(__file__).parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]
EXTRAS = PROJECT["optional-dependencies"]
# Licences that let anyone read the code and publish what was read from it.
PERMISSIVE = {"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT"}
SOURCES = shipped_sources()
# Extras that no source needs.
NO_SOURCES = {
    "all", "capture", "cluster", "cyclonedx", "dev", "docs", "index", "keras", "mcp", "pandas",
    "plots", "trace",
}  # fmt: skip
REQUIREMENT = re.compile(r"([\w.-]+)(?:\[([\w,-]+)\])?")

each_source = pytest.mark.parametrize("source", SOURCES, ids=source_names())


def plain(distribution):
    return re.sub(r"[-_.]+", "-", distribution).lower()


def installed_by(requirements):
    """Packages that requirements name, those of NAR's own extras among them."""
    packages = set()
    for requirement in requirements:
        package, extras = REQUIREMENT.match(requirement).groups()
        if package == DISTRIBUTION:
            for extra in extras.split(","):
                packages |= installed_by(EXTRAS[extra])
        else:
            packages.add(plain(package))
    return packages


def package(library):
    """Name of the package that installs a library; empty for none."""
    return plain(distribution_of(library)) if library else ""


def distribution_of(library):
    """The installed package or, where the library is absent, the package that its record names."""
    installed = package_of(library)
    if installed:
        return installed[0]
    named = (source.distribution for source in SOURCES if source.library == library)
    return next(filter(None, named), library)


def apart():
    """Packages that no extra can install beside the others."""
    return installed_by(PYPROJECT["dependency-groups"]["apart"])


def needed_by(source):
    return {package(library) for library in (source.library, *source.parts)} - {"", *apart()}


def test_every_source_has_a_name_of_its_own():
    assert len(set(source_names())) == len(SOURCES)


@pytest.mark.slow
@each_source
def test_the_example_of_a_source_is_one_of_its_models(source):
    spec = f"{source.name}:{source.example}"
    try:
        labels = resolve(spec).labels
    except MissingLibraryError as error:
        pytest.skip(str(error))
    assert (labels.name, labels.source) == (spec, source.name)


@each_source
def test_only_permissive_code_is_read(source):
    assert source.licence in PERMISSIVE


@each_source
def test_an_extra_bears_the_name_of_the_library_and_installs_it(source):
    extra = EXTRAS.get(source.library, [])
    installed = installed_by([*extra, *PROJECT["dependencies"]])
    assert package(source.library) in {*installed, *apart(), ""}


def test_what_no_extra_installs_is_told_to_whoever_misses_it():
    assert {library: plain(name) for library, name in APART.items()} == {
        source.library: package(source.library)
        for source in SOURCES
        if package(source.library) in apart()
    }


@pytest.mark.slow
def test_one_extra_installs_what_all_sources_need():
    everything = {name: each for name, each in EXTRAS.items() if name not in NO_SOURCES}
    needed = set[str]().union(*map(needed_by, SOURCES))
    assert needed <= installed_by([*EXTRAS["corpus"], *PROJECT["dependencies"]])
    assert installed_by(EXTRAS["corpus"]) == set[str]().union(
        *map(installed_by, everything.values())
    )


@each_source
def test_the_extras_of_its_libraries_install_what_a_source_needs(source):
    extras = [EXTRAS[library] for library in (source.library, *source.parts) if library in EXTRAS]
    named = [requirement for extra in extras for requirement in extra]
    assert needed_by(source) <= installed_by([*named, *PROJECT["dependencies"]])


@each_source
def test_the_datasheet_gives_the_licence_of_the_record(source):
    name = distribution_of(source.library) if source.library else "nar"
    text = datasheet(Manifest(packages={name: "1.0"}, shards=(), sources={}, totals=Totals()))
    assert f"| {name} | 1.0 | {source.licence} |" in text
