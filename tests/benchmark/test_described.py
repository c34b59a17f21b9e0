"""What capture reads of attention, held against configurations."""

from types import SimpleNamespace

import pytest
from torch import nn

from benchmark.described import Group, Read, as_markdown, drawn, read, stated_by
from nar.graphs.architecture import Labels
from nar.graphs.details import OperatorDetails


def attention(**attributes):
    module = nn.Identity()
    for name, value in attributes.items():
        setattr(module, name, value)
    return module


@pytest.mark.parametrize(
    ("attributes", "stated"),
    [
        ({"num_heads": 4}, {"heads": 4, "key_value_heads": 4}),
        ({"num_heads": 4, "head_dim": 8}, {"heads": 4, "key_value_heads": 4, "head_size": 8}),
        ({"config": SimpleNamespace(num_attention_heads=4, hidden_size=32)}, (4, 4, 8, 0)),
        (
            {
                "config": SimpleNamespace(
                    num_attention_heads=4,
                    num_key_value_heads=2,
                    head_dim=16,
                    sliding_window=128,
                    layer_types=["full_attention", "sliding_attention"],
                ),
                "layer_idx": 1,
            },
            (4, 2, 16, 128),
        ),
        ({}, {}),
    ],
)
def test_a_module_or_its_configuration_states_heads(attributes, stated):
    if isinstance(stated, tuple):
        stated = dict(zip(("heads", "key_value_heads", "head_size", "window"), stated, strict=True))
    assert stated_by(attention(**attributes)) == stated


def test_the_heads_of_a_small_transformer_are_read_as_stated():
    reads = read("timm:test_vit")
    assert reads
    assert all(each.is_known and not list(each.differs()) for each in reads)


def test_the_page_counts_what_is_known_and_names_what_differs():
    known = OperatorDetails(path="a", heads=4, key_value_heads=2, head_size=8, window=0)
    stated = {"heads": 4, "key_value_heads": 4, "head_size": 8}
    group = Group(2, (Read("x:a", known, stated), Read("x:b", OperatorDetails(), {})), ("x:c",))
    text = as_markdown({"timm": group})
    assert "| timm | 2 | 2 | 0.500 of 2 | 1.000 of 1 | 0.000 of 1 | 1.000 of 1 | - |" in text
    assert "| x:a | key_value_heads 2, stated 4 | 1 |" in text
    assert "Not captured: x:c." in text


def test_one_model_of_each_kind_is_drawn():
    cards = [
        SimpleNamespace(
            labels=Labels(name, "transformers", "t", "bert", "fill-mask", "named"),
            block="attention",
        )
        for name in ("transformers:bert/A", "transformers:bert/B", "transformers:gpt2/A")
    ]
    names = drawn(cards, "text, transformers", 0)
    assert sorted(name.partition("/")[0] for name in names) == [
        "transformers:bert",
        "transformers:gpt2",
    ]
