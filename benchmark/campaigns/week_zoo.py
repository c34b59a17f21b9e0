"""The zoo of a made-up company for the campaign of a week: models of every kind, and its changes.

A third are factories in a package of several files; the others are configurations, ONNX files and
exported programs, some of them broken, some copies under other names.
"""

import json
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import onnx
import torch
import yaml
from onnx import TensorProto, helper

from nar.base.own_zoo import ZOO_FILE

_BLOCKS: Final = """
from torch import nn

def block(width, activation):
    return nn.Linear(width, width), activation()
"""
_NETS: Final = """
import torch
from torch import nn
from company.blocks import block

def net(number):
    depth, width = 1 + number % 9, 8 * (1 + number // 9)
    layers = [layer for _ in range(depth) for layer in block(width, nn.ReLU)]
    return nn.Sequential(nn.Flatten(), *layers), torch.zeros(1, width)

def hangs():
    import threading
    threading.Event().wait()
"""
_LATE: Final = """
import torch
from torch import nn
from company.late_blocks import ACTIVATION

def late(depth):
    layers = [layer for _ in range(depth) for layer in (nn.Linear(16, 16), ACTIVATION())]
    return nn.Sequential(*layers), torch.zeros(1, 16)
"""
_LATE_BLOCKS: Final = "from torch import nn\n\nACTIVATION = nn.{}\n"
# Of fifteen models of the zoo, how many are of a kind. Three factories import what changes later.
_SHARES: Final = {"nets": 5, "configs": 3, "onnx": 3, "programs": 2, "broken": 1, "copies": 1}
_LATE_ONES: Final = 3
# Chosen: what changes on the second day, of the whole zoo.
NEW, GONE = 10, 5
SMALL_ONNX: Final = 8


@dataclass(slots=True)
class WeekZoo:
    """The zoo, a folder with its declaration.

    Attributes:
        root: The folder.
        models: How many there are on Monday.
        failing: Names of models that nothing can be captured from.
        named: Rows of its declaration.
    """

    root: Path
    models: int
    failing: set[str] = field(default_factory=set)
    named: list[dict[str, Any]] = field(default_factory=list)

    def monday(self) -> None:
        """Make all of it."""
        count = {kind: self.models * share // 15 for kind, share in _SHARES.items()}
        package = self.root / "code/company"
        package.mkdir(parents=True)
        for name, text in {
            "__init__.py": "",
            "blocks.py": _BLOCKS,
            "nets.py": _NETS,
            "late.py": _LATE,
            "late_blocks.py": _LATE_BLOCKS.format("ReLU"),
        }.items():
            (package / name).write_text(text)
        self._declare_nets(range(count["nets"] - _LATE_ONES))
        self.named += [
            _row(f"late/{depth}", f"code/company/late.py:late({depth})", "late")
            for depth in range(1, 1 + _LATE_ONES)
        ]
        self._write_configs(range(count["configs"]))
        _write_onnx(self.root / "onnx", count["onnx"])
        _write_programs(self.root / "programs", count["programs"])
        for kind in ("broken", "copies"):
            (self.root / kind).mkdir()
        for number in range(count["broken"]):
            (self.root / f"broken/b{number:03}.onnx").write_bytes(b"nothing")
            self.failing.add(f"broken/b{number:03}.onnx")
        for number in range(count["copies"]):
            first = self.root / f"onnx/m{number:03}.onnx"
            shutil.copy(first, self.root / f"copies/c{number:03}.onnx")
        self._write()

    def tuesday(self) -> None:
        """Ten new, five gone, three changed through what they import, a model that hangs."""
        made = len([row for row in self.named if row["name"].startswith("nets/")])
        self._declare_nets(range(made, made + NEW // 2))
        configs = len(list((self.root / "configs").iterdir()))
        self._write_configs(range(configs, configs + NEW - NEW // 2))
        gone = sorted((self.root / "onnx").iterdir())[-(GONE - 2) :]
        for path in gone:
            path.unlink()
        self.named = [row for row in self.named if row["name"] not in ("nets/0000", "nets/0001")]
        blocks = self.root / "code/company/late_blocks.py"
        blocks.write_text(_LATE_BLOCKS.format("Tanh"))
        self.named.append(_row("nets/hangs", "code/company/nets.py:hangs", "mlp"))
        self.failing.add("nets/hangs")
        self._write()

    def thursday(self) -> None:
        """Two more are gone, and one has another label."""
        self.named = [row for row in self.named if row["name"] not in ("late/2", "late/3")]
        self.named[0]["labels"]["family"] = "perceptron"
        self._write()

    def _declare_nets(self, numbers: Sequence[int]) -> None:
        self.named += [
            _row(f"nets/{number:04}", f"code/company/nets.py:net({number})", "mlp")
            for number in numbers
        ]

    def _write_configs(self, numbers: Sequence[int]) -> None:
        for number in numbers:
            config = {
                "model_type": ("bert", "roberta")[number % 2],
                "num_hidden_layers": 1 + number % 4,
                "hidden_size": 16 * (1 + number // 4),
                "num_attention_heads": 2,
                "intermediate_size": 64,
            }
            folder = self.root / f"configs/c{number:03}"
            folder.mkdir(parents=True)
            (folder / "config.json").write_text(json.dumps(config))

    def _write(self) -> None:
        folders = [
            {"pattern": "onnx/*", "labels": {"family": "convnet"}},
            *({"pattern": f"{name}/*"} for name in ("programs", "configs", "broken", "copies")),
        ]
        declared = {"labels": {"task": "ranking"}, "folders": folders, "models": self.named}
        (self.root / ZOO_FILE).write_text(yaml.safe_dump(declared))


def _row(name: str, file: str, family: str) -> dict[str, Any]:
    return {"name": name, "file": file, "labels": {"family": family}}


def _write_onnx(directory: Path, count: int) -> None:
    directory.mkdir()
    for number in range(count):
        width, depth = 4 + number // SMALL_ONNX, 1 + number % SMALL_ONNX
        onnx.save(_onnx_of(width, depth), str(directory / f"m{number:03}.onnx"))


def _onnx_of(width: int, depth: int) -> onnx.ModelProto:
    shape = (1, width, 8, 8)
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in ("x0", "y")]
    graph = helper.make_graph(list(_nodes(depth)), "net", ends[:1], ends[1:], [*_weights(width)])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])


def _nodes(depth: int) -> Iterator[onnx.NodeProto]:
    for at in range(depth):
        yield helper.make_node("Conv", [f"x{at}", "w"], [f"c{at}"], pads=[1, 1, 1, 1])
        yield helper.make_node("Relu", [f"c{at}"], ["y" if at == depth - 1 else f"x{at + 1}"])


def _weights(width: int) -> Iterator[onnx.TensorProto]:
    values = [0.0] * (width * width * 9)
    yield helper.make_tensor("w", TensorProto.FLOAT, (width, width, 3, 3), values)


def _write_programs(directory: Path, count: int) -> None:
    directory.mkdir()
    for number in range(count):
        width, depth = 8 * (1 + number // 4), 1 + number % 4
        layers = (torch.nn.Linear(width, width), torch.nn.GELU())
        model = torch.nn.Sequential(*(layer for _ in range(depth) for layer in layers))
        program = torch.export.export(model, (torch.zeros(1, width),))
        torch.export.save(program, directory / f"p{number:03}.pt2")
