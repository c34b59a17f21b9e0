"""Captured another way: as an exported program, in core ATen, as an ONNX file."""

import logging
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from functools import cache, partial
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from torch import Tensor, nn

from benchmark.rewriting.inputs import changed
from benchmark.rewriting.rewrite import NotApplicableError, Original, Rewrite
from nar.base.errors import one_line
from nar.base.workspace import package_lines
from nar.capture import CaptureInputs
from nar.capture.exported import capture_exported
from nar.capture.forward.placement import inference
from nar.capture.onnx.file import capture_onnx
from nar.capture.torch_internals import disable_onnx_log
from nar.graphs.graph import ComputationalGraph
from nar.zoo.building import Built

_LOGGERS = ("torch.export", "torch._export", "torch.onnx", "torch._dynamo")


def file_rewrites() -> tuple[Rewrite, ...]:
    """The same model, read from a file."""
    return (
        Rewrite("exported", "equal", exported, leaves_zoo=True),
        Rewrite("core_aten", "equal", core_aten, leaves_zoo=True),
        Rewrite("onnx", "equal", onnx, leaves_zoo=True),
    )


def exported(original: Original) -> ComputationalGraph:
    """By `torch.export`, saved and read again."""
    return _through_file(original, ".pt2", partial(_export, decompose=False), capture_exported)


def core_aten(original: Original) -> ComputationalGraph:
    """By `torch.export`, brought to core ATen, saved and read again."""
    return _through_file(original, ".pt2", partial(_export, decompose=True), capture_exported)


def onnx(original: Original) -> ComputationalGraph:
    """By `torch.onnx.export` of a trace, saved and read again."""
    return _through_file(original, ".onnx", _export_onnx, capture_onnx)


@cache
def exported_names() -> frozenset[str]:
    """The frozen list of models that are exported."""
    return frozenset(package_lines("rewriting", "exported.txt", package="benchmark"))


def _through_file(
    original: Original,
    suffix: str,
    save: Callable[[nn.Module, CaptureInputs, Path], None],
    read: Callable[..., Any],
) -> ComputationalGraph:
    if original.name not in exported_names():
        raise NotApplicableError("not in exported.txt")
    module, inputs = hollow(original)
    with TemporaryDirectory() as folder, quiet(), inference(module):
        path = Path(folder, f"model{suffix}")
        # An exporter raises anything for what it cannot export: that is no fault of the capture.
        try:
            save(module, inputs, path)
        except Exception as error:
            raise NotApplicableError(f"torch cannot export it: {one_line(error)}") from error
        graph: ComputationalGraph = read(path, name=original.name).graph
        return graph


def _export(module: nn.Module, inputs: CaptureInputs, path: Path, *, decompose: bool) -> None:
    program = torch.export.export(module, inputs.args, dict(inputs.kwargs), strict=False)
    torch.export.save(program.run_decompositions() if decompose else program, path)


def _export_onnx(module: nn.Module, inputs: CaptureInputs, path: Path) -> None:
    torch.onnx.export(
        module,
        inputs.args,
        path,
        kwargs=dict(inputs.kwargs),
        dynamo=False,
        training=torch.onnx.TrainingMode.PRESERVE,  # folds no batch norm into a convolution
    )


def hollow(original: Original) -> Built:
    """The model on the CPU in evaluation mode, each weight one random number seen many times.

    Exporters tell tied weights by their memory and their values, so every weight has its own.
    """
    module, inputs = original.build()
    made: dict[int, nn.Parameter] = {}
    generator = torch.Generator().manual_seed(0)
    for child in module.modules():
        for name, weight in child.named_parameters(recurse=False):
            if id(weight) not in made:
                made[id(weight)] = nn.Parameter(_one_number(weight, generator))
            child.register_parameter(name, made[id(weight)])
        for name, buffer in child.named_buffers(recurse=False):
            setattr(child, name, _one_number(buffer, generator))
    return module.eval(), changed(inputs, lambda x: x.new_zeros(x.shape, device="cpu"))


def _one_number(like: Tensor, generator: torch.Generator) -> Tensor:
    number = torch.rand([1] * like.dim(), generator=generator).to(like.dtype)
    return number.expand(like.shape)


@contextmanager
def quiet() -> Iterator[None]:
    """Exporters log, warn and print what the raised error says as well."""
    disabled = {name: logging.getLogger(name).disabled for name in _LOGGERS}
    disable_onnx_log()
    with warnings.catch_warnings(), redirect_stdout(StringIO()):
        warnings.simplefilter("ignore")
        for name in _LOGGERS:
            logging.getLogger(name).disabled = True
        try:
            yield
        finally:
            for name, was_disabled in disabled.items():
                logging.getLogger(name).disabled = was_disabled
