"""Which room may import from which, and which library belongs to which room."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from nar.zoo.sources import shipped_sources

ROOT = Path(__file__).parents[1]
PACKAGES = ("nar", "cluster", "benchmark")

# One line a floor, from the ground up: a room imports from lines above its own only.
FLOORS = """
    base v1
    graphs labels
    motifs capture index
    encoding zoo
    own corpus
    answers
    wire views
    client config ask
    choices serve mcp_server watch
    web nar
    cli cluster
    benchmark
"""
FLOOR = {name: floor for floor, line in enumerate(FLOORS.splitlines()) for name in line.split()}

# What captures models and what searches them meet in the records only.
CAPTURES = {"capture", "labels", "zoo", "own", "corpus"}
SEARCHES = {"motifs", "encoding", "index", "wire", "client", "serve", "config"}

# Third-party packages that belong to some rooms; every other library may be anywhere.
OWNERS = {
    **{
        library: ("nar/zoo/",)
        for each in shipped_sources()
        for library in (each.library, *each.parts)
    },
    "ray": ("cluster/",),
    "grpc": ("nar/wire/", "nar/client/", "nar/serve/", "nar/v1/", "nar/index/", "cluster/"),
    **dict.fromkeys(("grpc_health", "grpc_reflection"), ("nar/serve/", "cluster/demo.py")),
    "prometheus_client": ("nar/serve/", "cluster/demo.py"),
    "grpc_status": ("nar/serve/", "nar/client/"),
    "opentelemetry": ("nar/serve/", "nar/wire/"),
    "google": ("nar/wire/", "nar/client/", "nar/serve/", "nar/v1/", "nar/web/"),
    "starlette": ("nar/serve/", "nar/web/"),
    "uvicorn": ("nar/serve/http/",),
    **dict.fromkeys(("pymilvus", "milvus_lite"), ("nar/index/",)),
    "mcp": ("nar/mcp_server.py",),
    "nar_kernel": ("nar/graphs/kernel.py",),
    "onnx": ("nar/capture/",),
    "typer": ("nar/base/console.py", "nar/base/asking.py", "nar/cli/", "cluster/"),
    "sklearn": ("nar/answers/map.py",),
    "matplotlib": ("nar/views/", "nar/ask.py"),
}
# The benchmark measures all of it.
OWNERS = {library: (*owners, "benchmark/") for library, owners in OWNERS.items()}
OWNERS["cluster"] = ("cluster/", "benchmark/")


@dataclass(frozen=True, slots=True)
class Import:
    """One imported name: where it stands, and its dotted path."""

    path: str
    line: int
    target: str

    @property
    def source(self) -> str:
        """The room that it stands in."""
        return room_of(self.path.removesuffix(".py").split("/"))


def room_of(parts: list[str]) -> str:
    """The room of a dotted path: a folder or module of `nar`, or another package."""
    if parts[0] != "nar":
        return parts[0]
    return parts[1] if len(parts) > 1 and parts[1] in FLOOR else "nar"


def python_files(root: Path) -> Iterator[Path]:
    for package in PACKAGES:
        yield from sorted((root / package).rglob("*.py"))


def imports(root: Path) -> Iterator[Import]:
    """Every import, those inside functions and type-checking blocks included."""
    for path in python_files(root):
        name = path.relative_to(root).as_posix()
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import | ast.ImportFrom):
                prefix = parent_of(node, name)
                yield from (Import(name, node.lineno, prefix + part.name) for part in node.names)


def parent_of(node: ast.Import | ast.ImportFrom, path: str) -> str:
    """What stands before the imported names, relative imports made absolute; with its dot."""
    if isinstance(node, ast.Import):
        return ""
    above = path.split("/")[: -node.level] if node.level else []
    return ".".join([*above, *([node.module] if node.module else [])]) + "."


def without_floor(root: Path) -> list[str]:
    """Rooms that no floor names."""
    found = {
        path.relative_to(root).with_suffix("").parts[1] for path in (root / "nar").rglob("*.py")
    }
    return sorted(found - set(FLOOR) - {"__init__"})


def wrong_direction(root: Path) -> list[str]:
    faults = []
    for each in imports(root):
        source, parts = each.source, each.target.split(".")
        if parts[0] not in PACKAGES or (target := room_of(parts)) == source:
            continue
        if FLOOR[target] >= FLOOR[source]:
            faults.append(f"{each.path}:{each.line}: {source} stands before {target}")
        elif {source, target} & CAPTURES and {source, target} & SEARCHES:
            faults.append(f"{each.path}:{each.line}: {source} must not know {target}")
    return faults


def wrong_owner(root: Path) -> list[str]:
    return [
        f"{each.path}:{each.line}: {library} belongs to {OWNERS[library]}"
        for each in imports(root)
        for library in [each.target.split(".")[0]]
        if library in OWNERS and not each.path.startswith(OWNERS[library])
    ]


def test_every_room_has_a_floor():
    assert without_floor(ROOT) == []


@pytest.mark.slow
def test_imports_go_down():
    assert wrong_direction(ROOT) == []


@pytest.mark.slow
def test_libraries_stay_with_their_owners():
    assert wrong_owner(ROOT) == []


@pytest.mark.slow
def test_no_module_of_nar_loads_ray_even_at_run_time():
    program = """
