"""Sources whose names and networks ask for nothing but a row: listed, captured, and answered."""

import pytest
from kinds_of_networks import CAPTURED

from nar.base.errors import UnknownArchitectureError
from nar.graphs.ops import op_name
from nar.own import capture_architecture, resolve
from nar.zoo.sources import list_specs

# Source -> at least so many networks, a name that it lacks, and a name that is near to it.
LISTED = {
    "asteroid": (21, "LSTMTasNet/whamm", "asteroid:LSTMTasNet/whamr"),
    "braindecode": (50, "NoSuchModel", "no such architecture"),
    "demucs": (11, "Demucs/v33", "demucs:Demucs/v3"),
    "dynamic_network_architectures": (
        51, "VGG/16_4d", "dynamic_network_architectures:VGG/16_2d",
    ),
    "effdet": (47, "efficientdet_d9", "efficientdet_d0"),
    "esm": (10, "ESM2/t6_9M", "esm:ESM2/t6_8M"),
    "kornia": (41, "YuNets", "kornia:YuNet"),
    "libmultilabel": (24, "KimCNN/rcv2", "libmultilabel:KimCNN/rcv1"),
    "neuralop": (16, "FNO/small2e", "neuralop:FNO/small2d"),
    "pypots": (201, "SAITS/imputation/ett_h2", "pypots:SAITS"),
    "pythae": (151, "VAE/conv_mnis", "pythae:VAE/conv_mnist"),
    "pytorchvideo": (21, "X3D/xxs", "pytorchvideo:X3D/xs"),
    "rtdl_revisiting_models": (36, "MLP/adults", "rtdl_revisiting_models:MLP/adult"),
    "spandrel": (141, "SwinIR/classical_x5", "spandrel:SwinIR/classical_x"),
    "stable_baselines3": (51, "DQN/CartPole-v2", "stable_baselines3:DQN/CartPole-v1"),
    "supar": (7, "BiaffineDependencyModels", "supar:BiaffineDependencyModel"),
    "torch_rechub": (21, "DeepFMs", "torch_rechub:DeepFM"),
    "torchaudio": (30, "NoSuchModel", "no such architecture"),
    "torchgan": (26, "DCGAN/generator_x64s", "torchgan:DCGAN/generator_x64"),
    "vit_pytorch": (71, "vit.ViTT", r"vit\.ViT"),
}  # fmt: skip

# Name -> learned scalars, counted by hand or published.
PARAMETERS = {
    "braindecode:ShallowFBCSPNet": 46_084,
    "braindecode:SPARCNet": 1_141_921,
    "effdet:tf_efficientdet_d0": 3_880_067,
    "spandrel:Compact/x4": 621_424,
    "spandrel:DnCNN/gray": 557_057,
    "torchaudio:conv_tasnet_base": 4_984_881,
    # transformers has 768 more: what it puts where speech is masked.
    "torchaudio:wav2vec2_base": 94_370_944,
}
# The same in millions, as the names of the models have it.
MILLIONS = {
    "esm:ESM2/t6_8M": 7.5,
    "esm:ProteinBertModel/esm1_t6_43M": 42.6,
    "esm:ProteinBertModel/esm1b_t33_650M": 652.4,
    "esm:MSATransformer/t12_100M": 115.6,
}
BLOCKS = {
    "stable_baselines3:ActorCritic/CartPole-v1": "other",  # a perceptron for numbers
    "stable_baselines3:DQN/PongNoFrameskip-v4": "cnn",  # convolutions for images
    "stable_baselines3:TD3/Ant-v4": "other",
    **{name: "attention" for name in CAPTURED if name.startswith("vit_pytorch:")},
}
# What tells a network from others that would be captured in its place.
OPERATORS = {
    "libmultilabel:KimCNN/rcv1": "conv",
    "libmultilabel:XMLCNN/rcv1": "adaptive_max_pool",
    "libmultilabel:CNNLWAN/EUR-Lex": "softmax",
    "libmultilabel:BiGRULWAN/MIMIC-50": "gru",
    "libmultilabel:AttentionXML_1/EUR-Lex": "lstm",  # it reads candidates, too
}


@pytest.mark.slow
@pytest.mark.parametrize("source", LISTED)
def test_names_are_listed_and_resolve(source):
    names = list_specs(source)
    assert len(names) >= LISTED[source][0]
    assert all(resolve(name).labels.name == name for name in names[::10])


def test_variants_that_a_table_multiplies_are_names_of_their_own():
    names = set(list_specs("spandrel"))
    assert {*(f"spandrel:Compact/x{scale}" for scale in (1, 2, 4))} <= names
    assert "spandrel:SwinIR/classical_x8" in names
    names = set(list_specs("pythae"))
    assert {*(f"pythae:VAE/{net}_celeba" for net in ("mlp", "conv", "resnet"))} <= names
    assert "pythae:VQVAE/mlp_mnist" not in names
    names = set(list_specs("stable_baselines3"))
    assert "stable_baselines3:DQN/CartPole-v1" in names
    assert "stable_baselines3:SAC/CartPole-v1" not in names  # it cannot take such actions


@pytest.mark.slow
@pytest.mark.parametrize("name", CAPTURED)
def test_every_kind_of_network_is_captured(name, capfd, check_as_shipped):
    captured = capture_architecture(name)
    item = captured.architecture
    check_as_shipped(item)
    item.graph.validate()
    assert (item.labels.task, item.labels.family) == CAPTURED[name]
    assert item.labels.tier == ("swept" if name.startswith("stable_baselines3:") else "named")
    unknown = {each.removeprefix("aten::") for each in captured.unknown_operators}
    assert unknown <= ({"mse_loss"} if name.startswith("pythae:") else set())
    assert item.graph.parameters == PARAMETERS.get(name, item.graph.parameters)
    assert item.block == BLOCKS.get(name, item.block)
    if name in MILLIONS:
        assert item.graph.parameters / 1e6 == pytest.approx(MILLIONS[name], abs=0.1)
    if name in OPERATORS:
        assert OPERATORS[name] in {op_name(op) for op in item.graph.op_ids.tolist()}
    assert capfd.readouterr().out == ""  # some libraries greet whoever imports them


@pytest.mark.parametrize("source", LISTED)
def test_an_unknown_network_has_neighbours(source):
    _, unknown, near = LISTED[source]
    with pytest.raises(UnknownArchitectureError, match=near):
        resolve(f"{source}:{unknown}")
