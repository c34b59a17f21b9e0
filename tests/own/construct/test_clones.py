"""Eight repositories in small, each built with the values that its own script builds with."""

from dataclasses import dataclass

import pytest
from clones import Asked, clone


@dataclass(frozen=True)
class Clone:
    """A repository.

    Attributes:
        name: What is asked about in it.
        weights: How many its own script builds.
        inputs: Stated inputs.
        files: Its files.
    """

    name: str
    weights: int
    inputs: tuple[str, ...]
    files: dict[str, str]


HYPERPARAMETERS = Clone(
    "synth/vocoder.py:Vocoder",
    (80 * 3 + 1) * 24 + (24 + 1) * 2,
    ("1x80x16",),
    {
        "README.md": "# A vocoder\n",
        "hparams.py": "mels = 80\nwidth = 24\nrate = 22050\nsteps = 10\n",
        "synth/vocoder.py": """
import librosa_of_nobody
import hparams as hp
from torch import nn
class Vocoder(nn.Module):
    def __init__(self, out_channels, mels=hp.mels):
        super().__init__()
        self.a = nn.Conv1d(mels, hp.width, 3)
        self.b = nn.Conv1d(hp.width, out_channels, 1)
    def forward(self, x): return self.b(self.a(x))
""",
        "train.py": """
import hparams as hp
from synth.vocoder import Vocoder
def run():
    stereo = 2
    model = Vocoder(out_channels=stereo)
    for batch in open("data"): model(batch)
if __name__ == "__main__": run()
""",
    },
)

REGISTRY = Clone(
    "seg/nets/unet.py:TinyUNet",
    (3 * 9 + 1) * 12 + (12 * 9 + 1) * 12 + (12 + 1) * 5,
    ("1x3x16x16",),
    {
        "setup.py": "from setuptools import setup\nsetup(name='seg')\n",
        "configs/city.yaml": "DATA: {R: x}\nMODEL:\n  NAME: TinyUNet\n  BASE: 12\n  CLASSES: 5\n",
        "seg/__init__.py": "",
        "seg/registry.py": """
NETS = {}
def register(cls):
    NETS[cls.__name__] = cls
    return cls
def build_net(cfg):
    return NETS[cfg.MODEL.NAME](cfg.MODEL.BASE, cfg.MODEL.CLASSES)
""",
        "seg/nets/__init__.py": "from .unet import TinyUNet\n",
        "seg/nets/unet.py": """
from torch import nn
from ..registry import register
@register
class TinyUNet(nn.Module):
    def __init__(self, base, classes):
        super().__init__()
        self.down, self.up = nn.Conv2d(3, base, 3), nn.Conv2d(base, base, 3)
        self.head = nn.Conv2d(base, classes, 1)
    def forward(self, x): return self.head(self.up(self.down(x).relu()).relu())
""",
    },
)

OPTIONS = Clone(
    "models/networks.py:Translator",
    (1 * 49 + 1) * 20 + (20 * 49 + 1) * 3,
    ("1x1x16x16",),
    {
        "README.md": "",
        "options/base.py": """
import argparse
class BaseOptions:
    def initialize(self, parser):
        parser.add_argument("--input_nc", type=int, default=1, help="channels")
        parser.add_argument("--output_nc", type=int, default=3)
        parser.add_argument("--ngf", type=int, default=20)
        parser.add_argument("--name", required=True)
        return parser
    def parse(self): return self.initialize(argparse.ArgumentParser()).parse_args()
""",
        "models/networks.py": """
import functools
from torch import nn
def define_G(input_nc, output_nc, ngf, norm="batch"):
    return Translator(input_nc, output_nc, ngf)
class Translator(nn.Module):
    def __init__(self, input_nc, output_nc, ngf=64):
        super().__init__()
        self.a, self.b = nn.Conv2d(input_nc, ngf, 7), nn.Conv2d(ngf, output_nc, 7)
    def forward(self, x): return self.b(self.a(x).relu())
""",
        "models/pix.py": """
from . import networks
class Pix:
    def __init__(self, opt):
        self.net = networks.define_G(opt.input_nc, opt.output_nc, opt.ngf)
""",
        "models/__init__.py": "",
    },
)

