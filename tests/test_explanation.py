from corpora import item
from graphs import graph_of

from nar.answers.difference import Cut, compare_motifs, motif_difference, motif_times
from nar.graphs.fingerprints import fingerprinted
from nar.motifs.partition import partition

TRAINED = item("x:trained", graph_of("input; conv 0; batch_norm 1; relu 2; linear 3"))
DEPLOYED = item("x:deployed", graph_of("input; conv 0; relu 1; linear 2"))
OTHER = item("x:other", graph_of("input; conv 0; batch_norm 1; relu 2; linear 3; relu 4"))


def blocks(count):
    """A stem and so many equal blocks, of which each repeats the other."""
    block = "conv {0}; relu {1}; conv {2}; relu {3}; add {4} {0}"
    drawn = [block.format(*range(first, first + 5)) for first in range(0, 5 * count, 5)]
    return graph_of("; ".join(["input", *drawn]))


def test_normal_forms_are_compared_where_only_these_are_equal():
    told = motif_difference(Cut(DEPLOYED), Cut(TRAINED))
    assert (told.at_inference, told.other, told.in_shared) == (True, (), (1, 1))
    for second in (OTHER, DEPLOYED):
        as_written = motif_difference(Cut(DEPLOYED), Cut(second))
        cuts = (partition(DEPLOYED.graph), partition(second.graph))
        assert as_written == compare_motifs(*map(motif_times, cuts), edits=as_written.edits)
        assert not as_written.at_inference


def test_what_is_shared_and_what_is_not():
    two, three = (fingerprinted(blocks(count)) for count in (2, 3))
    told = motif_difference(Cut(two), Cut(three))
    [block] = [each for each in told.shared if len(each.operators) == 5]
    assert (block.first, block.second) == (2, 3)
    assert sorted(block.operators) == ["add", "conv", "conv", "relu", "relu"]
    assert told.in_shared == (1, 11 / 16)
    assert told.edits.text == "1 block more (conv relu conv relu add)"


def test_nothing_is_shared():
    told = motif_difference(Cut(DEPLOYED), Cut(fingerprinted(graph_of("input; gelu 0; gelu 1"))))
    assert (told.shared, told.in_shared) == ((), (1 / 4, 1 / 3))
    assert all(not (each.first and each.second) for each in told.other)


def test_a_network_is_cut_once():
    cut = Cut(TRAINED)
    assert cut.written is cut.written
    assert cut.deployed is cut.deployed
    assert cut.written.graph.nodes == cut.deployed.graph.nodes + 1
