"""Graph networks of torch_geometric: its models and its convolutions, on known data sets."""

from collections.abc import Callable
from functools import cache, partial
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

from nar.base.workspace import package_yaml
from nar.capture import CaptureInputs
from nar.graphs.architecture import Tier
from nar.zoo.building import for_real, on_meta
from nar.zoo.libraries import import_library
from nar.zoo.source import Entry, Source, by_forward

NODES = 6  # chosen: a small ring, for the operators are the same on any graph
# A ring whose edges run in both directions, sorted by target as recurrent aggregation wants them.
RING = tuple((node + step) % NODES for node in range(NODES) for step in (-1, 1))
EDGES = len(RING)

Row = dict[str, Any]
# The inputs that a network may take, each made from the width that the table states.
_INPUTS: dict[str, Callable[[int], Tensor]] = {
    "x": lambda width: torch.zeros(NODES, width),
    "edge_index": lambda _: _ring(),
    "neg_edge_index": lambda _: _ring(),
    "edge_attr": lambda width: torch.zeros(EDGES, width),
    "edge_type": lambda _: torch.zeros(EDGES, dtype=torch.long),
    "batch": lambda _: torch.zeros(NODES, dtype=torch.long),
}


def _names() -> list[str]:
    return list(_networks())


def _entry(model: str) -> Entry | None:
    row = _networks().get(model)
    if row is None:
        return None
    follow = for_real if row["reads_values"] else on_meta
    capture = by_forward(partial(_build, row), partial(_inputs, row), follow=follow)
    return Entry(row["design"], row["task"], capture, tier=row["tier"])


@cache
def _networks() -> dict[str, Row]:
    """Name -> {make, arguments, inputs, design, task, tier}, of all three tables."""
    tables = package_yaml("zoo", "sources", "pyg_nets.yaml")
    data = tables["data"]
    networks: dict[str, Row] = {}
    for net, row in tables["models"].items():
        first, *others = row.get("data", data)
        for dataset in (first, *others):
            tier: Tier = "named" if dataset == first else "swept"
            networks[f"{net}/{dataset}"] = _on_data(net, row, dataset, data[dataset], tier=tier)
    for net, row in tables["whole"].items():
        networks[net] = _row(net, row, row.get("arguments", {}), row["inputs"])
    for conv, row in tables["convolutions"].items():
        for dataset in tables["convolved"]:
            tier = "named" if dataset == tables["convolved"][0] else "swept"
            filled = _on_data(conv, row, dataset, data[dataset], make="stack", tier=tier)
            networks[f"{conv}/{dataset}"] = filled
    return networks


def _on_data(net: str, row: Row, dataset: str, shape: Row, **more: str) -> Row:
    """A row of the table with the features, width, depth and classes of a data set."""
    arguments = {**shape, **row.get("arguments", {})}
    given = {"x": shape["in_channels"], "edge_index": 0, **row.get("inputs", {})}
    inputs = {name: width for name, width in given.items() if name not in row.get("without", ())}
    filled = _row(net, row, arguments, inputs)
    task = "graph-classification" if dataset in ("mutag", "proteins") else "node-classification"
    return {**filled, "task": row.get("task", task), **more}


def _row(net: str, row: Row, arguments: Row, inputs: Row, tier: Tier = "named") -> Row:
    kind = net.partition("@")[0]
    return {
        "make": "model",
        "class": kind,
        "arguments": arguments,
        "without": row.get("without", ()),
        "inputs": inputs,
        "design": row.get("design", kind),
        "task": row.get("task", "node-classification"),
        "tier": tier,
        "reads_values": row.get("reads_values", False),
    }


def _build(row: Row) -> nn.Module:
    layers = import_library("torch_geometric.nn")
    kind = getattr(layers, row["class"], None) or getattr(layers.models, row["class"])
    if row["make"] == "stack":
        return _stack(layers, kind, dict(row["arguments"]), list(row["inputs"]))
    arguments = {
        name: _value(value)
        for name, value in row["arguments"].items()
        if name not in row["without"]
    }
    network: nn.Module = kind(**arguments)
    return network


def _stack(layers: Any, kind: Any, arguments: Row, inputs: list[str]) -> nn.Module:  # noqa: ANN401
    """Convolutions with ReLU between them, the way that their papers classify nodes."""
    first, hidden, last, depth = (
        arguments.pop(name)
        for name in ("in_channels", "hidden_channels", "out_channels", "num_layers")
    )
    widths = [first, *[hidden] * (depth - 1), last]
    steps: list[Any] = []
    for before, after in pairwise(widths):
        steps.append((kind(before, after, **arguments), f"{', '.join(inputs)} -> x"))
        steps.append(nn.ReLU())
    network: nn.Module = layers.Sequential(", ".join(inputs), steps[:-1])
    return network


def _value(value: Any) -> Any:  # noqa: ANN401
    """A value of the table; ``{tensor: [..]}`` is a tensor."""
    return torch.tensor(value["tensor"]) if isinstance(value, dict) else value


def _inputs(row: Row, _network: nn.Module) -> CaptureInputs:
    named = {"neg_edge_index": "neg_edge_index", "pos_edge_index": "edge_index"}
    tensors = [_INPUTS[named.get(name, name)](width) for name, width in row["inputs"].items()]
    if row["make"] == "stack":
        return CaptureInputs(tuple(tensors))
    return CaptureInputs((), dict(zip(row["inputs"], tensors, strict=True)))


def _ring() -> Tensor:
    targets = torch.arange(NODES).repeat_interleave(2)
    return torch.stack([torch.tensor(RING), targets])


PYG = Source(
    name="pyg",
    library="torch_geometric",
    licence="MIT",
    form="<model>[/<data set>]",
    example="GCN/cora",
    names=_names,
    entry=_entry,
)
