"""Names of every source, from the name to the labelled graph, and what is said of wrong ones."""

import pytest

from nar.base.errors import MissingLibraryError, UnknownArchitectureError
from nar.graphs.ops import op_name
from nar.own import capture_architecture, resolve
from nar.zoo.sources import list_specs, source_names

CENTRE = list_specs("darts")[0]


@pytest.mark.slow
@pytest.mark.parametrize("source", source_names())
def test_every_listed_name_is_distinct_and_its_first_resolves(source):
    try:
        names = list_specs(source)
    except MissingLibraryError as error:
        pytest.skip(str(error))
    assert len(set(names)) == len(names)
    labels = resolve(names[0]).labels
    assert (labels.name, labels.source) == (names[0], source)


@pytest.mark.parametrize(
    ("name", "family", "task", "block"),
    [
        ("timm:resnet18", "resnet", "image-classification", "cnn"),
        ("torchvision:vit_b_32", "vit", "image-classification", "attention"),
        ("transformers:distilbert/DistilBertForMaskedLM", "distilbert", "fill-mask", "attention"),
        (CENTRE, "darts-0", "image-classification", "cnn"),
    ],
)
def test_a_name_becomes_a_labelled_graph(name, family, task, block):
    captured = capture_architecture(name)
    labels = captured.architecture.labels
    assert (labels.family, labels.task) == (family, task)
    assert captured.architecture.block == block
    assert captured.unknown_operators == {}
    captured.architecture.graph.validate()


def test_the_same_design_in_two_libraries_is_the_same_network():
    one = capture_architecture("timm:resnet18").architecture
    other = capture_architecture("torchvision:resnet18").architecture
    assert one.exact == other.exact
    assert one.graph.parameters == 11_689_512


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("timm:resnet5O", "timm:resnet50"),
        ("torchvision:resnet-50", "torchvision:resnet50"),
        ("transformers:bert/BertForMasked", "transformers:bert/BertForMaskedLM"),
        ("transformers:bert", "transformers:bert/BertModel"),
    ],
)
def test_a_misspelt_name_is_answered_with_the_nearest(name, near):
    with pytest.raises(UnknownArchitectureError, match=f"did you mean .*{near}"):
        resolve(name)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("resnet50", "wanted timm:<model>"),
        ("keras:resnet50", "wanted timm:<model>"),
        ("timm:zzzzzz", "timm:resnet50"),
        ("transformers:zzzz", "transformers:bert/BertForMaskedLM"),
        ("darts:sep3@0", "a genotype reads darts:"),
        ("nowhere.py:make", "no file nowhere.py"),
    ],
)
def test_a_name_of_no_source_is_answered_with_what_a_name_looks_like(name, said):
    with pytest.raises(UnknownArchitectureError, match=said):
        resolve(name)


def test_an_unknown_source_has_no_list():
    with pytest.raises(UnknownArchitectureError, match="wanted one of"):
        list_specs("keras")


def test_a_genotype_without_a_class_has_the_space_as_family():
    assert resolve(CENTRE.partition("#")[0]).labels.family == "darts"


def test_a_transformer_captures_its_operators():
    graph = capture_architecture("transformers:distilbert/DistilBertModel").architecture.graph
    names = [op_name(identifier) for identifier in graph.op_ids.tolist()]
    assert names.count("attention") == 6
    assert names.count("gelu") == 6
    assert names.count("layer_norm") == 13
