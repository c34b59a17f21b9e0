"""The protocol `files`: known models as the files that exporters write of them.

``python -m benchmark files`` makes each file anew, asks about it as `nar search` does, and throws
it away. Exporters that are not installed have no row.

::

    module ──> writer ──> file ──┬─ of a graph:   captured, then looked up: same model, parameters
                                 └─ of weights:   recognised: same model, numbers of the tensors
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from math import prod
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import numpy as np
import torch
from torch import nn

from benchmark.evidence.intervals import share
from benchmark.evidence.wrapped_modules import CAPTURED
from benchmark.reporting.markdown import keep_page, markdown_table
from benchmark.rewriting.files import hollow, quiet
from benchmark.rewriting.rewrite import Original, original
from nar.answers.atlas import read_atlas, shipped_atlas
from nar.answers.query import Query
from nar.answers.recognition import recognise_file
from nar.answers.retrieve import Retriever
from nar.base.errors import NarError, one_line
from nar.base.weight_files import weight_shapes
from nar.capture import CaptureInputs
from nar.capture.forward.placement import inference
from nar.graphs.architecture import Architecture
from nar.own import capture_architecture

COMMAND: Final = "python -m benchmark files --results results"
PAGE: Final = "files.md"
# Each model is written in one of them, so that all of them are asked about.
_OPSETS: Final = (11, 13, 15, 17, 18)
# Chosen: all that these models need can be written in it.
_LATER: Final = 18
# Chosen: shards of a megabyte, so that a small model has several.
_SHARD_BYTES: Final = 2**20
_INTRODUCTION: Final = (
    "{models} models of the corpus, written by the exporters that are installed here ({versions}), "
    "and asked about as files. **What it is**: of a graph, the answer says that it is this model, "
    "as a network, a design or at inference; of weights, that they are of this model first. "
    "**Parameters**: of a graph, the learned numbers that the answer states are those of the "
    "module, or, where the exporter has folded norms into convolutions, those that are left in the "
    "file; of weights, the numbers in the tensors that were read. **Not written**: the exporter "
    "failed, which is no fault of NAR. In brackets the 95% interval, by drawing models again. "
    "Files of TensorFlow Lite, OpenVINO and GGUF need converters that are not in the lock: small "
    "ones are in `tests/formats` and `tests/zoo`, and are read in `make test`."
)

Write = Callable[[nn.Module, CaptureInputs, Path, int], None]


@dataclass(frozen=True, slots=True)
class Writer:
    """One way in which a model becomes a file.

    Attributes:
        name: What it is called.
        file: Name of the file.
        write: Writes the file; its last argument numbers the model.
        library: The library that it needs beside torch; empty for none.
        folds: Whether it folds norms into convolutions.
    """

    name: str
    file: str
    write: Write
    library: str = ""
    folds: bool = False


@dataclass(frozen=True, slots=True)
class Asked:
    """What was said of one file.

    Attributes:
        model: The model that it was made from.
        writer: Who wrote it.
        is_written: Whether the exporter wrote it.
        is_named: Whether it was said to be this model.
        wanted: Its parameters.
        came: Those that the answer states; None where there was no answer.
        fault: What was said in place of an answer, or of the exporter.
    """

    model: str
    writer: str
    is_written: bool = True
    is_named: bool = False
    wanted: int = 0
    came: int | None = None
    fault: str = ""


class _Called(nn.Module):
    """A module whose only inputs are tensors, for the exporter of traces takes few others.

    Args:
        module: The module.
        inputs: Its call, whose tensors become the inputs, in their order.
    """

    def __init__(self, module: nn.Module, inputs: CaptureInputs) -> None:
        super().__init__()
        self.module = module
        self._args, self._kwargs = inputs.args, dict(inputs.kwargs)

    def forward(self, *tensors: torch.Tensor) -> object:
        """What the module gives, as tensors where it gives a record."""
        left = iter(tensors)
        call = [next(left) if isinstance(each, torch.Tensor) else each for each in self._args]
        named = {
            name: next(left) if isinstance(each, torch.Tensor) else each
            for name, each in self._kwargs.items()
        }
        return self.module(*call, **named)


def _onnx(
    module: nn.Module, inputs: CaptureInputs, path: Path, number: int, **more: object
) -> None:
    """By the exporter of traces; dropout and norms stay where nothing else is said."""
    settings: dict[str, Any] = {
        "dynamo": False,
        "opset_version": _OPSETS[number % len(_OPSETS)],
        "training": torch.onnx.TrainingMode.PRESERVE,
        "do_constant_folding": False,
        **more,
    }
    tensors = [each for each in (*inputs.args, *inputs.kwargs.values()) if torch.is_tensor(each)]
    called = _Called(module, inputs).train(module.training)
    try:
        torch.onnx.export(called, tuple(tensors), path, **settings)
    except torch.onnx.errors.UnsupportedOperatorError:  # it came later than this opset
        torch.onnx.export(called, tuple(tensors), path, **settings | {"opset_version": _LATER})


_folded: Final = partial(_onnx, training=torch.onnx.TrainingMode.EVAL, do_constant_folding=True)


def _onnx_of_programs(module: nn.Module, inputs: CaptureInputs, path: Path, _number: int) -> None:
    torch.onnx.export(
        module, inputs.args, path, kwargs=dict(inputs.kwargs), dynamo=True, verbose=False,
        optimize=False,
    )  # fmt: skip


def _optimised(module: nn.Module, inputs: CaptureInputs, path: Path, number: int) -> None:
    """What onnxruntime keeps of a graph that it has made faster."""
    onnxruntime: Any = import_module("onnxruntime")

    plain = path.with_name("plain.onnx")
    _folded(module, inputs, plain, number)
    settings = onnxruntime.SessionOptions()
    settings.optimized_model_filepath = str(path)
    settings.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    settings.log_severity_level = 3  # only errors
    onnxruntime.InferenceSession(plain, settings, providers=["CPUExecutionProvider"])


def _program(
    module: nn.Module, inputs: CaptureInputs, path: Path, _number: int, *, is_core: bool
) -> None:
    program = torch.export.export(module, inputs.args, dict(inputs.kwargs), strict=False)
    torch.export.save(program.run_decompositions() if is_core else program, path)


def _tensors(module: nn.Module) -> dict[str, torch.Tensor]:
    """The weights as a file has them: tied ones once, as its library wants them."""
    seen: set[int] = set()
    kept = {}
    for name, tensor in module.state_dict(keep_vars=True).items():
        if id(tensor) not in seen:
            seen.add(id(tensor))
            kept[name] = tensor.detach().contiguous()
    return kept


def _safetensors(module: nn.Module, _inputs: CaptureInputs, path: Path, _number: int) -> None:
    from safetensors.torch import save_file

    save_file(_tensors(module), path)


def _shards(module: nn.Module, _inputs: CaptureInputs, path: Path, _number: int) -> None:
    """As the Hub keeps large models: an index, and a file for each megabyte."""
    from json import dumps

    from safetensors.torch import save_file

    shards: list[dict[str, torch.Tensor]] = [{}]
    for name, tensor in _tensors(module).items():
        if sum(each.nbytes for each in shards[-1].values()) >= _SHARD_BYTES:
            shards.append({})
        shards[-1][name] = tensor
    names: dict[str, str] = {}
    for number, tensors in enumerate(shards, start=1):
        file = f"model-{number:05}-of-{len(shards):05}.safetensors"
        save_file(tensors, path.with_name(file))
        names |= dict.fromkeys(tensors, file)
    path.write_text(dumps({"metadata": {}, "weight_map": names}))


def _checkpoint(module: nn.Module, _inputs: CaptureInputs, path: Path, number: int) -> None:
    """As programs save it: alone, or beside the state of a trainer, under a prefix."""
    weights = _tensors(module)
    wrapped = {"state_dict": {f"module.{name}": each for name, each in weights.items()}, "epoch": 3}
    torch.save(wrapped if number % 2 else weights, path)


WRITERS: Final = (
    Writer("ONNX, of a trace", "model.onnx", _onnx),
    Writer("ONNX, of a trace, folded", "model.onnx", _folded, folds=True),
    Writer("ONNX, of an exported program", "model.onnx", _onnx_of_programs, "onnxscript"),
    Writer("ONNX, made faster by onnxruntime", "model.onnx", _optimised, "onnxruntime", folds=True),
    Writer("exported program", "model.pt2", partial(_program, is_core=False)),
    Writer("exported program, core ATen", "model.pt2", partial(_program, is_core=True)),
    Writer("safetensors", "model.safetensors", _safetensors, "safetensors"),
    Writer("safetensors, in shards", "model.safetensors.index.json", _shards, "safetensors"),
    Writer("checkpoint of PyTorch", "model.pth", _checkpoint),
)


def answers(
    names: Sequence[str] = CAPTURED, writers: Sequence[Writer] = WRITERS
) -> Iterator[Asked]:
    """Write each model in each way that is installed, and ask about the file."""
    content = read_atlas(shipped_atlas())
    retriever = Retriever(content.embedder, content.index, content.novelty)
    for number, name in enumerate(names):
        source = original(name)
        for writer in writers:
            if writer.library and find_spec(writer.library) is None:
                continue
            yield _written(source, writer, number, retriever)


def _written(source: Original, writer: Writer, number: int, retriever: Retriever) -> Asked:
    """Write one file, and ask about it."""
    name = source.name
    # Exporters change some modules, so that each gets one of its own.
    module, inputs = hollow(source)
    with TemporaryDirectory() as folder, quiet(), inference(module):
        path = Path(folder, writer.file)
        # An exporter raises anything for what it does not bear.
        try:
            writer.write(module, inputs, path, number)
        except Exception as error:
            return Asked(name, writer.name, is_written=False, fault=one_line(error))
        return _ask(source.architecture, writer, module, path, retriever)


def _ask(
    own: Architecture, writer: Writer, module: nn.Module, path: Path, retriever: Retriever
) -> Asked:
    name = own.labels.name
    is_graph = path.suffix in (".onnx", ".pt2")
    if writer.folds:
        import onnx

        wanted = parameters_of_file(module, onnx.load(path).graph)
    elif is_graph:
        wanted = sum(weight.numel() for weight in module.parameters())
    else:
        wanted = sum(tensor.numel() for tensor in _tensors(module).values())
    try:
        if not is_graph:
            found, numbers = recognise_file(path), sum(map(prod, weight_shapes(path).values()))
            is_named = bool(found.matches) and name in found.matches[0].models
            return Asked(name, writer.name, True, is_named, wanted, numbers)
        item = capture_architecture(str(path)).architecture
        [answer] = retriever.answers([Query(item, top_k=3)])
    except NarError as error:
        return Asked(name, writer.name, wanted=wanted, fault=one_line(error))
    hits = [*answer.same_network, *answer.same_at_inference, *answer.same_design]
    is_named = any(own.topology == hit.topology or own.inference == hit.inference for hit in hits)
    return Asked(name, writer.name, True, is_named, wanted, item.parameters)


def parameters_of_file(module: nn.Module, graph: Any) -> int:  # noqa: ANN401 -- onnx has no types
    """The learned numbers of a module, less those that an exporter has folded away.

    A batch norm that is folded takes its scale and its shift with it, and leaves the convolution a
    bias where that had none.

    Args:
        module: Whose batch norms stand behind convolutions, or are left alone.
        graph: The graph of the ONNX file that was made of it.
    """
    sizes: dict[str, int] = {each.name: int(np.prod(each.dims)) for each in graph.initializer}
    left = sum(sizes[node.input[1]] for node in graph.node if node.op_type == "BatchNormalization")
    biased = {node.input[2] for node in graph.node if _has_bias(node, sizes)}
    norms = _learned(module, nn.modules.batchnorm._BatchNorm, "weight")
    biases = _learned(module, nn.modules.conv._ConvNd, "bias")
    learned = sum(weight.numel() for weight in module.parameters())
    return learned - 2 * (norms - left) + sum(sizes[name] for name in biased) - biases


def _learned(module: nn.Module, kind: type[nn.Module], name: str) -> int:
    """How many numbers all layers of one kind have in a weight of this name."""
    weights = [getattr(each, name) for each in module.modules() if isinstance(each, kind)]
    return sum(int(weight.numel()) for weight in weights if weight is not None)


def _has_bias(node: Any, sizes: Mapping[str, int]) -> bool:  # noqa: ANN401 -- onnx has no types
    is_convolution = node.op_type in ("Conv", "FusedConv", "ConvTranspose")
    return is_convolution and len(node.input) > 2 and node.input[2] in sizes


def as_markdown(asked: Sequence[Asked], versions: str) -> str:
    """The page."""
    by_writer: defaultdict[str, list[Asked]] = defaultdict(list)
    for each in asked:
        by_writer[each.writer].append(each)
    written = [each for each in asked if each.is_written]
    rows = [*map(_row, by_writer, by_writer.values()), _row("all", asked)]
    models = len({each.model for each in asked})
    blocks = [
        "# Known models as files of many exporters",
        f"```sh\n{COMMAND}\n```",
        _INTRODUCTION.format(models=models, versions=versions),
        markdown_table(("file", "models", "not written", "what it is", "parameters"), rows),
    ]
    wrong = [each for each in written if not each.is_named or each.came != each.wanted]
    if wrong:
        head = ("model", "file", "said to be it", "parameters wanted", "came")
        blocks += ["## Not right", markdown_table(head, list(map(_fault, wrong)))]
    return "\n\n".join(blocks) + "\n"


def _row(name: str, asked: Sequence[Asked]) -> list[str]:
    written = [each for each in asked if each.is_written]
    return [
        name,
        str(len(written)),
        str(len(asked) - len(written)),
        str(share([(each.model, each.is_named) for each in written])),
        str(share([(each.model, each.came == each.wanted) for each in written])),
    ]


def _fault(each: Asked) -> list[str]:
    came = each.fault or f"{each.came:,}"
    return [each.model, each.writer, "yes" if each.is_named else "no", f"{each.wanted:,}", came]


def versions() -> str:
    """The libraries that write, with their versions."""
    libraries = dict.fromkeys(each.library for each in WRITERS if each.library)
    here = ("torch", *(name for name in libraries if find_spec(name) is not None))
    return ", ".join(f"{name} {version(name)}" for name in here)


def write_page(results: Path) -> None:
    """Write ``files.md``."""
    text = as_markdown(list(answers()), versions())
    keep_page(results, PAGE, text)
