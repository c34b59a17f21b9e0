"""What a person waits for at the command line: wall seconds of whole commands, first to last byte.

Each in a process of its own, in turn, so that a slow minute meets all of them. Beside what they
stand on: an interpreter that does nothing, an interpreter that imports torch, and a run of the
same model on the meta device, as capture does.

Run: python -m benchmark speed cli [results.json]
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmark.speed.measure import report

ROUNDS = int(os.environ.get("NAR_BENCH_ROUNDS", "10"))
NAR = "from nar.cli.app import app; app()"
MODEL = """
import torch


def factory():
    layers = [torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU(), torch.nn.Conv2d(8, 8, 3), torch.nn.ReLU()]
    return torch.nn.Sequential(*layers), torch.zeros(1, 3, 64, 64)
"""
BARE = """
import torch
from model import factory
with torch.device("meta"), torch.inference_mode():
    module, x = factory()
    module(x)
"""
AGAIN = """
import time, nar
nar.search("timm:resnet50")
began = time.perf_counter()
nar.search("timm:vit_base_patch16_224")
print(time.perf_counter() - began)
"""


def nar(*arguments: str) -> list[str]:
    return [sys.executable, "-c", NAR, *arguments]


COMMANDS = {
    "python -c pass": [sys.executable, "-c", "pass"],
    "python -c 'import torch'": [sys.executable, "-c", "import torch"],
    "model.py:factory on the meta device, without NAR": [sys.executable, "-c", BARE],
    "nar --version": nar("--version"),
    "nar search timm:resnet50": nar("search", "timm:resnet50"),
    "nar search resnet5000 (misspelt)": nar("search", "resnet5000"),
    "nar search timm:resnet5000 (misspelt)": nar("search", "timm:resnet5000"),
    "nar search model.py:factory": nar("search", "model.py:factory"),
    "nar list '*resnet*'": nar("list", "*resnet*"),
}


def seconds(command: Sequence[str], directory: str) -> float:
    began = time.perf_counter()
    subprocess.run(command, cwd=directory, capture_output=True)
    return time.perf_counter() - began


def main() -> None:
    took: dict[str, list[float]] = {name: [] for name in (*COMMANDS, "a second nar.search()")}
    with tempfile.TemporaryDirectory() as directory:
        Path(directory, "model.py").write_text(MODEL)
        for _ in range(ROUNDS):
            for name, command in COMMANDS.items():
                took[name].append(seconds(command, directory))
            again = subprocess.check_output([sys.executable, "-c", AGAIN], text=True)
            took["a second nar.search()"].append(float(again))
    shown = {"median s": np.median, "best s": np.min, "longest s": np.max}
    rows = [
        {"what": name, **{column: f"{of(each):.2f}" for column, of in shown.items()}}
        for name, each in took.items()
    ]
    report(f"At the command line, {ROUNDS} times each", rows)


if __name__ == "__main__":
    main()
