"""Every rewrite of every model: the pairs that ask under the protocol `rewrites`.

``python -m benchmark rewritten TARGET`` makes the shipped file anew, in ten minutes: a decision.
"""

import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

from benchmark.rewriting.attention import attention_rewrites
from benchmark.rewriting.code import code_rewrites
from benchmark.rewriting.designs import design_rewrites
from benchmark.rewriting.files import file_rewrites
from benchmark.rewriting.folding import folding_rewrites
from benchmark.rewriting.inputs import input_rewrites
from benchmark.rewriting.rewrite import NotApplicableError, Original, Rewrite, original
from benchmark.rewriting.spelled import spellings
from benchmark.tasks.asking import REWRITTEN
from nar.base.errors import CaptureError, UnknownArchitectureError, one_line
from nar.base.workspace import package_lines
from nar.corpus import write_shard
from nar.graphs.architecture import Architecture, architecture
from nar.graphs.graph import ComputationalGraph
from nar.graphs.ops import op_name


def rewrites() -> tuple[Rewrite, ...]:
    """Every rewrite, those that must change nothing first."""
    every = (
        *code_rewrites(),
        *input_rewrites(),
        *attention_rewrites(),
        *spellings(),
        *file_rewrites(),
        *folding_rewrites(),
        *design_rewrites(),
    )
    return tuple(sorted(every, key=lambda rewrite: rewrite.wanted == "near"))


def model_names() -> list[str]:
    """The frozen list of models that the protocol is measured on."""
    return package_lines("rewriting", "models.txt", package="benchmark")


@dataclass(frozen=True, slots=True)
class RewrittenArchitecture:
    """A rewritten model beside its original.

    Attributes:
        original: As the zoo captures it.
        rewrite: What was done to it.
        architecture: Its graph after that, under the name ``<original>@<rewrite>``.
    """

    original: Architecture
    rewrite: Rewrite
    architecture: Architecture

    @property
    def has_equal_topology(self) -> bool:
        """Whether operators and wiring are the original's."""
        return self.architecture.topology == self.original.topology

    @property
    def is_equal(self) -> bool:
        """Whether attributes and number of parameters are, too."""
        return self.architecture.exact == self.original.exact

    def difference(self) -> str:
        """What the rewritten graph has more and less, or ``wiring`` or ``attributes``."""
        before, after = (
            Counter(map(op_name, item.graph.op_ids.tolist()))
            for item in (self.original, self.architecture)
        )
        parts = [f"+{count} {name}" for name, count in sorted((after - before).items())]
        parts += [f"-{count} {name}" for name, count in sorted((before - after).items())]
        return ", ".join(parts) or _beyond_operators(self)


def _beyond_operators(pair: RewrittenArchitecture) -> str:
    if not pair.has_equal_topology:
        return "wiring"
    before, after = pair.original.graph.parameters, pair.architecture.graph.parameters
    if pair.is_equal:
        return "none"
    return f"parameters {before} -> {after}" if before != after else "attributes"


@dataclass(frozen=True, slots=True)
class Missing:
    """A rewrite that gave no graph.

    Attributes:
        original: Name of the model.
        rewrite: What was tried.
        is_fault: Whether capture failed; else there was nothing to rewrite.
        reason: Why.
    """

    original: str
    rewrite: Rewrite
    is_fault: bool
    reason: str


def attempts(
    names: Iterable[str], chosen: Sequence[Rewrite]
) -> Iterator[RewrittenArchitecture | Missing]:
    """Each rewrite of each model, model by model.

    Args:
        names: Specs of timm, torchvision or transformers.
        chosen: The rewrites.

    Raises:
        UnknownArchitectureError: No such model.
    """
    for name in names:
        try:
            start = original(name)
        except CaptureError as error:
            reason = f"the original: {error.reason}"
            yield from (Missing(name, rewrite, is_fault=True, reason=reason) for rewrite in chosen)
            continue
        for rewrite in chosen:
            yield attempt(start, rewrite)


def attempt(start: Original, rewrite: Rewrite) -> RewrittenArchitecture | Missing:
    """One rewrite of one model."""
    # Libraries raise and warn of anything for settings and inputs that they do not take.
    try:
        with _quiet(), nullcontext() if rewrite.leaves_zoo else start.surroundings():
            graph = rewrite.apply(start)
    except NotApplicableError as error:
        return Missing(start.name, rewrite, is_fault=False, reason=str(error))
    except CaptureError as error:
        return Missing(start.name, rewrite, is_fault=True, reason=error.reason)
    except Exception as error:
        return Missing(start.name, rewrite, is_fault=True, reason=one_line(error))
    return _paired(start.architecture, rewrite, graph)


@contextmanager
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _paired(
    start: Architecture, rewrite: Rewrite, graph: ComputationalGraph
) -> RewrittenArchitecture:
    labels = replace(start.labels, name=f"{start.labels.name}@{rewrite.name}")
    return RewrittenArchitecture(start, rewrite, architecture(labels, graph))


def rewritten(
    names: Iterable[str] | None = None, kinds: Sequence[str] = ()
) -> Iterator[RewrittenArchitecture]:
    """The pairs that a retrieval protocol asks with: rewritten model, original.

    Args:
        names: Specs of models; the frozen list if None.
        kinds: Names of rewrites; all if empty.

    Raises:
        UnknownArchitectureError: No such model, or no such rewrite.
    """
    names = model_names() if names is None else names
    for item in attempts(names, chosen_rewrites(kinds)):
        if isinstance(item, RewrittenArchitecture):
            yield item


def chosen_rewrites(kinds: Sequence[str] = ()) -> list[Rewrite]:
    """Rewrites by name, all of them where none is named.

    Raises:
        UnknownArchitectureError: No such rewrite.
    """
    known = {rewrite.name: rewrite for rewrite in rewrites()}
    unknown = [kind for kind in kinds if kind not in known]
    if unknown:
        wanted = ", ".join(known)
        raise UnknownArchitectureError(f"{unknown[0]}: no such rewrite; wanted one of {wanted}")
    return [known[kind] for kind in kinds or known]


def capture_rewritten(names: Sequence[str] | None = None) -> list[Architecture]:
    """Models and what became of them, each once; what was rewritten has a source of its own.

    Args:
        names: Specs of models; None for the frozen list.
    """
    items: dict[str, Architecture] = {}
    for pair in rewritten(names):
        labels = replace(pair.architecture.labels, source=REWRITTEN)
        for item in (pair.original, replace(pair.architecture, labels=labels)):
            items.setdefault(item.labels.name, item)
    return list(items.values())


def write_rewritten(target: Path) -> str:
    """Capture every rewritten model anew into a shard; says how many."""
    items = capture_rewritten()
    target.parent.mkdir(parents=True, exist_ok=True)
    write_shard(target, items)
    written = sum(item.labels.source == REWRITTEN for item in items)
    return f"{written:,} rewritten models of {len(items) - written}, in {target}"
