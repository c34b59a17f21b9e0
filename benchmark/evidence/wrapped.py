"""The protocol `wrapped`: known models in what deployment puts around them.

``python -m benchmark wrapped`` asks; ``draw-wrapped`` draws the frozen list anew, and
``capture-wrapped`` captures modules and ONNX files anew, both a decision. The halves are drawn by
family, so that what is chosen on one is tested on the other.
"""

import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from benchmark.evidence.around import wrapped
from benchmark.evidence.intervals import half_of, share
from benchmark.evidence.queries import sources_of
from benchmark.reporting.markdown import keep_page, markdown_table
from benchmark.tasks.frozen import without_aliases
from benchmark.tasks.splits import order
from benchmark.tasks.task import Held
from nar.answers.atlas import read_atlas, shipped_atlas
from nar.answers.query import Answer, Query
from nar.answers.retrieve import Retriever
from nar.base.files import write_whole
from nar.base.workspace import package_lines, package_path
from nar.corpus import Corpus, read_shard, shipped_corpus
from nar.graphs.architecture import Architecture, architecture

COMMAND: Final = "python -m benchmark wrapped --results results"
PROTOCOL: Final = "wrapped"
FILE: Final = "wrapped.parquet"
LIST: Final = "wrapped.txt"
# Above it a known model would read as new.
MAX_NOVELTY: Final = 5
# Chosen: two models a family, as many families as the corpus has of moderate size, and a bound.
FAMILIES, A_FAMILY = 280, 2
MIN_NODES, MAX_NODES = 20, 1_500
_SEED: Final = 0
_TOGETHER: Final = 64
_HEAD: Final = (
    "# A model and what is around it, drawn by `python -m benchmark draw-wrapped`. Frozen."
)
_RESULTS: Final = (
    "softmax", "log_softmax", "sigmoid", "argmax", "topk", "softmax,topk", "softmax,argmax",
)  # fmt: skip
_INPUTS: Final = (
    "sub,div",
    "div",
    "div,sub,div",
    "mul,add",
    "mul,sub,div",
    "batch_norm",
    "neg,add",
)
_RANKS: Final = (4, 8, 16, 32, 64)
_SHARES: Final = (0.2, 0.5, 1.0)
_INTRODUCTION: Final = (
    "Models of the corpus with something around them ask the shipped atlas. Known: the verdict "
    "says that it is this model, by one of its names, as a network, a design or at inference. "
    "Operators, adapters and outputs stand around stored graphs; modules and ONNX files are "
    "captured. In brackets the 95% interval, by drawing whole families again."
)


@dataclass(frozen=True, slots=True)
class Case:
    """One model in its wrapping.

    Attributes:
        name: The model's.
        family: Its family.
        wrapping: What is around it.
        item: The graph that asks.
        own: The model as the corpus has it.
    """

    name: str
    family: str
    wrapping: str
    item: Architecture
    own: Architecture

    @property
    def kind(self) -> str:
        """What is around it, in a word for a table."""
        parts = [part.partition(":")[0] for part in self.wrapping.split()]
        return " and ".join(dict.fromkeys(parts))


def draw(seed: int = _SEED) -> list[str]:
    """Two models of each of many families, each with something around it."""
    designs: defaultdict[str, dict[str, str]] = defaultdict(dict)
    cards = list(Corpus(shipped_corpus()).cards())
    for card in sorted(without_aliases(cards), key=lambda card: order(seed, card.labels.name)):
        if card.labels.tier == "named" and MIN_NODES <= card.nodes <= MAX_NODES:
            designs[card.labels.family].setdefault(card.topology, card.labels.name)
    families = sorted(designs, key=lambda family: order(seed, family))[:FAMILIES]
    names = [n for family in families for n in list(designs[family].values())[:A_FAMILY]]
    graphs = Corpus(shipped_corpus()).graphs(names, sources_of(names))
    lines = []
    for name in names:
        rng = random.Random(f"{seed} {name}")
        fitting = (each for each in _wrappings(rng) if wrapped(graphs[name].graph, each))
        lines.append(f"{name}\t{next(fitting)}")
    return sorted(lines)


