"""What importing a part of NAR may load: a client or `nar --help` waits for no search engine."""

import subprocess
import sys

import pytest

INDEXES = {"pymilvus", "milvus_lite", "pyarrow", "pandas"}
LEARNING = {"torch", "torch_geometric", "scipy", "ray"}
SERVING = {"grpc", "prometheus_client"}
ARRAYS = {"numpy", "pydantic", "yaml"}

# Module -> packages that importing it must not load.
BUDGETS = {
    "nar": INDEXES | LEARNING | SERVING | ARRAYS | {"typer", "rich"},
    "nar.cli.app": INDEXES | LEARNING | SERVING | ARRAYS,
    "nar.index.filters": INDEXES | LEARNING | SERVING | ARRAYS,
    "nar.query": INDEXES | LEARNING | SERVING | {"pydantic"},
    "nar.retrieve": INDEXES | LEARNING | SERVING | {"pydantic"},
    "nar.index.exact": INDEXES | LEARNING | SERVING | {"pydantic"},
    "nar.cli.serve_command": LEARNING
    | {"pymilvus", "milvus_lite", "pandas", "starlette", "uvicorn"},
    "nar.client": INDEXES | LEARNING | {"prometheus_client", "opentelemetry"},
    "nar.async_client": INDEXES | LEARNING | {"prometheus_client", "opentelemetry"},
}


def loaded(module: str) -> set[str]:
    """The top-level packages that a fresh interpreter has after one import."""
    code = f"import {module}, sys; print(*{{name.partition('.')[0] for name in sys.modules}})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize("module", BUDGETS)
def test_importing_it_stays_within_its_budget(module):
    assert loaded(module) & BUDGETS[module] == set()


def test_a_server_starts_without_what_captures_models():
    code = "import nar.cli.serve_command, sys; print(*(n for n in sys.modules if 'nar.' in n))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    rooms = {name.split(".")[1] for name in done.stdout.split() if name.startswith("nar.")}
    assert rooms & {"capture", "zoo", "evaluation"} == set()


def test_a_search_by_name_loads_nothing_that_captures_or_embeds_models():
    code = (
        "import sys\nfrom nar.cli.app import app\n"
        "app(['search', 'timm:resnet18', '--json'], standalone_mode=False)\n"
        "heavy = {'torch', 'pandas', 'networkx', 'timm', 'nar.capture', 'nar.zoo'}\n"
        "heavy |= {'pyarrow.compute', 'nar.config', 'rich.progress'}\n"
        "print(*sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "timm:resnet18" in done.stdout
    assert done.stdout.splitlines()[-1] == ""


def test_a_budget_can_be_broken():
    assert loaded("nar.index.architecture_index") >= {"pymilvus", "pandas", "numpy"}
