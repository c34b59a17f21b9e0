"""Small modules that bring no inputs, each with what its inputs have to be."""

import torch
import torch.nn.functional as F
from torch import nn


class LeNet(nn.Module):  # flatten decides the side
    def __init__(self):
        super().__init__()
        self.c1, self.c2 = nn.Conv2d(1, 6, 5), nn.Conv2d(6, 16, 5)
        self.f1, self.f2, self.f3 = nn.Linear(400, 120), nn.Linear(120, 84), nn.Linear(84, 10)

    def forward(self, x):
        x = F.max_pool2d(torch.tanh(self.c1(x)), 2)
        x = F.max_pool2d(torch.tanh(self.c2(x)), 2)
        return self.f3(torch.tanh(self.f2(torch.tanh(self.f1(x.flatten(1))))))


class TextCNN(nn.Module):  # integers, although the first convolution is two-dimensional
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(5000, 100)
        self.convs = nn.ModuleList([nn.Conv2d(1, 64, (k, 100)) for k in (3, 4, 5)])
        self.out = nn.Linear(192, 2)

    def forward(self, sentence):
        x = self.embed(sentence).unsqueeze(1)
        x = [F.relu(c(x)).squeeze(3).amax(2) for c in self.convs]
        return self.out(torch.cat(x, 1))


class Sensor(nn.Module):  # (batch, time, features): it is turned round before the convolution
    def __init__(self):
        super().__init__()
        self.conv, self.out = nn.Conv1d(9, 64, 5, padding=2), nn.Linear(128, 6)
        self.rnn = nn.LSTM(64, 128, batch_first=True)

    def forward(self, x):
        x = F.relu(self.conv(x.transpose(1, 2))).transpose(1, 2)
        return self.out(self.rnn(x)[0][:, -1])


class TimeFirst(nn.Module):  # (time, batch, features)
    def __init__(self):
        super().__init__()
        self.rnn, self.out = nn.GRU(40, 64, 2), nn.Linear(64, 5)

    def forward(self, x):
        return self.out(self.rnn(x)[0][-1])


class Volume(nn.Module):  # five axes, one channel; the flattened size fixes 32
    def __init__(self):
        super().__init__()
        convs = (nn.Conv3d(1, 8, 3, 2, 1), nn.ReLU(), nn.Conv3d(8, 16, 3, 2, 1), nn.ReLU())
        self.body = nn.Sequential(*convs, nn.Flatten(), nn.Linear(16 * 8**3, 2))

    def forward(self, scan):
        return self.body(scan)


class Tabular(nn.Module):  # mixed columns: integers and floats
    def __init__(self):
        super().__init__()
        self.tables = nn.ModuleList([nn.Embedding(n, 8) for n in (10, 20, 30)])
        layers = (nn.Linear(24 + 5, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 1))
        self.mlp = nn.Sequential(*layers)

    def forward(self, categories, numbers):
        x = [table(categories[:, i]) for i, table in enumerate(self.tables)]
        return self.mlp(torch.cat([*x, numbers], 1))


class Learned(nn.Module):  # the table of positions is added whole: 50 tokens, no other number
    def __init__(self):
        super().__init__()
        self.embed, self.pos = nn.Embedding(1000, 64), nn.Parameter(torch.zeros(1, 50, 64))
        layer = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True)
        self.body, self.out = nn.TransformerEncoder(layer, 2), nn.Linear(64, 1000)

    def forward(self, idx):
        return self.out(self.body(self.embed(idx) + self.pos))


class Positions(nn.Module):  # positions beyond the table would not fail without values: 32 at most
    def __init__(self):
        super().__init__()
        self.embed, self.where = nn.Embedding(1000, 64), nn.Embedding(32, 64)
        self.out = nn.Linear(64, 1000)

    def forward(self, idx):
        return self.out(self.embed(idx) + self.where(torch.arange(idx.shape[1], device=idx.device)))


class Denoiser(nn.Module):  # an image of four channels, a step and a class
    def __init__(self):
        super().__init__()
        self.inp, self.mid = nn.Conv2d(4, 32, 3, padding=1), nn.Conv2d(32, 32, 3, padding=1)
        self.out = nn.Conv2d(32, 4, 3, padding=1)
        self.t, self.y = nn.Linear(1, 32), nn.Embedding(10, 32)

    def forward(self, x, t, y):
        h = self.inp(x) + (self.t(t[:, None].float()) + self.y(y))[:, :, None, None]
        return self.out(F.silu(self.mid(F.silu(h))))


class TwoOptional(nn.Module):  # both have defaults, and half of the weights hangs on each
    def __init__(self):
        super().__init__()
        self.see = nn.Sequential(nn.Conv2d(3, 32, 16, 16), nn.Flatten(2))
        self.read = nn.Embedding(1000, 32)
        self.a, self.b = nn.Linear(32, 16), nn.Linear(32, 16)

    def forward(self, image=None, text=None):
        seen = None if image is None else self.a(self.see(image).mean(2))
        read = None if text is None else self.b(self.read(text).mean(1))
        return seen, read


class Graph(nn.Module):  # nodes (N, 16) and edges (2, E), whose values must stay below N
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(16, 32), nn.Linear(32, 4)

    def forward(self, x, edge_index):
        for layer in (self.a, self.b):
            source, target = edge_index
            h = layer(x)
            x = torch.relu(h + torch.zeros_like(h).index_add(0, target, h[source]))
        return x


class Hopeless(nn.Module):  # a nest that nobody can guess: must be refused, not guessed
    def __init__(self):
        super().__init__()
        self.f = nn.Linear(8, 8)

    def forward(self, batch):
        return self.f(batch.nodes.pop().to_dense())


class Points(nn.Module):  # the rank is unpacked before a layer sees the input
    def __init__(self):
        super().__init__()
        self.c1, self.c2, self.fc = nn.Conv1d(6, 64, 1), nn.Conv1d(64, 128, 1), nn.Linear(128, 40)

    def forward(self, x):
        _batch, _dims, _number = x.size()
        return self.fc(torch.max(F.relu(self.c2(F.relu(self.c1(x)))), 2)[0])


class DenseGraph(nn.Module):
    def __init__(self):
        super().__init__()
        self.w1, self.w2 = nn.Linear(32, 16, bias=False), nn.Linear(16, 7, bias=False)

    def forward(self, x, adj):
        return F.log_softmax(adj @ self.w2(F.relu(adj @ self.w1(x))), 1)


class OfDicts(nn.Module):  # a list of mappings, each of one sample
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3)

    def forward(self, samples):
        return self.conv(torch.stack([sample["image"] for sample in samples]))