def _wrappings(rng: random.Random) -> Iterator[str]:
    """One wrapping after the other; a network has no place for some."""
    while True:
        before, after = f"input:{rng.choice(_INPUTS)}", f"result:{rng.choice(_RESULTS)}"
        adapters = f"adapters:{rng.choice(_RANKS)}:{rng.choice(_SHARES)}"
        yield rng.choice(
            [after, after, before, before, f"{before} {after}", adapters, adapters, "output",
             f"{adapters} {after}"]
        )  # fmt: skip


def write_list(target: Path) -> str:
    """Write the frozen list; says how many."""
    lines = draw()
    write_whole(target, lambda part: part.write_text("\n".join([_HEAD, *lines, ""])))
    return f"{len(lines):,} models, in {target}"


def cases() -> Iterator[Case]:
    """All that ask: stored graphs with something around them, then what was captured."""
    lines = package_lines("evidence", LIST, package="benchmark")
    drawn = dict(line.split("\t") for line in lines)
    captured = read_shard(package_path("data", FILE, package="benchmark"))
    names = [*drawn, *(item.labels.name.partition("@@")[0] for item in captured)]
    known = Corpus(shipped_corpus()).graphs(names, sources_of(names))
    for name, wrapping in drawn.items():
        own = known[name]
        graph = wrapped(own.graph, wrapping)
        assert graph is not None, f"{name} has no place for {wrapping}: draw the list anew"
        item = architecture(replace(own.labels, name=f"{name}@@{wrapping}"), graph)
        yield Case(name, own.labels.family, wrapping, item, own)
    for item in captured:
        name, _, wrapping = item.labels.name.partition("@@")
        yield Case(name, known[name].labels.family, wrapping, item, known[name])


def answers(asked: Sequence[Case]) -> list[Answer]:
    """What the shipped atlas says of each."""
    content = read_atlas(shipped_atlas())
    retriever = Retriever(content.embedder, content.index, content.novelty)
    queries = [Query(case.item, top_k=3) for case in asked]
    return [
        answer
        for start in range(0, len(queries), _TOGETHER)
        for answer in retriever.answers(queries[start : start + _TOGETHER])
    ]


def is_right(case: Case, answer: Answer) -> bool:
    """Whether it is said to be the model that is inside, and reads as known."""
    hits = [*answer.same_network, *answer.same_at_inference, *answer.same_design]
    if answer.wrapped:
        hits += answer.wrapped.hits
    is_named = any(
        case.own.topology == hit.topology or case.own.inference == hit.inference for hit in hits
    )
    return is_named and (answer.novelty or 0) <= MAX_NOVELTY


def as_markdown(held: Sequence[Held]) -> str:
    """The page: a table for each half."""
    asked = list(cases())
    told = list(zip(asked, answers(asked), strict=True))
    families = len({case.family for case in asked})
    blocks = ["# Known models in their wrappings", f"```sh\n{COMMAND}\n```", _INTRODUCTION]
    blocks.append(f"{len(asked):,} models of {families:,} families.")
    for each in held:
        own = [pair for pair in told if half_of(PROTOCOL, pair[0].family) == each]
        blocks += [f"## {each.capitalize()}", _table(own), *_misses(own)]
    return "\n\n".join(blocks) + "\n"


def write_page(results: Path) -> None:
    """Write ``wrapped.md``, both halves of it."""
    text = as_markdown(("validation", "test"))
    keep_page(results, "wrapped.md", text)


def _table(told: Sequence[tuple[Case, Answer]]) -> str:
    kinds: dict[str, list[tuple[str, bool]]] = {"all": []}
    for case, answer in told:
        pair = (case.family, is_right(case, answer))
        kinds["all"].append(pair)
        kinds.setdefault(case.kind, []).append(pair)
    rows = [[kind, f"{len(pairs)}", str(share(pairs))] for kind, pairs in sorted(kinds.items())]
    return markdown_table(("around it", "models", "known, and as what"), rows)


def _misses(told: Sequence[tuple[Case, Answer]]) -> list[str]:
    missed = [case for case, answer in told if not is_right(case, answer)]
    lines = "\n".join(f"- {case.name}: {case.wrapping}" for case in missed)
    return [f"Not known:\n\n{lines}"] if missed else []
