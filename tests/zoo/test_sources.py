"""Sources whose names and networks ask for nothing but a row: listed, captured, and answered."""

import pytest

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

# Name -> task and family; each is of a kind of its own.
CAPTURED = {
    "asteroid:ConvTasNet/wham": ("speech-separation", "conv_tasnet"),  # reads sizes from a tensor
    "asteroid:SuDORMRFNet/default": ("speech-separation", "sudo_rm_rf"),
    "braindecode:ShallowFBCSPNet": ("eeg-classification", "shallowfbcspnet"),
    "braindecode:SPARCNet": ("eeg-classification", "sparcnet"),
    "demucs:Demucs/v3": ("music-source-separation", "demucs"),
    "demucs:HTDemucs/htdemucs": ("music-source-separation", "demucs"),
    # Flat voxels.
    "dynamic_network_architectures:PlainConvUNet/prostate": (
        "medical-image-segmentation", "dynunet",
    ),
    "dynamic_network_architectures:ResidualEncoderUNet/2d_256": (
        "medical-image-segmentation", "residual_unet",
    ),
    "dynamic_network_architectures:VGG/16_cifar_3d": ("volume-classification", "vgg"),
    # Its biases are made redundant by its batch norms.
    "effdet:tf_efficientdet_d0": ("object-detection", "efficientdet"),
    "esm:ESM2/t6_8M": ("fill-mask", "esm"),  # asks whether any of its words is padding
    "esm:ProteinBertModel/esm1_t6_43M": ("fill-mask", "esm"),
    "esm:ProteinBertModel/esm1b_t33_650M": ("fill-mask", "esm"),
    "esm:MSATransformer/t12_100M": ("fill-mask", "msa_transformer"),
    "kornia:HardNet": ("keypoint-description", "hardnet"),
    "kornia:RRDBNet/x4": ("image-super-resolution", "esrgan"),
    "kornia:RTDETR/resnet18d": ("object-detection", "rt_detr"),  # from a record of settings
    "kornia:VisionTransformer/ti_16": ("image-feature-extraction", "vit"),
    "libmultilabel:KimCNN/rcv1": ("text-classification", "text_cnn"),
    "libmultilabel:XMLCNN/rcv1": ("text-classification", "xml_cnn"),
    "libmultilabel:CNNLWAN/EUR-Lex": ("text-classification", "caml"),
    "libmultilabel:BiGRULWAN/MIMIC-50": ("text-classification", "rnn_lwan"),
    "libmultilabel:AttentionXML_1/EUR-Lex": ("text-classification", "attentionxml"),
    "neuralop:FNO/small2d": ("operator-learning", "fno"),  # complex weights
    "neuralop:UNO/test": ("operator-learning", "uno"),
    "neuralop:CODANO/test": ("operator-learning", "codano"),
    "pypots:SAITS/imputation/ett_h1": ("time-series-imputation", "saits"),
    "pypots:BRITS/imputation/italyair": ("time-series-imputation", "brits"),  # read both ways
    "pypots:GRUD/classification": ("time-series-classification", "grud"),
    "pypots:PatchTST/anomaly_detection": ("anomaly-detection", "patchtst"),
    "pypots:VaDER/clustering": ("time-series-clustering", "vader"),
    "pypots:SegRNN/forecasting": ("time-series-forecasting", "segrnn"),
    # Their objective stands in the trace beside what is captured.
    "pythae:VAE/mlp_mnist": ("autoencoding", "vae"),
    "pythae:AE/conv_cifar": ("autoencoding", "autoencoder"),
    "pythae:VQVAE/resnet_mnist": ("autoencoding", "vqvae"),
    "pytorchvideo:X3D/xs": ("video-classification", "x3d"),
    "pytorchvideo:SlowFast/r50_8x8": ("video-classification", "slowfast"),  # two clips
    "pytorchvideo:MViT/b_16": ("image-classification", "mvit"),
    "rtdl_revisiting_models:MLP/california": ("tabular-prediction", "mlp"),
    "rtdl_revisiting_models:ResNet/california": ("tabular-prediction", "tabular_resnet"),
    "rtdl_revisiting_models:FTTransformer/adult_categories": (
        "tabular-prediction", "ft_transformer",
    ),
    "spandrel:Compact/x4": ("image-super-resolution", "srvgg"),
    "spandrel:DnCNN/gray": ("image-denoising", "dncnn"),
    "spandrel:LaMa": ("image-inpainting", "lama"),  # an image and a mask
    "spandrel:RealCUGAN/x3": ("image-super-resolution", "cunet"),  # a class of its own
    "stable_baselines3:ActorCritic/CartPole-v1": ("reinforcement-learning", "actor_critic"),
    "stable_baselines3:DQN/PongNoFrameskip-v4": ("reinforcement-learning", "dqn"),
    "stable_baselines3:TD3/Ant-v4": ("reinforcement-learning", "td3"),
    "supar:BiaffineDependencyModel/tag": ("dependency-parsing", "biaffine_parser"),
    "supar:CRFConstituencyModel": ("constituency-parsing", "biaffine_parser"),
    # Three lists of features.
    "supar:BiaffineSemanticDependencyModel": ("dependency-parsing", "biaffine_parser"),
    # Columns of numbers and of words apart.
    "torch_rechub:WideDeep": ("click-through-rate", "wide_and_deep"),
    # An embedding for each other field.
    "torch_rechub:DeepFFM": ("click-through-rate", "deepffm"),
    "torch_rechub:EDCN/concatenation": ("click-through-rate", "edcn"),
    "torch_rechub:PLE": ("click-through-rate", "ple"),  # several tasks
    "torchaudio:conv_tasnet_base": ("speech-separation", "conv_tasnet"),
    "torchaudio:wav2vec2_base": ("speech-feature-extraction", "wav2vec2"),
    "torchgan:ACGAN/generator_x32": ("image-generation", "acgan"),  # noise and a class
    "torchgan:DCGAN/discriminator_x64": ("image-classification", "dcgan"),
    "vit_pytorch:vit.ViT": ("image-classification", "vit"),
    "vit_pytorch:t2t.T2TViT": ("image-classification", "t2t_vit"),  # lists become tuples
    "vit_pytorch:simple_vit_3d.SimpleViT": ("video-classification", "simple_vit"),
    "vit_pytorch:vit_1d.ViT": ("time-series-classification", "vit"),
    # A transformer of x-transformers.
    "vit_pytorch:efficient.ViT": ("image-classification", "efficient"),
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
def test_every_kind_of_network_is_captured(name, capfd):
    captured = capture_architecture(name)
    item = captured.architecture
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
