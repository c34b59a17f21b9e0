"""Who may import whom: `cluster -> nar <- nar.serve`, inside `nar` along the way of the data."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from nar.zoo.sources import SOURCES as MODELS

ROOT = Path(__file__).parents[1]
MAX_LINES = 300

# One line a rank, in the order of the data's way: a module imports from lines above its own only.
RANKS = """
    errors v1 files by difference children libraries memory release
    settings ops hashing ragged spool published index_kind
    graph
    canonical
    normal_form
    fingerprints
    architecture labels
    motifs.config
    motifs.neighbours
    motifs.borders motifs.pieces motifs.paths motifs.skeleton
    motifs.growth
    motifs.partition
    motifs.contexts motifs.macro_graph motifs.splitting motifs.feature_sets motifs
    explanation part_of roles
    bodies encoding.recipe
    encoding.batches encoding.targets encoding.losses encoding.merged
    encoding.collecting encoding.training_state encoding.together
    encoding.motif_contrast encoding.training
    encoding.paper encoding.default
    encoding.registry
    encoding.encoder encoding.checkpoint_files
    encoding.checkpoint encoding.pretraining
    encoding.embed
    encoding.stored encoding
    config
    index.damage index.state index.syncing
    index.nesting index.lite index.id_ranges
    index.filters
    index.terms
    index.rows index.expressions
    index.digests index.records
    index.searches index.checks index.ranking index.columns index.schema index.milvus
    index.collection index.nearest index.table
    index.marks index.finishing
    index.bulk index.listing index.writing
    index.orphans
    index.exact index.publishing
    index.architecture_index index.snapshot_files
    index.increments index.mirror index.snapshot
    index.following
    index.reader index
    novelty query verdict
    evidence
    retrieve
    capture
    zoo
    corpus
    workspace
    atlas
    evaluation serve
    client
    async_client console cli.reports cli.counts cli.folding cli.atlas_leftovers
    cli.evidence_display
    cli.choices cli.filter_options cli.change_kinds cli.atlas_store
    cli.filter_checks cli.naming cli.portrait cli.difference cli.plots cli.svg cli.fitted cli.among
    cli.html cli.lookup cli.display web
    cli.drawing cli.asking cli.index_commands cli.motif_patterns
    cli.corpus_display cli.lock
    cli.comparison_display cli.difference_display cli.atlas_commands
    cli.model_commands cli.search_command cli.serve_command cli.lock_commands cli.motif_search
    cli.corpus_commands cli.benchmark_commands
    cli.model_app ask
    cli.index_app mcp_server cli.corpus_app
    cli.app cli
    __init__
