"""How well capture reads attention: heads and windows of models beside their configurations.

Models of transformers are built from a configuration, which states heads, heads of keys, head size
and window; modules of timm hold their heads. Capture reads heads from shapes and layers, and a
window where a module states it.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Final

from torch import nn

from benchmark.reporting.markdown import keep_page, markdown_table
from nar.base.errors import CaptureError
from nar.capture import CaptureInputs
from nar.corpus import Card
from nar.graphs.details import OperatorDetails
from nar.graphs.ops import op_name
from nar.own import capture_architecture
from nar.zoo.building import Built, operating

PAGE: Final = "described.md"
_TEXT: Final = frozenset({"text-generation", "fill-mask", "text2text-generation"})
_VISION: Final = ("image", "object", "depth", "mask-generation", "video")
# Class of cards -> how many models are drawn, one of each type or family.
GROUPS: Final[Mapping[str, tuple[Callable[[Card], bool], int]]] = {
    "text, transformers": (lambda card: _is_of(card, "transformers") and _is_text(card), 60),
    "vision, transformers": (lambda card: _is_of(card, "transformers") and _is_vision(card), 30),
    "timm": (lambda card: _is_of(card, "timm") and card.block == "attention", 40),
}
FIELDS: Final = ("heads", "key_value_heads", "head_size", "window")
# Attributes of attention modules of timm, the first that is there.
_HEADS: Final = ("num_heads", "n_heads", "heads")
_SIZES: Final = ("head_dim", "dim_head")
_SHOWN: Final = 40  # chosen: lines of the page that name what differs
_INTRODUCTION: Final = (
    "Models drawn by a seed, one of each type of transformers and one of each family of timm, are "
    "captured, and what capture read of each attention operator is held against the configuration "
    "of the module that ran it. *known*: heads, heads of keys and head size were read. The other "
    "columns: of the operators whose configuration states it, the share of which it was read as "
    "stated. Where head sizes are stated in several ways, as with latent attention, the sum of the "
    "parts counts. Models without attention in their graph are counted as rows."
)


def _is_of(card: Card, source: str) -> bool:
    return card.labels.source == source and card.labels.tier == "named"


def _is_text(card: Card) -> bool:
    return card.labels.task in _TEXT


def _is_vision(card: Card) -> bool:
    return any(word in card.labels.task for word in _VISION)


def drawn(cards: Sequence[Card], group: str, seed: int) -> list[str]:
    """Names of models of a group, one of each type or family."""
    belongs, count = GROUPS[group]
    kinds: dict[str, list[str]] = {}
    for card in cards:
        if belongs(card):
            kind = card.labels.name.partition(":")[2].partition("/")[0]
            kinds.setdefault(card.labels.family if group == "timm" else kind, []).append(
                card.labels.name
            )
    chance = Random(seed)
    chosen = chance.sample(sorted(kinds), min(count, len(kinds)))
    return [chance.choice(sorted(kinds[kind])) for kind in chosen]


@dataclass(frozen=True, slots=True)
class Read:
    """An attention operator beside its configuration.

    Attributes:
        model: The name of its model.
        came: What capture read.
        stated: What the configuration of its module states, by field.
    """

    model: str
    came: OperatorDetails
    stated: Mapping[str, int]

    @property
    def is_known(self) -> bool:
        """Whether heads, heads of keys and head size were read."""
        return None not in (self.came.heads, self.came.key_value_heads, self.came.head_size)

    def differs(self) -> Iterator[str]:
        """The fields that were read otherwise than they are stated."""
        return (name for name in self.stated if getattr(self.came, name) != self.stated[name])


def read(name: str) -> list[Read]:
    """The attention operators of a model.

    Raises:
        CaptureError: It cannot be captured.
    """
    stated: dict[str, Mapping[str, int]] = {}

    def keep(module: nn.Module, inputs: CaptureInputs) -> Built:
        for path, child in module.named_modules():
            stated[path] = stated_by(child)
        return module, inputs

    with operating(keep):
        item = capture_architecture(name).architecture
    operators = map(op_name, item.graph.op_ids.tolist())
    seen = zip(operators, item.details or (), strict=False)
    return [
        Read(name, each, stated.get(each.path or "", {}))
        for operator, each in seen
        if operator == "attention"
    ]


def stated_by(module: nn.Module) -> dict[str, int]:
    """What a module of attention, or its configuration, states of its heads and its window."""
    config = getattr(module, "config", None)
    stated = getattr(config, "num_attention_heads", None)
    if stated:
        # A number for each stage does not say of which stage the module is.
        return _by_config(module, config) if isinstance(stated, int) else {}
    held = vars(module)
    heads = [held[name] for name in _HEADS if isinstance(held.get(name), int)][:1]
    sizes = [held[name] for name in _SIZES if isinstance(held.get(name), int)][:1]
    # One key and one value for all heads, by the name of the class alone.
    keys = [1] if "MultiQuery" in type(module).__name__ else heads
    return {
        **dict(zip(FIELDS, heads + keys, strict=False)),
        **dict(zip(FIELDS[2:3], sizes, strict=False)),
    }


def _by_config(module: nn.Module, config: Any) -> dict[str, int]:  # noqa: ANN401
    heads = config.num_attention_heads
    parts = [getattr(config, f"qk_{part}_head_dim", None) or 0 for part in ("nope", "rope")]
    size = sum(parts) or getattr(config, "head_dim", None) or getattr(config, "d_kv", None)
    width = getattr(config, "hidden_size", 0) or 0
    keys = heads if sum(parts) else getattr(config, "num_key_value_heads", None)
    window, kinds = getattr(config, "sliding_window", None), getattr(config, "layer_types", None)
    layer = getattr(module, "layer_idx", None)
    if kinds and isinstance(layer, int):
        window = window if "sliding" in kinds[layer] else None
    stated = zip(FIELDS, (heads, keys or heads, size or width // heads, window or 0), strict=True)
    return {name: number for name, number in stated if isinstance(number, int)}


@dataclass(frozen=True, slots=True)
class Group:
    """The attention operators of the models of a group.

    Attributes:
        models: How many were captured.
        reads: The operators of all.
        failed: Names of models that could not be captured.
    """

    models: int
    reads: tuple[Read, ...]
    failed: tuple[str, ...] = ()


def ask(names: Sequence[str]) -> Group:
    """Capture models and read their attention."""
    reads: list[Read] = []
    failed: list[str] = []
    for name in names:
        try:
            reads += read(name)
        except CaptureError:
            failed.append(name)
    return Group(len(names) - len(failed), tuple(reads), tuple(failed))


def as_markdown(groups: Mapping[str, Group]) -> str:
    """The page."""
    rows = [[title, str(group.models), *_shares(group.reads)] for title, group in groups.items()]
    every = [each for group in groups.values() for each in group.reads]
    differing = Counter(
        (each.model, f"{field} {getattr(each.came, field)}, stated {each.stated[field]}")
        for each in every
        for field in each.differs()
    )
    failed = [name for group in groups.values() for name in group.failed]
    return "\n\n".join([
        "# What capture reads of attention, beside the configurations",
        _INTRODUCTION,
        "```sh\npython -m benchmark described --results results\n```",
        markdown_table(("models", "rows", "operators", "known", *FIELDS), rows),
        "## Read otherwise",
        markdown_table(
            ("model", "what", "operators"),
            [[*key, str(times)] for key, times in differing.most_common(_SHOWN)],
        ),
        f"Not captured: {', '.join(failed) or 'none'}.",
    ]) + "\n"  # fmt: skip


def _shares(reads: Sequence[Read]) -> list[str]:
    known = sum(each.is_known for each in reads)
    right = [
        (
            sum(
                getattr(each.came, name) == each.stated[name]
                for each in reads
                if name in each.stated
            ),
            sum(name in each.stated for each in reads),
        )
        for name in FIELDS
    ]
    return [str(len(reads)), *(_share(*pair) for pair in ((known, len(reads)), *right))]


def _share(some: int, every: int) -> str:
    return f"{some / every:.3f} of {every:,}" if every else "-"


def write_page(results: Path, groups: Mapping[str, Group]) -> None:
    """Write the page into a directory of results."""
    text = as_markdown(groups)
    keep_page(results, PAGE, text)