import importlib, pkgutil, sys, nar
for module in pkgutil.walk_packages(nar.__path__, "nar."):
    importlib.import_module(module.name)
sys.exit(str(sorted({"ray", "cluster"} & set(sys.modules))) if "ray" in sys.modules else 0)
"""
    subprocess.run([sys.executable, "-c", program], check=True, cwd=ROOT)


@pytest.mark.parametrize(
    ("path", "text", "fault"),
    [
        (
            "nar/graphs/graph.py",
            "from nar.motifs.pieces import x",
            "nar/graphs/graph.py:1: graphs stands before motifs",
        ),
        (
            "nar/graphs/a.py",
            "from nar import motifs",
            "nar/graphs/a.py:1: graphs stands before motifs",
        ),
        (
            "nar/graphs/a.py",
            "from ..motifs import x",
            "nar/graphs/a.py:1: graphs stands before motifs",
        ),
        ("nar/zoo/a.py", "def f():\n import nar.cli.app", "nar/zoo/a.py:2: zoo stands before cli"),
        ("nar/encoding/a.py", "import nar", "nar/encoding/a.py:1: encoding stands before nar"),
        ("nar/zoo/a.py", "import nar.motifs.partition", "nar/zoo/a.py:1: zoo must not know motifs"),
        ("nar/serve/a.py", "import nar.corpus", "nar/serve/a.py:1: serve must not know corpus"),
        ("nar/web/a.py", "import nar.cli.app", "nar/web/a.py:1: web stands before cli"),
        ("nar/cli/a.py", "import cluster.embed", "nar/cli/a.py:1: cli stands before cluster"),
        ("nar/zoo/a.py", "from nar.capture import x\nfrom nar.zoo import b", None),
        ("nar/motifs/partition.py", "import numpy\nfrom nar.graphs.graph import x", None),
    ],
)
def test_a_wrong_direction_is_seen(tmp_path, path, text, fault):
    plant(tmp_path, path, text)
    assert wrong_direction(tmp_path) == ([fault] if fault else [])


@pytest.mark.parametrize(
    ("path", "text", "fault"),
    [
        ("nar/index/a.py", "import pymilvus", None),
        ("nar/serve/a.py", "import grpc.aio", None),
        ("nar/corpus/a.py", "import timm", "nar/corpus/a.py:1: timm belongs to"),
        ("nar/encoding/a.py", "def f():\n import ray.data", "nar/encoding/a.py:2: ray belongs to"),
        ("nar/encoding/a.py", "from cluster import x", "nar/encoding/a.py:1: cluster belongs to"),
    ],
)
def test_a_library_in_the_wrong_room_is_seen(tmp_path, path, text, fault):
    plant(tmp_path, path, text)
    found = wrong_owner(tmp_path)
    assert (len(found) == 1 and found[0].startswith(fault)) if fault else found == []


def test_a_room_without_a_floor_is_seen(tmp_path):
    plant(tmp_path, "nar/helpers.py", "import nar.graphs")
    assert without_floor(tmp_path) == ["helpers"]


def plant(root: Path, path: str, text: str) -> None:
    (root / path).parent.mkdir(parents=True)
    (root / path).write_text(text)