"""
RANK = {name: rank for rank, line in enumerate(RANKS.splitlines()) for name in line.split()}

# What captures models and what searches them meet in the records only.
RECORDS = {"errors", "files", "settings", "ops", "graph", "architecture"}
RECORDS |= {"canonical", "normal_form", "fingerprints", "release"}
SOURCES = {"capture", "labels", "zoo", "corpus"}
BOTH = {"workspace", "atlas", "evaluation", "console", "web", "ask", "mcp_server", "__init__"}
BOTH |= {name for name in RANK if name.startswith("cli")}
SEARCH = set(RANK) - RECORDS - SOURCES - BOTH

# Third-party packages that belong to some modules of `nar`; every other library may be anywhere.
OWNERS = {
    **{library: ("nar/zoo/",) for each in MODELS for library in (each.library, *each.parts)},
    **dict.fromkeys(("ray", "cluster"), ()),
    "grpc": ("nar/serve/", "nar/client.py", "nar/async_client.py", "nar/v1/", "nar/index/"),
    **dict.fromkeys(("grpc_health", "grpc_reflection", "prometheus_client"), ("nar/serve/",)),
    **dict.fromkeys(("grpc_status", "opentelemetry"), ("nar/serve/",)),
    "google": ("nar/serve/", "nar/client.py", "nar/async_client.py", "nar/v1/", "nar/web/"),
    "starlette": ("nar/serve/", "nar/web/"),
    "uvicorn": ("nar/serve/http/",),
    **dict.fromkeys(("pymilvus", "milvus_lite"), ("nar/index/",)),
    "mcp": ("nar/mcp_server.py",),
    "torch_geometric": ("nar/evaluation/",),
    "onnx": ("nar/capture/",),
    "typer": (
        "nar/console.py",
        *(f"nar/cli/{each}.py" for each in ("app", "benchmark_commands", "filter_options")),
        *(f"nar/cli/{each}.py" for each in ("corpus_app", "index_app", "model_app")),
    ),
    "sklearn": ("nar/evaluation/reporting/figures.py", "nar/web/drawing.py"),
    "matplotlib": ("nar/cli/plots.py", "nar/evaluation/reporting/figures.py", "nar/ask.py"),
}


@dataclass(frozen=True, slots=True)
class Import:
    """One imported name: where it stands, and its dotted path."""

    path: str
    line: int
    target: str

    @property
    def source(self) -> str:
        """The module of `nar` that it stands in, as far as `RANKS` tells them apart."""
        parts = self.path.removesuffix(".py").split("/")[1:]
        return ranked(parts) or parts[0]


def ranked(parts: list[str]) -> str | None:
    """The longest beginning of a dotted path below `nar` that has a rank."""
    for length in (2, 1):
        name = ".".join(parts[:length])
        if name in RANK:
            return name
    return None


def python_files(root: Path, *packages: str) -> list[Path]:
    return [path for package in packages for path in sorted((root / package).rglob("*.py"))]


def imports(root: Path, package: str) -> Iterator[Import]:
    """Every import below a package, those inside functions and type-checking blocks included."""
    for path in python_files(root, package):
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


def below_nar(each: Import) -> str | None:
    """The module of `nar` that is imported: `nar.graph.Graph` and `from nar import graph` alike."""
    first, *rest = each.target.split(".")
    if first != "nar":
        return None
    return ranked(rest) or "__init__"


def wrong_direction(root: Path) -> list[str]:
    faults = []
    for each in imports(root, "nar"):
        source, target = each.source, below_nar(each)
        if source not in RANK:
            faults.append(f"{each.path}: has no line in RANKS")
        elif target and target != source and RANK[target] >= RANK[source]:
            faults.append(f"{each.path}:{each.line}: {source} stands before {target}")
        elif {source, target} & SOURCES and {source, target} & SEARCH:
            faults.append(f"{each.path}:{each.line}: {source} must not know {target}")
    return faults


def wrong_owner(root: Path) -> list[str]:
    return [
        f"{each.path}:{each.line}: {library} belongs to {OWNERS[library] or 'cluster/'}"
        for each in imports(root, "nar")
        for library in [each.target.split(".")[0]]
        if library in OWNERS and not each.path.startswith(OWNERS[library])
    ]


def too_long(root: Path) -> list[str]:
    files = python_files(root, "nar", "cluster", "tests")
    lengths = {
        path.relative_to(root).as_posix(): len(path.read_text().splitlines()) for path in files
    }
    return [
        f"{name}: {lines} lines"
        for name, lines in lengths.items()
        if lines > MAX_LINES and not name.startswith("nar/v1/")
    ]


def test_imports_follow_the_way_of_the_data():
    assert wrong_direction(ROOT) == []


def test_libraries_stay_with_their_owners():
    assert wrong_owner(ROOT) == []


def test_files_are_short():
    assert too_long(ROOT) == []


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
            "nar/graph.py",
            "from nar.motifs.growth import x",
            "nar/graph.py:1: graph stands before motifs.growth",
        ),
        (
            "nar/motifs/pieces.py",
            "from .growth import x",
            "nar/motifs/pieces.py:1: motifs.pieces stands before motifs.growth",
        ),
        ("nar/graph.py", "from nar import motifs", "nar/graph.py:1: graph stands before motifs"),
        ("nar/graph.py", "from .motifs import x", "nar/graph.py:1: graph stands before motifs"),
        (
            "nar/zoo/a.py",
            "def f():\n import nar.cli.app",
            "nar/zoo/a.py:2: zoo stands before cli.app",
        ),
        (
            "nar/encoding/embed.py",
            "import nar",
            "nar/encoding/embed.py:1: encoding.embed stands before __init__",
        ),
        (
            "nar/zoo/a.py",
            "from nar.motifs.partition import x",
            "nar/zoo/a.py:1: zoo must not know motifs.partition",
        ),
        ("nar/serve/a.py", "import nar.corpus", "nar/serve/a.py:1: serve must not know corpus"),
        ("nar/helpers.py", "import nar.graph", "nar/helpers.py: has no line in RANKS"),
        ("nar/zoo/a.py", "from nar.capture import x\nfrom nar.zoo import b", None),
        ("nar/motifs/partition.py", "import numpy\nfrom nar.graph import x", None),
    ],
)
def test_a_wrong_direction_is_seen(tmp_path, path, text, fault):
    plant(tmp_path, path, text)
    assert wrong_direction(tmp_path) == ([fault] if fault else [])


@pytest.mark.parametrize(
    ("path", "text", "fault"),
    [
        (
            "nar/encoding/embed.py",
            "def f():\n import ray.data",
            "nar/encoding/embed.py:2: ray belongs to cluster/",
        ),
        (
            "nar/encoding/embed.py",
            "from cluster import x",
            "nar/encoding/embed.py:1: cluster belongs to cluster/",
        ),
        ("nar/index/architecture_index.py", "import pymilvus", None),
        ("nar/serve/a.py", "import grpc.aio", None),
    ],
)
def test_a_library_in_the_wrong_room_is_seen(tmp_path, path, text, fault):
    plant(tmp_path, path, text)
    assert wrong_owner(tmp_path) == ([fault] if fault else [])


def test_a_long_file_is_seen(tmp_path):
    plant(tmp_path, "cluster/a.py", "x = 1\n" * (MAX_LINES + 1))
    plant(tmp_path, "nar/v1/generated.py", "x = 1\n" * (MAX_LINES + 1))
    assert too_long(tmp_path) == ["cluster/a.py: 301 lines"]


def plant(root: Path, path: str, text: str) -> None:
    (root / path).parent.mkdir(parents=True)
    (root / path).write_text(text)
