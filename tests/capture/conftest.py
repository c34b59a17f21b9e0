"""Small modules, captured, and their graphs as text."""

from collections.abc import Callable, Iterator

import pytest
import torch
from torch import Tensor, nn

from nar.capture import Capture, CaptureInputs, capture_module
from nar.graphs.graph import ComputationalGraph, operand_lists
from nar.graphs.ops import op_name


class Function(nn.Module):
    """A function of its inputs and of learned vectors ``w``, ``v`` of 8 elements and matrices."""

    def __init__(self, function: Callable[..., object]) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.empty(8, device="meta"))
        self.v = nn.Parameter(torch.empty(8, device="meta"))
        self.matrix = nn.Parameter(torch.empty(8, 8, device="meta"))
        self.packed = nn.Parameter(torch.empty(24, 8, device="meta"))
        self.function = function

    def forward(self, *inputs: Tensor) -> object:
        return self.function(self, *inputs)


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def captured() -> Callable[..., Capture]:
    """``captured(module or function, *inputs)``: shapes become float inputs."""

    def capture(model: nn.Module | Callable[..., object], *inputs: object) -> Capture:
        module = model if isinstance(model, nn.Module) else Function(model)
        args = [torch.empty(i, device="meta") if isinstance(i, tuple) else i for i in inputs]
        return capture_module(module, CaptureInputs(tuple(args)), name="model")

    return capture


@pytest.fixture
def text_of() -> Callable[[ComputationalGraph], str]:
    """The inverse of ``graph_of``: operators and operand numbers, in canonical order."""

    def text(graph: ComputationalGraph) -> str:
        operands = operand_lists(graph.nodes, graph.edge_index)
        names = map(op_name, graph.op_ids.tolist())
        lines = [" ".join([n, *map(str, o)]) for n, o in zip(names, operands, strict=True)]
        return "; ".join(lines)

    return text


@pytest.fixture
def drawn(captured, text_of) -> Callable[..., str]:
    """Capture a module or function and give its graph as text."""
    return lambda model, *inputs: text_of(captured(model, *inputs).graph)
