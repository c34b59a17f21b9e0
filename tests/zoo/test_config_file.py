"""A config.json: the network that it describes, and nothing that it could fetch or run."""

import json

import pytest

from nar.base.errors import NarError
from nar.own import capture_architecture

BERT = {
    "model_type": "bert",
    "architectures": ["BertForMaskedLM"],
    "num_hidden_layers": 2,
    "hidden_size": 64,
    "num_attention_heads": 2,
    "intermediate_size": 128,
}
HOSTILE = {
    "auto_map": {"AutoModel": "evil--code.Model"},
    "attn_implementation": "evil/kernels",
    "_attn_implementation": "evil/kernels",
    "quantization_config": {"quant_method": "evil"},
    "torch_dtype": "evil",
}


@pytest.fixture
def read(tmp_path):
    def capture(said):
        path = tmp_path / "config.json"
        path.write_text(said if isinstance(said, str) else json.dumps(said))
        return capture_architecture(str(path)).architecture

    return capture


@pytest.mark.slow
def test_it_is_built_without_weights(read):
    item = read(BERT)
    assert item.block == "attention"
    assert item.parameters > 30_522 * 64
    assert read(BERT | HOSTILE).exact == item.exact
    assert read(BERT | {"num_hidden_layers": 3}).exact != item.exact


def test_without_a_class_it_is_the_bare_model(read):
    bare = {key: value for key, value in BERT.items() if key != "architectures"}
    assert read(bare).parameters < read(BERT).parameters + 64 * 64 + 64


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("[1]", "model_type"),
        ("{", "JSON"),
        ({"model_type": "nothing"}, "knows no model_type nothing"),
        (BERT | {"architectures": ["os"]}, "has no class os"),
        (BERT | {"hidden_size": "x"}, "config.json"),
    ],
)
def test_what_is_no_configuration_is_told(read, said, reason):
    with pytest.raises(NarError, match=reason):
        read(said)