SERIES = Clone(
    "models/mix.py:Model",
    (24 + 1) * 12 + (7 + 1) * 16 + (16 + 1) * 7,
    ("1x24x7",),
    {
        "README.md": "See scripts.\n",
        "scripts/hourly.sh": "python -u run.py \\\n  --data hourly \\\n  --seq_len 24 \\\n"
        "  --pred_len 12 \\\n  --enc_in 7 --d_model 16\n",
        "run.py": """
import argparse
p = argparse.ArgumentParser()
p.add_argument('--data', type=str, required=True)
p.add_argument('--seq_len', type=int)
p.add_argument('--pred_len', type=int)
p.add_argument('--enc_in', type=int)
p.add_argument('--d_model', type=int)
p.add_argument('--model', default='mix')
args = p.parse_args()
import importlib
Model = importlib.import_module('models.' + args.model).Model
Model(args).float()
""",
        "models/mix.py": """
from torch import nn
class Model(nn.Module):
    def __init__(self, configs):
        super().__init__()
        self.time = nn.Linear(configs.seq_len, configs.pred_len)
        self.a = nn.Linear(configs.enc_in, configs.d_model)
        self.b = nn.Linear(configs.d_model, configs.enc_in)
    def forward(self, x):
        x = self.time(x.transpose(1, 2)).transpose(1, 2)
        return x + self.b(self.a(x).relu())
""",
    },
)

NESTED = Clone(
    "pkg/model.py:Speech",
    (80 + 1) * 40 + (40 + 1) * 28,
    ("1x9x80",),
    {
        "pyproject.toml": "[project]\nname = 'pkg'\n",
        "pkg/__init__.py": "from .version import __version__\nfrom .model import Speech\n",
        "pkg/config.py": """
from dataclasses import dataclass, field
@dataclass
class EncoderConfig:
    mels: int = 80
    width: int = 40
@dataclass
class SpeechConfig:
    encoder: EncoderConfig = field(default_factory=EncoderConfig)
    letters: int = 28
""",
        "pkg/model.py": """
from torch import nn
from .config import SpeechConfig, EncoderConfig
class Encoder(nn.Module):
    def __init__(self, config: EncoderConfig):
        super().__init__(); self.l = nn.Linear(config.mels, config.width)
    def forward(self, x): return self.l(x)
class Speech(nn.Module):
    def __init__(self, config: "SpeechConfig"):
        super().__init__()
        self.encoder = Encoder(config.encoder)
        self.head = nn.Linear(config.encoder.width, config.letters)
    def forward(self, x): return self.head(self.encoder(x).relu())
""",
    },
)

README_CODE = Clone(
    "lm/net.py:TinyLM",
    300 * 32 + 2 * (32 * 32 + 32) + (32 + 1) * 300,
    ("1x8:int64",),
    {
        "README.md": """
# TinyLM

```bash
pip install lm
```

```python
from lm.net import TinyLM
model = TinyLM(
    vocab = 300,
    dim = 32,
    layers = 2,
)
logits = model(tokens)
```
""",
        "lm/net.py": """
import tiktoken_of_nobody
from torch import nn
class TinyLM(nn.Module):
    def __init__(self, vocab, dim, layers, dropout=0.0):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.layers = nn.ModuleList(nn.Linear(dim, dim) for _ in range(layers))
        self.head = nn.Linear(dim, vocab)
    def forward(self, ids):
        x = self.emb(ids)
        for layer in self.layers: x = x + layer(x).relu()
        return self.head(x)
""",
        "train.py": """
from lm.net import TinyLM
from tiktoken_of_nobody import get_encoding
tok = get_encoding("x")
model = TinyLM(len(tok), 32, 2)
""",
    },
)

