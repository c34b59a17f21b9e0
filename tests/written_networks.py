"""Sixty small networks in ten kinds, written by rules from a seed, each with its true inputs.

A rule draws widths, depths, lengths and names, so that nothing can be fitted to one of them.
"""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

EACH = 6  # networks of a kind


@dataclass(frozen=True)
class Written:
    """A network and one call of it."""

    name: str
    module: nn.Module
    inputs: tuple[object, ...]


def written(kind: str, seed: int = 0) -> Iterator[Written]:
    """The networks of a kind."""
    rules = RULES[kind]
    for number in range(EACH):
        draw = random.Random(f"{kind} {number} {seed}")
        rule = rules[number % len(rules)]
        module, inputs = rule(draw)
        yield Written(f"{kind} {number} {rule.__name__}", module, inputs)


class Net(nn.Module):
    """A module whose forward is a function of its layers and its inputs."""

    def __init__(self, **layers: nn.Module) -> None:
        super().__init__()
        for name, layer in layers.items():
            self.add_module(name, layer)


Made = tuple[nn.Module, tuple[object, ...]]
Rule = Callable[[random.Random], Made]


def ids(*extents: int) -> Tensor:
    return torch.zeros(extents, dtype=torch.long)


def width(draw: random.Random) -> int:
    return draw.choice([24, 40, 48, 72, 96])


# Text.
def classifier(draw: random.Random) -> Made:
    w, rows = width(draw), draw.randrange(200, 5000)

    class Classifier(Net):
        def forward(self, tokens):
            return self.head(self.table(tokens).mean(1))

    return Classifier(table=nn.Embedding(rows, w), head=nn.Linear(w, 4)), (ids(1, 20),)


def tagger(draw: random.Random) -> Made:
    w, rows = width(draw), draw.randrange(200, 5000)

    class Tagger(Net):
        def forward(self, sentence):
            return self.head(self.rnn(self.table(sentence))[0])

    rnn = nn.LSTM(w, 2 * w, bidirectional=True, batch_first=True)
    return Tagger(table=nn.Embedding(rows, w), rnn=rnn, head=nn.Linear(4 * w, 9)), (ids(1, 20),)


def decoder(draw: random.Random) -> Made:
    w, rows, longest = width(draw), draw.randrange(200, 5000), draw.choice([16, 24, 64])

    class Decoder(Net):
        def forward(self, x):
            places = torch.arange(x.size(1), device=x.device)
            h = self.table(x) + self.places(places)
            mask = nn.Transformer.generate_square_subsequent_mask(x.size(1)).to(h)
            return self.head(self.body(h, mask))

    layer = nn.TransformerEncoderLayer(w, 4, 2 * w, batch_first=True)
    parts = {"table": nn.Embedding(rows, w), "places": nn.Embedding(longest, w)}
    body = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
    return Decoder(**parts, body=body, head=nn.Linear(w, rows)), (ids(1, longest),)


# Series.
def recurrent(draw: random.Random) -> Made:
    w, channels, first = width(draw), draw.randrange(3, 30), draw.random() < 0.5

    class Recurrent(Net):
        def forward(self, x):
            h, _ = self.rnn(x)
            return self.head(h[:, -1] if first else h[-1])

    rnn = nn.GRU(channels, w, 2, batch_first=first)
    shape = (1, 50, channels) if first else (50, 1, channels)
    return Recurrent(rnn=rnn, head=nn.Linear(w, 3)), (torch.zeros(shape),)


def convolved(draw: random.Random) -> Made:
    w, channels = width(draw), draw.randrange(3, 30)

    class Convolved(Net):
        def forward(self, x):
            h = self.c2(self.c1(x.permute(0, 2, 1)).relu()).relu()
            return self.head(h.mean(-1))

    convs = {"c1": nn.Conv1d(channels, w, 3), "c2": nn.Conv1d(w, w, 3, 2)}
    return Convolved(**convs, head=nn.Linear(w, 3)), (torch.zeros(1, 50, channels),)


def forecaster(draw: random.Random) -> Made:
    window, horizon, channels = draw.choice([24, 48, 96]), draw.choice([12, 24]), 7

    class Forecaster(Net):
        def forward(self, x_enc):
            season = self.pool(x_enc.transpose(1, 2))
            return (self.a(season) + self.b(x_enc.transpose(1, 2) - season)).transpose(1, 2)

    parts = {"pool": nn.AvgPool1d(3, 1, 1), "a": nn.Linear(window, horizon)}
    network = Forecaster(**parts, b=nn.Linear(window, horizon))
    return network, (torch.zeros(1, window, channels),)


