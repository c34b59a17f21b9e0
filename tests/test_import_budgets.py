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
    "nar.answers.query": INDEXES | LEARNING | SERVING | {"pydantic"},
    "nar.answers.retrieve": INDEXES | LEARNING | SERVING | {"pydantic"},
    "nar.index.exact": INDEXES | LEARNING | SERVING | {"pydantic"},
    "nar.cli.serve_command": LEARNING
    | {"pymilvus", "milvus_lite", "pandas", "starlette", "uvicorn"},
    "nar.client.client": INDEXES | LEARNING | {"prometheus_client", "opentelemetry"},
    "nar.client.async_client": INDEXES | LEARNING | {"prometheus_client", "opentelemetry"},
}


def loaded(module: str) -> set[str]:
    """The top-level packages that a fresh interpreter has after one import."""
    code = f"import {module}, sys; print(*{{name.partition('.')[0] for name in sys.modules}})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.slow
@pytest.mark.parametrize("module", BUDGETS)
def test_importing_it_stays_within_its_budget(module):
    assert loaded(module) & BUDGETS[module] == set()


@pytest.mark.slow
def test_a_server_starts_without_what_captures_models():
    code = "import nar.cli.serve_command, sys; print(*(n for n in sys.modules if 'nar.' in n))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    rooms = {name.split(".")[1] for name in done.stdout.split() if name.startswith("nar.")}
    assert rooms & {"capture", "zoo"} == set()


# What a command types -> packages that it must not load to answer.
CAPTURING = {
    "torch",
    "pandas",
    "timm",
    "nar.capture",
    "nar.own",
    "nar.zoo",
    "nar.config",
    "pyarrow.compute",
}
COMMANDS = {
    "search timm:resnet18 --json": CAPTURING | {"networkx", "rich.progress"},
    "corpus list --family resnet": CAPTURING,
    "corpus stats": CAPTURING,
}


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_answering_from_what_is_shipped_loads_nothing_that_captures_or_embeds(command):
    code = (
        "import sys\nfrom nar.cli.app import app\n"
        f"app({command.split()}, standalone_mode=False)\n"
        f"print(*sorted({COMMANDS[command]} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    *answer, last = done.stdout.splitlines()
    assert answer
    assert last == ""


@pytest.mark.slow
def test_a_budget_can_be_broken():
    assert loaded("nar.index.architecture_index") >= {"pymilvus", "pandas", "numpy"}
