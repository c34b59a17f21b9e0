"""Embedding: architectures a second, of the corpus and of the NAS space, many and one alone.

Run: python -m benchmark speed embed [results.json]
"""

import multiprocessing

import torch
from graphs import bert, resnet

from benchmark.speed.measure import best_seconds, one_run, peak_memory_mib, report
from nar.answers.atlas import shipped_atlas
from nar.corpus import read_corpus, shipped_corpus
from nar.encoding.embed import Embedder, load_checkpoint
from nar.encoding.paper.encoder import paper_encoder
from nar.encoding.paper.recipe import PaperConfig, PaperRecipe
from nar.graphs.canonical import canonical
from nar.graphs.graph import ComputationalGraph
from nar.motifs.config import MotifConfig
from nar.zoo.sources.darts.network import darts_graph
from nar.zoo.sources.darts.sampling import sample_classes

EVERY = 5  # of the corpus
PROCESSES = 2


def shipped() -> Embedder:
    return Embedder(load_checkpoint(shipped_atlas().encoder))


def untrained() -> Embedder:
    torch.manual_seed(0)
    return Embedder(paper_encoder(PaperConfig.of(MotifConfig(), PaperRecipe())))


def side_by_side(graphs: list[ComputationalGraph], embedder: Embedder) -> float:
    """Seconds until the slower of two processes is done, each with half of the graphs.

    They are forked, so neither starting nor handing them the graphs is in it.
    """
    context = multiprocessing.get_context("fork")
    taken = context.SimpleQueue()

    def embed_half(start: int) -> None:
        half = graphs[start::PROCESSES]
        taken.put(one_run(lambda: embedder.embed(half)))

    processes = [context.Process(target=embed_half, args=(n,)) for n in range(PROCESSES)]
    for process in processes:
        process.start()
    seconds = max(taken.get() for _ in processes)
    for process in processes:
        process.join()
    return seconds


def row(name: str, graphs: list[ComputationalGraph], seconds: float) -> dict[str, object]:
    return {
        "graphs": name,
        "nodes": f"{sum(graph.nodes for graph in graphs):,}",
        "graphs a call": len(graphs),
        "ms a call": f"{1000 * seconds:.1f}",
        "graphs/s": f"{len(graphs) / seconds:,.0f}",
    }


def main() -> None:
    # OpenMP's threads do not live on in a fork, and who waits for them hangs: none before it.
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    corpus = [item.graph for item in read_corpus(shipped_corpus())[::EVERY]]
    default = shipped()
    cells = [canonical(darts_graph(member.genotype)) for member in sample_classes(1_000)]
    corpus_together, cells_together = (
        min(side_by_side(graphs, default) for _ in range(3)) for graphs in (corpus, cells)
    )
    torch.set_num_threads(threads)
    large = [canonical(resnet([3, 4, 400, 3])), canonical(bert(400))]
    warm = untrained()
    warm.embed(cells + large)
    rows = [
        row("corpus, default encoder", corpus, best_seconds(lambda: default.embed(corpus), 3)),
        row("the same, two processes", corpus, corpus_together),
        row("corpus, paper encoder", corpus, best_seconds(lambda: untrained().embed(corpus), 1)),
        row("DARTS, default encoder", cells, best_seconds(lambda: default.embed(cells), 3)),
        row("the same, two processes", cells, cells_together),
        row("DARTS, one alone, default", cells[:1], best_seconds(lambda: default.embed(cells[:1]))),
        row("DARTS, nothing known", cells, best_seconds(lambda: untrained().embed(cells), 3)),
        row("DARTS, motifs known", cells, best_seconds(lambda: warm.embed(cells), 3)),
        row("DARTS, one alone", cells[:1], best_seconds(lambda: warm.embed(cells[:1]))),
        row("400 blocks", large, best_seconds(lambda: warm.embed(large))),
    ]
    report(f"Embedding on {threads} threads (peak memory {peak_memory_mib():.0f} MiB)", rows)


if __name__ == "__main__":
    main()