BACKBONE = Clone(
    "det/model.py:Detector",
    (3 * 9 + 1) * 16 + (16 + 1) * (6 * 4) + (16 + 1) * 11,
    ("1x3x16x16",),
    {
        ".git/HEAD": "ref: refs/heads/main\n",
        "main.py": """
import argparse
def get_args():
    p = argparse.ArgumentParser('d', add_help=False)
    p.add_argument('--backbone', default='small', choices=['small', 'big'])
    p.add_argument('--queries', default=6, type=int)
    p.add_argument('--dataset', default='coco')
    p.add_argument('--device', default='cuda')
    return p
if __name__ == '__main__':
    from det import build_model
    args = get_args().parse_args()
    model = build_model(args).to(args.device)
""",
        "det/__init__.py": "from .model import build\ndef build_model(args): return build(args)\n",
        "det/backbone.py": """
import pycocotools_of_nobody.mask as m
from torch import nn
class Backbone(nn.Sequential):
    def __init__(self, width):
        super().__init__(nn.Conv2d(3, width, 3), nn.ReLU())
        self.width = width
def build_backbone(args):
    widths = {'small': 16, 'big': 64}
    return Backbone(widths[args.backbone]).cuda()
""",
        "det/model.py": """
import torch
from torch import nn
from .backbone import build_backbone
class Detector(nn.Module):
    def __init__(self, backbone, classes, queries):
        super().__init__()
        self.backbone = backbone
        self.boxes = nn.Linear(backbone.width, queries * 4)
        self.classes = nn.Linear(backbone.width, classes)
    def forward(self, x):
        x = self.backbone(x).mean((2, 3))
        return self.boxes(x), self.classes(x)
def build(args):
    classes = 20 if args.dataset != 'coco' else 11
    device = torch.device(args.device)
    model = Detector(build_backbone(args), classes=classes, queries=args.queries)
    model.to(device)
    return model
""",
    },
)

SCRIPT = Clone(
    "gan/net.py:Generator",
    (50 + 1) * (8 * 8 * 8) + (8 * 9 + 1) * 2,
    ("1x50",),
    {
        "README.md": "Run `python gan/train.py`.",
        "gan/net.py": """
from torch import nn
class Generator(nn.Module):
    def __init__(self, latent_dim, img_shape):
        super().__init__()
        self.side = img_shape[1] // 2
        self.l = nn.Linear(latent_dim, 8 * self.side ** 2)
        self.c = nn.Conv2d(8, img_shape[0], 3, padding=1)
    def forward(self, z):
        x = self.l(z).view(len(z), 8, self.side, self.side)
        return self.c(nn.functional.interpolate(x, scale_factor=2.0))
""",
        "gan/train.py": """
import argparse, os
import torch
from net import Generator
os.makedirs("images", exist_ok=True)
parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=200)
parser.add_argument("--latent_dim", type=int, default=50, help="size of the noise")
parser.add_argument("--img_size", type=int, default=16)
parser.add_argument("--channels", type=int, default=2)
opt = parser.parse_args()
shape = (opt.channels, opt.img_size, opt.img_size)
generator = Generator(opt.latent_dim, shape)
if torch.cuda.is_available():
    generator.cuda()
for epoch in range(opt.epochs):
    loss = generator(torch.randn(1, opt.latent_dim)).sum()
    loss.backward()
""",
    },
)

CLONES = {
    "hyperparameters": HYPERPARAMETERS,
    "registry": REGISTRY,
    "options": OPTIONS,
    "series": SERIES,
    "nested": NESTED,
    "readme": README_CODE,
    "backbone": BACKBONE,
    "script": SCRIPT,
}


@pytest.mark.parametrize("kind", CLONES)
def test_a_clone_is_built_with_the_values_of_its_own_script(tmp_path, kind):
    each = CLONES[kind]
    folder = clone(tmp_path, each.files)
    assert Asked(folder / each.name, *each.inputs).weights == each.weights
