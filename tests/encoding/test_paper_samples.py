"""What pretraining is given of a few graphs, counted by hand."""

import numpy as np
from graphs import bert, graph_of

from nar.encoding.collecting import Targets, printed_targets
from nar.encoding.paper.samples import collect_samples
from nar.graphs.architecture import Labels, architecture
from nar.graphs.canonical import canonical
from nar.graphs.ops import one_hot_columns, op_id
from nar.motifs.config import MotifConfig

NO_LABELS = Targets.of([], [])


def samples_of(*graphs):
    return collect_samples([canonical(graph) for graph in graphs], NO_LABELS, MotifConfig())


def columns(*operators):
    return one_hot_columns(np.array([op_id(name) for name in operators], dtype=np.uint16)).tolist()


# One motif of one operator, then the same one of two twice, as `test_motifs` draws it.
DIAMONDS = graph_of("input; conv 0; gelu 0; concat 1 2; conv 3; gelu 3; concat 4 5")


def test_a_repeated_motif_is_one_sample_with_every_distinct_context():
    samples = samples_of(DIAMONDS)
    by_size = sorted(samples.motifs, key=lambda sample: len(sample.motif.rows))
    assert [sample.motif.rows.tolist() for sample in by_size] == [
        columns("input"),
        columns("conv", "gelu", "concat"),
    ]
    sizes = [[len(context.rows) for context in sample.contexts] for sample in by_size]
    assert sizes == [[3], [6, 4]]


def test_macro_graphs_refer_to_the_motifs():
    samples = samples_of(DIAMONDS)
    (macro,) = samples.macro_graphs
    sizes = [len(samples.motifs[row].motif.rows) for row in macro.rows]
    assert sizes == [1, 3, 3]
    assert macro.edge_index.tolist() == [[0, 1], [1, 2]]


def test_the_same_graph_again_adds_a_macro_graph_and_nothing_else():
    once, twice = samples_of(bert(3)), samples_of(bert(3), bert(3))
    assert once.codes.tolist() == twice.codes.tolist()
    assert [sample.context_codes for sample in once.motifs] == [
        sample.context_codes for sample in twice.motifs
    ]
    assert (len(once.macro_graphs), len(twice.macro_graphs)) == (1, 2)


def test_codes_ascend():
    codes = samples_of(bert(2), DIAMONDS).codes.tolist()
    assert codes == sorted(set(codes))


def test_printed_targets_are_block_and_family():
    def named(family, text):
        labels = Labels(f"file:{text}", "file", "-", family, "-")
        return architecture(labels, graph_of(text))

    targets = printed_targets(
        [named("vgg", "input; conv 0"), named("bert", "input; attention 0"), named("vgg", "conv")]
    )
    assert targets.classes.tolist() == [1, 0, 1]
    assert targets.families.tolist() == [1, 0, 1]
