"""The same versions give the same fingerprints, in whatever process."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
import sys
from nar.own import capture_architecture
for name in sys.argv[1:]:
    item = capture_architecture(name).architecture
    print(name, item.exact, item.topology, item.graph.flops)
"""
# Small, and built by code that keeps sets and dictionaries: merges, branches, encoders of others.
NAMES = [
    "timm:inception_v4",
    "timm:hrnet_w18_small",
    "torchvision:raft_small",
    "transformers:t5/T5Model",
    "transformers:clip/CLIPModel",
    "smp:unetplusplus/mobileone_s0",
    "torchvision_detection:fcos/bat_resnext26ts",
    "monai:AttentionUnet/2d",
    "x_transformers:decoder/depth=6,rotary_pos_emb",
]


def fingerprints(hash_seed: str, names: list[str]) -> str:
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM, *names],
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout


@pytest.mark.slow
def test_neither_hash_seed_nor_order_changes_a_capture():
    lines = fingerprints("1", NAMES).splitlines()
    assert len(lines) == len(NAMES)
    assert sorted(fingerprints("2", NAMES[::-1]).splitlines()) == sorted(lines)


# Built with lists of which the classes before them take elements out.
SHARING = ["torch_rechub:DCNv2/parallel", "torch_rechub:WideDeep", "torch_rechub:AutoInt"]


@pytest.mark.slow
def test_what_was_made_before_does_not_change_a_network():
    together = fingerprints("0", SHARING).splitlines()
    assert together == [fingerprints("0", [name]).strip() for name in SHARING]
