"""The plain data that `--json` and `--cyclonedx` print: what a program gets instead of a table."""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final
from uuid import NAMESPACE_URL, uuid5

from nar.answers.design_card import DesignCard
from nar.answers.words import assumed_texts, card_text, doubts_texts, unread_texts
from nar.base.extras import missing_library
from nar.base.own_labels import reported
from nar.base.workspace import version
from nar.graphs.architecture import UNKNOWN, Architecture
from nar.graphs.assumed import Assumed, Unread
from nar.graphs.ops import op_name
from nar.motifs.partition import MotifPartition

if TYPE_CHECKING:
    from nar.zoo.spec import ZooCapture

Report = dict[str, Any]
_PREFIX: Final = "nar"  # of the names of properties of a bill


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


def bill_of(captured: "ZooCapture") -> dict[str, Any]:
    """The bill of one model, a component in CycloneDX 1.6: family, inputs, outputs, fingerprints.

    The library of the standard makes the document. It has no model cards yet, so that the card,
    which is what a bill of a model is for, is put in here. The same graph gives the same bill, so
    that a bill that is kept changes where the model does.

    Raises:
        MissingLibraryError: The library of the standard is not installed.
    """
    try:
        from cyclonedx.model import Property
        from cyclonedx.model.bom import Bom
        from cyclonedx.model.component import Component, ComponentType
        from cyclonedx.output.json import JsonV1Dot6
    except ImportError as error:
        raise missing_library("cyclonedx") from error

    item = captured.architecture
    facts = {
        "topology": item.topology,
        "exact": item.exact,
        "inference": item.inference,
        "parameters": str(item.graph.parameters),
        "flops": str(item.graph.flops),
        "operators": str(item.graph.nodes),
        **_limits_of(captured),
    }
    component = Component(
        name=item.labels.name,
        type=ComponentType.MACHINE_LEARNING_MODEL,
        bom_ref=item.exact,
        properties=[Property(name=f"{_PREFIX}:{name}", value=text) for name, text in facts.items()],
    )
    tool = Component(name="nar-search", version=version(), type=ComponentType.APPLICATION)
    bom = Bom(
        components=[component],
        serial_number=uuid5(NAMESPACE_URL, f"{item.labels.name} {item.exact}"),
    )
    bom.metadata.tools.components.add(tool)
    document: dict[str, Any] = json.loads(JsonV1Dot6(bom).output_as_string())
    del document["metadata"]["timestamp"]
    document["components"][0]["modelCard"] = {"modelParameters": _parameters(captured)}
    return document


def _limits_of(captured: "ZooCapture") -> Mapping[str, str]:
    """What was assumed of the model and what could not be read of it; nothing where nothing was."""
    texts = {
        "assumed": [*doubts_texts(captured.assumed), *assumed_texts(captured.assumed)],
        "unread": list(unread_texts(captured.unread)),
    }
    return {name: " ".join(lines) for name, lines in texts.items() if lines}


def _parameters(captured: "ZooCapture") -> Mapping[str, Any]:
    """What the standard asks of a model's design; what is not known is left out."""
    item = captured.architecture
    texts = {
        "task": item.labels.task,
        "architectureFamily": item.labels.family,
        "modelArchitecture": item.labels.name,
    }
    known: dict[str, Any] = {key: text for key, text in texts.items() if text != UNKNOWN}
    if item.details is not None:
        for key, signatures in (("inputs", item.details.inputs), ("outputs", item.details.outputs)):
            known[key] = [{"format": each} for each in signatures]
    return known
