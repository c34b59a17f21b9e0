"""The plain data that `--json` prints: what a program gets instead of a table."""

from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from nar.answers.design_card import DesignCard
from nar.answers.words import card_text
from nar.base.own_labels import reported
from nar.graphs.architecture import Architecture
from nar.graphs.assumed import Assumed, Unread
from nar.graphs.ops import op_name
from nar.motifs.partition import MotifPartition

if TYPE_CHECKING:
    from nar.zoo.spec import ZooCapture

Report = dict[str, Any]


def capture(captured: "ZooCapture") -> Report:
    """One architecture, and what its capture did not know."""
    return {
        **architecture(captured.architecture, captured.unknown_operators),
        "unknown_facts": captured.unknown_facts,
        "assumed": assumed(captured.assumed),
        "unread": unread(captured.unread),
    }


def assumed(record: Assumed | None) -> Report | None:
    """What was assumed to capture a model; None where nothing was."""
    return None if record is None else record.to_plain()


def unread(record: Unread | None) -> Report | None:
    """What capture could not read of a model; None where that is nothing."""
    return None if record is None else record.to_plain()


def architecture(item: Architecture, unknown_operators: dict[str, int]) -> Report:
    """Labels, sizes and fingerprints of one architecture."""
    return {
        **reported(asdict(item.labels)),
        "block": item.block,
        "parameters": item.graph.parameters,
        "flops": item.graph.flops,
        "nodes": item.graph.nodes,
        "edges": item.graph.edges,
        "operators": dict(Counter(map(op_name, item.graph.op_ids.tolist())).most_common()),
        "unknown_operators": unknown_operators,
        "topology": item.topology,
        "exact": item.exact,
        "inference": item.inference,
    }


def card(name: str, made_of: DesignCard) -> Report:
    """The card of a model; null where a field was not read or does not apply."""
    return {"name": name, "text": card_text(made_of), **asdict(made_of)}


def motifs(name: str, cut: MotifPartition) -> Report:
    """Motif types in the order of first occurrence."""
    return {
        "name": name,
        "nodes": cut.graph.nodes,
        "motifs": [
            {"code": f"{code:016x}", "times": times, "operators": cut.operators(code)}
            for code, times in cut.counts().items()
        ],
    }
