"""The benchmark is no part of what is installed."""

import ast
import tomllib
from pathlib import Path

import pytest
from setuptools import find_namespace_packages

ROOT = Path(__file__).parents[2]


def test_the_benchmark_is_in_no_wheel():
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text())
    packages = find_namespace_packages(
        str(ROOT), **wanted["tool"]["setuptools"]["packages"]["find"]
    )
    assert {name.partition(".")[0] for name in packages} == {"nar"}


@pytest.mark.slow
def test_what_is_installed_imports_nothing_of_it():
    for package in ("nar", "cluster"):
        for path in (ROOT / package).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text())):
                names = [each.name for each in node.names] if isinstance(node, ast.Import) else []
                names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
                assert "benchmark" not in {name.partition(".")[0] for name in names}, path
