"""Capture: seconds a model, and its ratio to a bare forward pass on fake tensors and on meta ones.

Beside them, a model from its name to its graph, as a worker does it for a zoo: built, captured, and
what is left of it collected. All run in every round, each of them first in turn, after a round that
does not count: torch loads and caches on first use what the others then find. What counts is the
fastest run of each.

Run: python -m benchmark speed capture [results.json]
"""

import statistics
from collections.abc import Callable

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from benchmark.speed.measure import one_run, peak_memory_mib, report
from cluster.capture_worker import uncollected
from nar.capture import CaptureInputs, capture_module
from nar.zoo.building import Plan, UninitialisedOnMeta, capture_plan
from nar.zoo.libraries import import_library

NAMES = (
    "resnet50",
    "resnet152",
    "densenet121",
    "mobilenetv3_large_100",
    "efficientnet_b0",
    "convnext_tiny",
    "vit_base_patch16_224",
    "swin_tiny_patch4_window7_224",
    "maxvit_tiny_tf_224",
    "mixer_b16_224",
)
ROUNDS = 8


def build(name: str) -> torch.nn.Module:
    return import_library("timm").create_model(name, pretrained=False).eval()


def build_on_meta(name: str) -> torch.nn.Module:
    with UninitialisedOnMeta():
        return build(name)


def capture_of_a_zoo(name: str) -> None:
    with uncollected():
        capture_plan(name, Plan(lambda: build(name), inputs_of))


def inputs_of(module: torch.nn.Module) -> CaptureInputs:
    size = (1, *module.pretrained_cfg["input_size"])
    return CaptureInputs((torch.empty(size, device="meta"),), {})


def measure(name: str) -> dict[str, object]:
    module = build_on_meta(name)
    inputs = inputs_of(module)
    size = tuple(inputs.args[0].shape)
    ways = {
        "fake": lambda: bare_fake_seconds(module, size),
        "meta": lambda: bare_meta_seconds(module, size),
        "capture": lambda: one_run(lambda: capture_module(module, inputs, name=name)),
        "build": lambda: one_run(lambda: build_on_meta(name)),
        "zoo": lambda: one_run(lambda: capture_of_a_zoo(name)),
    }
    best = fastest(ways)
    return {
        "model": name,
        "nodes": capture_module(module, inputs, name=name).graph.nodes,
        "build s": f"{best['build']:.3f}",
        "bare fake s": f"{best['fake']:.3f}",
        "bare meta s": f"{best['meta']:.3f}",
        "capture s": f"{best['capture']:.3f}",
        "capture / fake": f"{best['capture'] / best['fake']:.2f}",
        "capture / meta": f"{best['capture'] / best['meta']:.2f}",
        "build and capture s": f"{best['zoo']:.3f}",
        "models/s": f"{1 / best['zoo']:.1f}",
    }


def fastest(ways: dict[str, Callable[[], float]]) -> dict[str, float]:
    """The seconds of the fastest run of each."""
    names = list(ways)
    taken: dict[str, list[float]] = {name: [] for name in names}
    for number in range(-1, ROUNDS):
        first = number % len(names)
        for name in names[first:] + names[:first]:
            seconds = ways[name]()
            if number >= 0:
                taken[name].append(seconds)
    return {name: min(each) for name, each in taken.items()}


def bare_fake_seconds(module: torch.nn.Module, size: tuple[int, ...]) -> float:
    with FakeTensorMode(), torch.no_grad():
        state = {
            name: torch.empty(tensor.shape, dtype=tensor.dtype)
            for name, tensor in (*module.named_parameters(), *module.named_buffers())
        }
        image = torch.empty(size)
        return one_run(lambda: torch.func.functional_call(module, state, (image,)))


def bare_meta_seconds(module: torch.nn.Module, size: tuple[int, ...]) -> float:
    image = torch.empty(size, device="meta")
    with torch.no_grad():
        return one_run(lambda: module(image))


def main() -> None:
    torch.set_num_threads(1)
    rows = [measure(name) for name in NAMES]
    ratio = statistics.median(float(str(row["capture / fake"])) for row in rows)
    rate = len(rows) / sum(1 / float(str(row["models/s"])) for row in rows)
    title = (
        f"Capture (median ratio {ratio:.2f}, {rate:.1f} models/s with their building, "
        f"peak memory {peak_memory_mib():.0f} MiB)"
    )
    report(title, rows)


if __name__ == "__main__":
    main()
