"""What each extra is for works where it alone is installed: what the others bring is hidden here.

`make extras` runs the same in environments that have nothing else.
"""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FORMATS = ROOT / "tests" / "formats"
MILVUS = ("milvus_lite", "pandas", "pymilvus")
TORCH = ("networkx", "torch")
# What each extra brings, by the names that are imported, and what it is for.
EXTRAS = {
    "capture": (TORCH, """
        import nar, torch
        mine = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU())
        assert nar.search(mine, top_k=1).rows()
    """),
    "cluster": ((*TORCH, *MILVUS, "ray"), """
        from importlib import import_module, util
        home = "nar.cluster" if util.find_spec("nar.cluster") else "cluster"
        for job in ("draw", "extract", "pretrain", "embed"):
            assert import_module(f"{home}.{job}").app
    """),
    "cyclonedx": (("cyclonedx",), """
        from nar.cli.app import app
        app(["capture", f"{formats}/sequence.keras", "--cyclonedx"])
    """),
    "index": (MILVUS, """
        import nar
        from nar.answers.atlas import read_atlas, shipped_atlas
        rows = read_atlas(shipped_atlas()).rows
        rows = [row for row, _ in zip(rows, range(3))]
        with nar.ArchitectureIndex(nar.IndexConfig(uri="mine.db")) as index:
            with index.build("0" * 64, len(rows[0].embedding)) as build:
                build.upsert(rows)
                build.publish()
            assert index.count() == 3
    """),
    "keras": (("h5py",), """
        import nar
        assert nar.search(f"{formats}/sequence.h5", top_k=1).rows()
    """),
    "mcp": (("mcp", "opentelemetry"), """
        from nar.mcp_server import mcp_server
        assert mcp_server()
    """),
    "pandas": (("pandas",), """
        import nar
        assert len(nar.search("timm:resnet50", top_k=2).to_pandas()) == 2
    """),
    "plots": (("matplotlib", "scipy", "sklearn"), """
        import nar
        nar.search("timm:resnet50", top_k=2).plot().savefig("map.png")
    """),
    "trace": (("opentelemetry",), """
        from opentelemetry import trace
        from opentelemetry.sdk.trace import TracerProvider
        from nar.wire.tracing import trace_metadata
        trace.set_tracer_provider(TracerProvider())
        with trace.get_tracer("test").start_as_current_span("question"):
            assert dict(trace_metadata())["traceparent"]
    """),
    "zoo": ((*TORCH, "timm", "torchvision", "transformers"), """
        import nar
        assert nar.capture_architecture("timm:resnet18").architecture.labels.family == "resnet"
    """),
}  # fmt: skip
# A library that is not there is found by nobody: torch asks whether some are.
HIDING = """
import sys

class Without:
    def __init__(self, finder):
        self.finder = finder

    def __getattr__(self, name):
        return getattr(self.finder, name)

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] not in {hidden!r}:
            return self.finder.find_spec(name, path, target)

sys.meta_path[:] = map(Without, sys.meta_path)
formats = {formats!r}
if True:
{program}
"""


def test_every_extra_that_is_no_library_of_models_is_tried():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    [everything] = extras["optional-dependencies"]["all"]
    assert sorted(EXTRAS) == everything.partition("[")[2].strip("]").split(",")


@pytest.mark.slow
@pytest.mark.parametrize("extra", EXTRAS)
def test_an_extra_works_alone(extra, tmp_path):
    own, program = EXTRAS[extra]
    hidden = {library for each, _ in EXTRAS.values() for library in each} - set(own)
    text = HIDING.format(hidden=hidden, formats=str(FORMATS), program=program)
    done = subprocess.run(
        [sys.executable, "-c", text], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