# Images.
def plain(draw: random.Random) -> Made:
    w, channels, side = width(draw), draw.choice([1, 3]), draw.choice([28, 32, 64])

    class Plain(Net):
        def forward(self, x):
            x = F.max_pool2d(self.c1(x).relu(), 2)
            x = F.max_pool2d(self.c2(x).relu(), 2)
            return self.head(torch.flatten(x, 1))

    convs = {"c1": nn.Conv2d(channels, 8, 3, padding=1), "c2": nn.Conv2d(8, w, 3, padding=1)}
    network = Plain(**convs, head=nn.Linear(w * (side // 4) ** 2, 10))
    return network, (torch.zeros(1, channels, side, side),)


def patches(draw: random.Random) -> Made:
    w, side, patch = width(draw), draw.choice([32, 64, 224]), 8

    class Patches(Net):
        def __init__(self, **layers):
            super().__init__(**layers)
            self.places = nn.Parameter(torch.zeros(1, (side // patch) ** 2 + 1, w))
            self.first = nn.Parameter(torch.zeros(1, 1, w))

        def forward(self, img):
            x = self.stem(img).flatten(2).transpose(1, 2)
            x = torch.cat([self.first.expand(x.shape[0], -1, -1), x], 1) + self.places
            return self.head(self.body(x)[:, 0])

    layer = nn.TransformerEncoderLayer(w, 4, 2 * w, batch_first=True)
    body = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
    network = Patches(stem=nn.Conv2d(3, w, patch, patch), body=body, head=nn.Linear(w, 10))
    return network, (torch.zeros(1, 3, side, side),)


def flattened(draw: random.Random) -> Made:
    w, side = width(draw), draw.choice([28, 32])

    class Flattened(Net):
        def forward(self, x):
            x = x.view(x.size(0), -1)
            return self.b(self.a(x).relu())

    network = Flattened(a=nn.Linear(side * side, w), b=nn.Linear(w, 10))
    return network, (torch.zeros(1, 1, side, side),)


# Volumes.
def voxels(draw: random.Random) -> Made:
    w, channels, side = width(draw), draw.choice([1, 2, 4]), draw.choice([16, 32])

    class Voxels(Net):
        def forward(self, volume):
            x = F.max_pool3d(self.c1(volume).relu(), 2)
            return self.head(F.max_pool3d(self.c2(x).relu(), 2).flatten(1))

    convs = {"c1": nn.Conv3d(channels, 8, 3, padding=1), "c2": nn.Conv3d(8, 16, 3, padding=1)}
    network = Voxels(**convs, head=nn.Linear(16 * (side // 4) ** 3, w))
    return network, (torch.zeros(1, channels, side, side, side),)


def segmenter(draw: random.Random) -> Made:
    channels = draw.choice([1, 4])

    class Segmenter(Net):
        def forward(self, x):
            a = self.down(x).relu()
            b = F.interpolate(self.mid(F.max_pool3d(a, 2)).relu(), scale_factor=2)
            return self.up(torch.cat([a, b], 1))

    parts = {"down": nn.Conv3d(channels, 8, 3, padding=1), "mid": nn.Conv3d(8, 8, 3, padding=1)}
    network = Segmenter(**parts, up=nn.Conv3d(16, 2, 1))
    return network, (torch.zeros(1, channels, 32, 32, 32),)


# Videos.
def clip(draw: random.Random) -> Made:
    w = width(draw)

    class Clip(Net):
        def forward(self, x):
            return self.head(self.c2(self.c1(x).relu()).relu().mean((2, 3, 4)))

    convs = {"c1": nn.Conv3d(3, 8, (3, 7, 7), (1, 2, 2)), "c2": nn.Conv3d(8, w, 3)}
    return Clip(**convs, head=nn.Linear(w, 5)), (torch.zeros(1, 3, 16, 112, 112),)


def frames(draw: random.Random) -> Made:
    w = width(draw)

    class Frames(Net):
        def forward(self, x):
            b, t, c, h, v = x.shape
            each = self.stem(x.view(b * t, c, h, v)).relu().mean((2, 3))
            return self.head(self.rnn(each.view(b, t, -1))[0][:, -1])

    parts = {"stem": nn.Conv2d(3, w, 5, 2), "rnn": nn.LSTM(w, w, batch_first=True)}
    return Frames(**parts, head=nn.Linear(w, 5)), (torch.zeros(1, 8, 3, 64, 64),)


# Sound.
def wave(draw: random.Random) -> Made:
    w, channels = width(draw), draw.choice([1, 2])

    class Wave(Net):
        def forward(self, x):
            return self.head(self.c2(self.c1(x).relu()).relu().mean(-1))

    convs = {"c1": nn.Conv1d(channels, 16, 80, 16), "c2": nn.Conv1d(16, w, 3, 2)}
    return Wave(**convs, head=nn.Linear(w, 35)), (torch.zeros(1, channels, 16000),)


def spectrogram(draw: random.Random) -> Made:
    w, bands = width(draw), draw.choice([40, 64, 80])

    class Spectrogram(Net):
        def forward(self, mel):
            x = self.stem(mel.unsqueeze(1)).relu()
            return self.head(self.rnn(x.mean(1).transpose(1, 2))[0][:, -1])

    parts = {"stem": nn.Conv2d(1, 8, 3, padding=1), "rnn": nn.GRU(bands, w, batch_first=True)}
    return Spectrogram(**parts, head=nn.Linear(w, 9)), (torch.zeros(1, bands, 100),)


def separator(draw: random.Random) -> Made:
    w = width(draw)

    class Separator(Net):
        def forward(self, mixture):
            h = self.encode(mixture.unsqueeze(1)).relu()
            return self.decode(h * self.mask(h).sigmoid())

    parts = {"encode": nn.Conv1d(1, w, 16, 8), "mask": nn.Conv1d(w, w, 1)}
    network = Separator(**parts, decode=nn.ConvTranspose1d(w, 1, 16, 8))
    return network, (torch.zeros(1, 16000),)


# Tables.
def perceptron(draw: random.Random) -> Made:
    columns, w = draw.randrange(5, 60), width(draw)

    class Perceptron(Net):
        def forward(self, x):
            return self.b(self.norm(self.a(x)).relu())

    parts = {"a": nn.Linear(columns, w), "norm": nn.BatchNorm1d(w), "b": nn.Linear(w, 1)}
    return Perceptron(**parts), (torch.zeros(1, columns),)


def mixed(draw: random.Random) -> Made:
    sizes, columns = [draw.randrange(5, 40) for _ in range(draw.randrange(2, 6))], 7

    class Mixed(Net):
        def forward(self, x_cat, x_num):
            parts = [table(x_cat[:, i]) for i, table in enumerate(self.tables)]
            return self.head(torch.cat([*parts, x_num], 1))

    tables = nn.ModuleList(nn.Embedding(size, 4) for size in sizes)
    network = Mixed(tables=tables, head=nn.Linear(4 * len(sizes) + columns, 2))
    return network, (ids(1, len(sizes)), torch.zeros(1, columns))


def gated(draw: random.Random) -> Made:
    columns, w = draw.randrange(5, 60), width(draw)

    class Gated(Net):
        def forward(self, features):
            return self.b(self.a(features) * self.g(features).sigmoid())

    parts = {"a": nn.Linear(columns, w), "g": nn.Linear(columns, w), "b": nn.Linear(w, 1)}
    return Gated(**parts), (torch.zeros(1, columns),)


# Graphs.
def dense(draw: random.Random) -> Made:
    features, w = draw.randrange(10, 50), width(draw)

    class Dense(Net):
        def forward(self, x, adj):
            return adj @ self.b((adj @ self.a(x)).relu())

    network = Dense(a=nn.Linear(features, w), b=nn.Linear(w, 3))
    return network, (torch.zeros(9, features), torch.eye(9))


def sparse(draw: random.Random) -> Made:
    features, w = draw.randrange(10, 50), width(draw)

    class Sparse(Net):
        def forward(self, x, edge_index):
            h = self.a(x)
            out = torch.zeros_like(h).index_add(0, edge_index[1], h[edge_index[0]])
            return self.b(out.relu())

    network = Sparse(a=nn.Linear(features, w), b=nn.Linear(w, 3))
    return network, (torch.zeros(9, features), ids(2, 12))


def weighted(draw: random.Random) -> Made:
    features, edges, w = draw.randrange(10, 50), draw.randrange(2, 9), width(draw)

    class Weighted(Net):
        def forward(self, x, edge_index, edge_attr):
            source, target = edge_index
            message = self.a(x)[source] * self.e(edge_attr)
            h = torch.zeros(x.size(0), message.size(1)).to(x).index_add(0, target, message)
            return self.b(h.relu())

    parts = {"a": nn.Linear(features, w), "e": nn.Linear(edges, w), "b": nn.Linear(w, 3)}
    return Weighted(**parts), (torch.zeros(9, features), ids(2, 12), torch.zeros(12, edges))


# Several inputs.
def denoiser(draw: random.Random) -> Made:
    w, channels, classes = width(draw), draw.choice([1, 3, 4]), 10

    class Denoiser(Net):
        def forward(self, x, t, y):
            when = torch.cat([t[:, None].sin(), t[:, None].cos()], 1)
            h = self.stem(x) + (self.t(when) + self.y(y))[:, :, None, None]
            return self.out(h.relu())

    parts = {"t": nn.Linear(2, w), "y": nn.Embedding(classes, w)}
    convs = {"stem": nn.Conv2d(channels, w, 3, padding=1), "out": nn.Conv2d(w, channels, 1)}
    return Denoiser(**parts, **convs), (torch.zeros(1, channels, 32, 32), torch.zeros(1), ids(1))


def translator(draw: random.Random) -> Made:
    w, rows = width(draw), draw.randrange(200, 3000)

    class Translator(Net):
        def forward(self, src, tgt):
            return self.head(self.body(self.table(src), self.table(tgt)))

    body = nn.Transformer(w, 4, 1, 1, 2 * w, batch_first=True)
    network = Translator(table=nn.Embedding(rows, w), body=body, head=nn.Linear(w, rows))
    return network, (ids(1, 12), ids(1, 9))


def siamese(draw: random.Random) -> Made:
    w = width(draw)

    class Siamese(Net):
        def forward(self, img1, img2):
            one, other = (self.stem(each).relu().mean((2, 3)) for each in (img1, img2))
            return self.head((one - other).abs())

    network = Siamese(stem=nn.Conv2d(1, w, 5), head=nn.Linear(w, 1))
    return network, (torch.zeros(1, 1, 100, 100), torch.zeros(1, 1, 100, 100))


# Nests.
def keyed(draw: random.Random) -> Made:
    w, rows = width(draw), draw.randrange(200, 3000)

    class Keyed(Net):
        def forward(self, batch):
            seen = self.see(batch["image"]).relu().mean((2, 3))
            return self.head(seen + self.read(batch["input_ids"]).mean(1))

    parts = {"see": nn.Conv2d(3, w, 8, 8), "read": nn.Embedding(rows, w)}
    inputs = {"image": torch.zeros(1, 3, 64, 64), "input_ids": ids(1, 12)}
    return Keyed(**parts, head=nn.Linear(w, 2)), (inputs,)


def listed(draw: random.Random) -> Made:
    w = width(draw)

    class Listed(Net):
        def forward(self, images: list[Tensor]):
            return self.head(self.see(torch.stack(images)).relu().mean((2, 3)))

    network = Listed(see=nn.Conv2d(3, w, 8, 8), head=nn.Linear(w, 2))
    return network, ([torch.zeros(3, 64, 64)],)


def optional(draw: random.Random) -> Made:
    w, rows = width(draw), draw.randrange(200, 3000)

    class Optional(Net):
        def forward(self, image=None, text=None):
            if image is None and text is None:
                raise ValueError("give an image or a text")
            parts = []
            if image is not None:
                parts.append(self.see(image).relu().mean((2, 3)))
            if text is not None:
                parts.append(self.read(text).mean(1))
            return self.head(torch.stack(parts).sum(0))

    parts = {"see": nn.Conv2d(3, w, 8, 8), "read": nn.Embedding(rows, w)}
    network = Optional(**parts, head=nn.Linear(w, 2))
    return network, (torch.zeros(1, 3, 64, 64), ids(1, 12))


RULES: dict[str, tuple[Rule, ...]] = {
    "text": (classifier, tagger, decoder),
    "series": (recurrent, convolved, forecaster),
    "image": (plain, patches, flattened),
    "volume": (voxels, segmenter),
    "video": (clip, frames),
    "sound": (wave, spectrogram, separator),
    "table": (perceptron, mixed, gated),
    "graph": (dense, sparse, weighted),
    "several inputs": (denoiser, translator, siamese),
    "nest": (keyed, listed, optional),
}
