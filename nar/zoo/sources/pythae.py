"""The autoencoders of Pythae, with its own perceptrons and the networks of its benchmark.

Chadebec, Vincent, Allassonniere: Pythae, NeurIPS 2022, datasets and benchmarks. Its forward pass
ends in the objective, which is no part of a design: what is captured ends in the reconstruction,
so that models that differ by their objective alone (VAE, BetaVAE) are one design.
"""

from functools import partial

import torch
from torch import Tensor, nn

from nar.capture import CaptureInputs
from nar.zoo.libraries import import_library, library_version
from nar.zoo.source import Entry, Source, by_forward

# Data set -> shape of one image and size of its code.
_DATA: dict[str, tuple[tuple[int, int, int], int]] = {
    "mnist": ((1, 28, 28), 16),
    "cifar": ((3, 32, 32), 256),
    "celeba": ((3, 64, 64), 64),
}
_NETWORKS = ("mlp", "conv", "resnet")
# Model -> which encoder it wants. Left out are models that follow a gradient inside their forward
# pass (HVAE, RHVAE, RAE_GP) and models whose pass depends on values (PoincareVAE, SVAE, VAEGAN).
_MODELS: dict[str, str] = {
    "AE": "AE",
    "Adversarial_AE": "VAE",
    "BetaTCVAE": "VAE",
    "BetaVAE": "VAE",
    "CIWAE": "VAE",
    "DisentangledBetaVAE": "VAE",
    "FactorVAE": "VAE",
    "INFOVAE_MMD": "VAE",
    "IWAE": "VAE",
    "MIWAE": "VAE",
    "MSSSIM_VAE": "VAE",
    "PIWAE": "VAE",
    "RAE_L2": "AE",
    "VAE": "VAE",
    "VAE_IAF": "VAE",
    "VAE_LinNF": "VAE",
    "VAMP": "VAE",
    "VQVAE": "VQVAE",
    "WAE_MMD": "AE",
}
# A VQ-VAE needs an encoder that gives a map of codes: only the benchmark's residual encoder does.
_LEFT_OUT = {("VQVAE", "mlp"), ("VQVAE", "conv")}


def _names() -> list[str]:
    library_version("pythae")
    return [
        f"{model}/{network}_{data}"
        for model in _MODELS
        for network in _NETWORKS
        for data in _DATA
        if (model, network) not in _LEFT_OUT
    ]


def _entry(name: str) -> Entry | None:
    if name not in _names():
        return None
    model, _, variant = name.partition("/")
    network, _, data = variant.partition("_")
    build = partial(_built, model, network, data)
    return Entry(model, "autoencoding", by_forward(build, partial(_inputs, data)))


class _Reconstruction(nn.Module):
    """A model of the library from images to their reconstruction, without its objective."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, images: Tensor) -> Tensor:
        """Images (N, C, H, W), and back again."""
        reconstruction: Tensor = self.model({"data": images}).recon_x
        return reconstruction


def _built(model: str, network: str, data: str) -> nn.Module:
    models = import_library("pythae.models")
    config_name = f"{model}_Config" if hasattr(models, f"{model}_Config") else f"{model}Config"
    shape, latent = _DATA[data]
    config = getattr(models, config_name)(input_dim=shape, latent_dim=latent)
    parts = _parts(model, network, data, config)
    return _Reconstruction(getattr(models, model)(config, **parts))


def _parts(model: str, network: str, data: str, config: object) -> dict[str, nn.Module]:
    """Encoder and decoder of the benchmark; none where the library's own perceptrons stand in."""
    if network == "mlp":
        return {}
    parts = import_library(f"pythae.models.nn.benchmarks.{data}")
    style = {"conv": "Conv", "resnet": "ResNet"}[network]
    decoder = "VQVAE" if model == "VQVAE" else "AE"
    return {
        "encoder": getattr(parts, f"Encoder_{style}_{_MODELS[model]}_{data.upper()}")(config),
        "decoder": getattr(parts, f"Decoder_{style}_{decoder}_{data.upper()}")(config),
    }


def _inputs(data: str, _model: nn.Module) -> CaptureInputs:
    """Two images: the total correlation of BetaTCVAE divides by how many others there are."""
    return CaptureInputs((torch.zeros(2, *_DATA[data][0]),))


PYTHAE = Source(
    name="pythae",
    library="pythae",
    licence="Apache-2.0",
    form="<Model>/<network>_<data>",
    example="VAE/conv_mnist",
    names=_names,
    entry=_entry,
)
