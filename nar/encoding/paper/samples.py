"""Samples of pretraining: motifs with their contexts, macro graphs with their targets."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from nar.encoding.collecting import NODES_A_CHUNK, Targets
from nar.encoding.paper.merged import RowGraph
from nar.graphs.graph import ComputationalGraph
from nar.graphs.hashing import Codes
from nar.graphs.ops import one_hot_columns
from nar.graphs.ragged import slices_within
from nar.motifs.config import MotifConfig
from nar.motifs.partition import (
    MacroGraph,
    MotifPartition,
    context_subgraph,
    macro_graph,
    motif_subgraph,
    split_all,
    structure_codes,
)

# Chosen, as the paper prints no number: an epoch reads one context for each motif type.
CONTEXTS_A_MOTIF = 16


@dataclass(frozen=True, slots=True, eq=False)
class MotifSample:
    """A motif type and its contexts.

    Attributes:
        motif: G_s, rows are one-hot columns.
        contexts: G_c of the occurrences, distinct, at least one.
        context_codes: Structure code of each context.
    """

    motif: RowGraph
    contexts: tuple[RowGraph, ...]
    context_codes: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Samples:
    """A corpus as pretraining reads it.

    Attributes:
        codes: Shape (motif types,), uint64, ascending.
        motifs: A sample of each motif type, in the order of ``codes``.
        macro_graphs: The macro graph of each architecture; rows are places in ``codes``.
        targets: Targets of each architecture.
        config: How the graphs were cut.
    """

    codes: Codes
    motifs: tuple[MotifSample, ...]
    macro_graphs: tuple[RowGraph, ...]
    targets: Targets
    config: MotifConfig


def collect_samples(
    graphs: Sequence[ComputationalGraph], targets: Targets, config: MotifConfig
) -> Samples:
    """Cut canonical graphs into motifs and keep each motif type once.

    Of a motif type at most ``CONTEXTS_A_MOTIF`` contexts are kept, the first that occur, so that
    memory grows with the designs of a corpus and not with its repetitions.
    """
    reader = SampleReader(config)
    for part in slices_within([graph.nodes for graph in graphs], NODES_A_CHUNK):
        reader.read(graphs[part])
    return reader.samples(targets)


class SampleReader:
    """Reads motifs and macro graphs, and does not keep the graphs."""

    def __init__(self, config: MotifConfig) -> None:
        self._config = config
        self._collection = _MotifTypes(config)
        self._macro_graphs: list[MacroGraph] = []

    def read(self, graphs: Sequence[ComputationalGraph]) -> None:
        """Read some more canonical graphs."""
        cuts = split_all(graphs, self._config)
        macros = [macro_graph(cut) for cut in cuts]
        self._collection.add(cuts, macros)
        self._macro_graphs += macros

    def samples(self, targets: Targets) -> Samples:
        """The samples of all graphs, with the targets of the graphs."""
        codes = np.array(sorted(self._collection.motifs), dtype=np.uint64)
        return Samples(
            codes=codes,
            motifs=tuple(self._collection.sample(code) for code in codes.tolist()),
            macro_graphs=tuple(
                RowGraph(np.searchsorted(codes, macro.motif_codes), macro.edge_index)
                for macro in self._macro_graphs
            ),
            targets=targets,
            config=self._config,
        )


class _MotifTypes:
    """Collects motif types with their contexts from graphs."""

    def __init__(self, config: MotifConfig) -> None:
        self.motifs: dict[int, RowGraph] = {}
        self._contexts: dict[int, dict[int, RowGraph]] = {}
        self._seen: set[tuple[int, ...]] = set()
        self._hops = config.context_hops

    def add(self, cuts: Sequence[MotifPartition], macros: Sequence[MacroGraph]) -> None:
        """Add every motif whose type and neighbouring types did not occur together before."""
        codes: list[int] = []
        contexts: list[ComputationalGraph] = []
        for cut, macro in zip(cuts, macros, strict=True):
            for motif, surroundings in enumerate(_surroundings(macro)):
                code = surroundings[0]
                if surroundings in self._seen or self._is_full(code):
                    continue
                self._seen.add(surroundings)
                if code not in self.motifs:
                    self.motifs[code] = _row_graph(motif_subgraph(cut, motif))
                codes.append(code)
                contexts.append(context_subgraph(cut, motif, self._hops))
        for part in slices_within([context.nodes for context in contexts], NODES_A_CHUNK):
            context_codes = structure_codes(contexts[part]).tolist()
            self._keep(codes[part], context_codes, contexts[part])

    def _keep(
        self,
        codes: Sequence[int],
        context_codes: Sequence[int],
        graphs: Sequence[ComputationalGraph],
    ) -> None:
        for code, context_code, context in zip(codes, context_codes, graphs, strict=True):
            if not self._is_full(code):
                contexts = self._contexts.setdefault(code, {})
                contexts.setdefault(context_code, _row_graph(context))

    def _is_full(self, code: int) -> bool:
        return len(self._contexts.get(code, ())) == CONTEXTS_A_MOTIF

    def sample(self, code: int) -> MotifSample:
        contexts = self._contexts[code]
        return MotifSample(self.motifs[code], tuple(contexts.values()), tuple(contexts))


def _surroundings(macro: MacroGraph) -> Iterator[tuple[int, ...]]:
    """For each motif: its code, the sorted codes before it, a mark, the sorted codes after it."""
    codes = macro.motif_codes.tolist()
    before: list[list[int]] = [[] for _ in codes]
    after: list[list[int]] = [[] for _ in codes]
    for source, target in macro.edge_index.T.tolist():
        before[target].append(codes[source])
        after[source].append(codes[target])
    for motif, code in enumerate(codes):
        yield (code, *sorted(before[motif]), -1, *sorted(after[motif]))


def _row_graph(part: ComputationalGraph) -> RowGraph:
    return RowGraph(one_hot_columns(part.op_ids), part.edge_index)
