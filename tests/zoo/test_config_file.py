"""A config.json: the network that it describes, and nothing that it could fetch or run."""

import json

import pytest

from nar.base.errors import NarError
from nar.graphs.architecture import UNKNOWN
from nar.own import capture_architecture
from nar.own.files import resolve_file

BERT = {
    "model_type": "bert",
    "architectures": ["BertForMaskedLM"],
    "num_hidden_layers": 2,
    "hidden_size": 64,
    "num_attention_heads": 2,
    "intermediate_size": 128,
}
MINE = {"model_type": "mine"}
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


@pytest.mark.slow
def test_without_a_class_it_is_the_bare_model(read):
    bare = {key: value for key, value in BERT.items() if key != "architectures"}
    assert read(bare).parameters < read(BERT).parameters + 64 * 64 + 64


@pytest.mark.slow
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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("said", "labels"),
    [
        (BERT, ("bert", "fill-mask")),
        ({"model_type": "bert"}, ("bert", UNKNOWN)),
        # A class of another type, a class that no table has, and a class that says nothing.
        (MINE | {"architectures": ["BertForCausalLM"]}, ("mine", "text-generation")),
        (MINE | {"architectures": ["MyForMaskedLM"]}, ("mine", "fill-mask")),
        (MINE | {"architectures": ["Mine", "MyLMHeadModel"]}, ("mine", "text-generation")),
        (MINE | {"architectures": ["ForMine"]}, ("mine", UNKNOWN)),
        # A name of the hub's pipelines says more than a class; what cannot be a name says nothing.
        (BERT | {"pipeline_tag": "sentence-similarity"}, ("bert", "sentence-similarity")),
        (BERT | {"custom_pipelines": {"pair-classification": {}}}, ("bert", "pair-classification")),
        (BERT | {"pipeline_tag": "no\nname"}, ("bert", "fill-mask")),
        ({"architecture": "resnet18", "num_classes": 10}, ("resnet", "image-classification")),
        ({"architecture": "resnet18.a1_in1k", "num_classes": 0}, ("resnet", "feature-extraction")),
        ({"architecture": "no such"}, (UNKNOWN, UNKNOWN)),
        ({"_class_name": "UNet2DModel"}, ("diffusion_unet", "unconditional-image-generation")),
        ({"_class_name": "AutoencoderKL"}, ("autoencoder_kl", "autoencoding")),
        ({"model_cfg": {"vision_cfg": {}}}, ("clip", "zero-shot-image-classification")),
        ({"model_cfg": 3}, (UNKNOWN, UNKNOWN)),
    ],
)  # fmt: skip
def test_family_and_task_are_those_that_it_states(tmp_path, said, labels):
    path = tmp_path / "config.json"
    path.write_text(json.dumps(said))
    found = resolve_file(str(path)).labels
    assert (found.family, found.task) == labels
    assert found.library.partition(" ")[0] in (
        "transformers",
        "timm",
        "diffusers",
        "open_clip_torch",
    )
