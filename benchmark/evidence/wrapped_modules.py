"""Modules and ONNX files of known models, with what deployment puts around them, captured anew.

``python -m benchmark capture-wrapped TARGET``: a decision; some five minutes.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import torch
from torch import Tensor, nn

from benchmark.rewriting.files import hollow, quiet
from benchmark.rewriting.rewrite import original
from nar.base.errors import one_line
from nar.capture import CaptureInputs
from nar.capture.forward.placement import inference
from nar.capture.onnx.file import capture_onnx
from nar.corpus import write_shard
from nar.graphs.architecture import architecture
from nar.graphs.graph import ComputationalGraph
from nar.own import resolve
from nar.zoo.building import Built, Surgery, operating

_OPSETS: Final = (11, 13, 14, 15, 16, 17, 18)
_RANKS: Final = (4, 8, 16, 32, 64)
# Names of layers that people adapt.
_ADAPTED: Final = ("q", "v", "fc")
# What is captured: modules of these models, with modules around them, and as ONNX files.
CAPTURED: Final = (
    "timm:resnet18", "timm:mobilenetv3_small_100", "timm:vit_tiny_patch16_224",
    "timm:efficientnet_b0", "timm:convnext_atto", "timm:regnetx_002", "timm:ghostnet_100",
    "timm:mixer_s32_224", "timm:deit_tiny_patch16_224", "timm:levit_128s", "timm:poolformer_s12",
    "timm:repvgg_a0", "timm:res2net50_26w_4s", "timm:seresnet50", "timm:pit_ti_224",
    "torchvision:squeezenet1_1", "torchvision:shufflenet_v2_x0_5", "torchvision:mnasnet0_5",
    "torchvision:googlenet", "torchvision:vgg11_bn", "torchvision:densenet121",
    "torchvision:mobilenet_v2", "torchvision:alexnet", "torchvision:swin_t",
    "transformers:bert/BertModel", "transformers:gpt2/GPT2Model", "transformers:t5/T5EncoderModel",
    "transformers:distilbert/DistilBertModel", "transformers:llama/LlamaModel",
    "transformers:vit/ViTModel", "transformers:opt/OPTModel", "transformers:bloom/BloomModel",
)  # fmt: skip


class Normalised(nn.Module):
    """A model of images that takes pixels and gives probabilities.

    Args:
        model: Takes normalised images.
    """

    mean: Tensor
    std: Tensor

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model
        device = next(model.parameters()).device
        self.register_buffer("mean", torch.zeros(1, 3, 1, 1, device=device))
        self.register_buffer("std", torch.ones(1, 3, 1, 1, device=device))

    def forward(self, pixels: Tensor) -> Tensor:
        """Shape (images, classes)."""
        scores: Tensor = self.model((pixels / 255 - self.mean) / self.std)
        return scores.softmax(dim=-1)


class Adapted(nn.Module):
    """A linear layer with an adapter of low rank.

    Args:
        layer: The layer.
        rank: Rank of the adapter.
    """

    def __init__(self, layer: nn.Linear, rank: int) -> None:
        super().__init__()
        device = layer.weight.device
        self.layer = layer
        self.down = nn.Linear(layer.in_features, rank, bias=False, device=device)
        self.up = nn.Linear(rank, layer.out_features, bias=False, device=device)
        self.scale = 2.0

    def forward(self, x: Tensor) -> Tensor:
        """The layer and its change."""
        changed: Tensor = self.layer(x) + self.up(self.down(x)) * self.scale
        return changed


def _normalised(module: nn.Module, inputs: CaptureInputs) -> Built:
    return Normalised(module), inputs


def _parallel(module: nn.Module, inputs: CaptureInputs) -> Built:
    return nn.Sequential(nn.DataParallel(module), nn.Softmax(dim=-1)), inputs


def _adapted(module: nn.Module, inputs: CaptureInputs, rank: int) -> Built:
    for parent in list(module.modules()):
        for name, child in list(parent.named_children()):
            if type(child) is nn.Linear and any(part in name for part in _ADAPTED):
                setattr(parent, name, Adapted(child, rank))
    return module, inputs


def write_captured(target: Path) -> Iterator[str]:
    """Capture each model in its wrappings; a line for each that fails.

    Args:
        target: The file.
    """
    items = []
    for number, name in enumerate(CAPTURED):
        for wrapping, capture in _captures(name, number):
            # Exporters and libraries raise anything for what they do not bear.
            try:
                own = resolve(name).labels
                items.append(architecture(replace(own, name=f"{name}@@{wrapping}"), capture()))
            except Exception as error:
                yield f"{name}, {wrapping}: {one_line(error)}"
    target.parent.mkdir(parents=True, exist_ok=True)
    write_shard(target, items)
    yield f"{len(items)} captures, in {target}"


def _captures(name: str, number: int) -> Iterator[tuple[str, Callable[[], ComputationalGraph]]]:
    is_image = not name.startswith("transformers:")
    opset = _OPSETS[number % len(_OPSETS)]
    if is_image:
        yield "module", partial(_after, name, _normalised)
        yield "parallel", partial(_after, name, _parallel)
        yield f"file:onnx:{opset}", partial(_from_onnx, name, opset, folds=False)
        yield f"file:onnx:{opset}:folded", partial(_from_onnx, name, opset, folds=True)
    else:
        rank = _RANKS[number % len(_RANKS)]
        yield f"lora:{rank}", partial(_after, name, partial(_adapted, rank=rank))


def _after(name: str, surgery: Surgery) -> ComputationalGraph:
    with operating(surgery):
        return resolve(name).capture().graph


def _from_onnx(name: str, opset: int, *, folds: bool) -> ComputationalGraph:
    """The model with a softmax behind it, exported."""
    module, inputs = hollow(original(name))
    module = nn.Sequential(module, nn.Softmax(dim=-1))
    modes = torch.onnx.TrainingMode
    with TemporaryDirectory() as folder, quiet(), inference(module):
        path = Path(folder, "model.onnx")
        torch.onnx.export(
            module,
            inputs.args,
            path,
            dynamo=False,
            opset_version=opset,
            training=modes.EVAL if folds else modes.PRESERVE,
            do_constant_folding=folds,
        )
        graph: ComputationalGraph = capture_onnx(path, name=name).graph
        return graph
