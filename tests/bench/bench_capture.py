"""Capture: seconds a model, and its ratio to a bare forward pass on fake tensors and on meta ones.

Run: python tests/bench/bench_capture.py [results.json]
"""

import statistics

import torch
from measure import one_run, peak_memory_mib, report
from torch._subclasses.fake_tensor import FakeTensorMode

from nar.capture import CaptureInputs, capture_module
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


def build(name: str) -> torch.nn.Module:
    with torch.device("meta"):
        return import_library("timm").create_model(name, pretrained=False).eval()


def measure(name: str) -> dict[str, object]:
    """First runs, as a zoo is captured: each model once. Repeats would time torch's caches."""
    module = build(name)
    size = (1, *module.pretrained_cfg["input_size"])
    inputs = CaptureInputs((torch.empty(size, device="meta"),), {})
    fake_s, meta_s = bare_fake_seconds(module, size), bare_meta_seconds(module, size)
    capture_s = one_run(lambda: capture_module(module, inputs, name=name))
    graph = capture_module(module, inputs, name=name).graph
    return {
        "model": name,
        "nodes": graph.nodes,
        "build s": f"{one_run(lambda: build(name)):.3f}",
        "bare fake s": f"{fake_s:.3f}",
        "bare meta s": f"{meta_s:.3f}",
        "capture s": f"{capture_s:.3f}",
        "capture / fake": f"{capture_s / fake_s:.2f}",
        "capture / meta": f"{capture_s / meta_s:.2f}",
    }


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
    title = f"Capture (median ratio {ratio:.2f}, peak memory {peak_memory_mib():.0f} MiB)"
    report(title, rows)


if __name__ == "__main__":
    main()
