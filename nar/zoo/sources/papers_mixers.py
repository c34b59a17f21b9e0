"""Networks that paper after paper puts in place of plain attention, or beside it.

Of texts: retention (RetNet), long convolutions (Hyena), gated linear attention (GLA). Of molecules:
transformers that see how atoms are joined (Graphormer, GPS). `nar.zoo.sources.papers` names them;
``papers_nets.yaml`` cites the papers.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

_WORDS = 50_257  # of GPT-2's vocabulary


class _Retention(nn.Module):
    """Each head forgets at a rate of its own; a gate decides what of the result is kept."""

    _HEAD = 256  # width of the keys of a head, of the values twice as much

    def __init__(self, width: int) -> None:
        super().__init__()
        self.heads = width // self._HEAD
        self.query, self.key = (nn.Linear(width, width, bias=False) for _ in range(2))
        self.value, self.gate = (nn.Linear(width, 2 * width, bias=False) for _ in range(2))
        self.out = nn.Linear(2 * width, width, bias=False)
        self.norm = nn.GroupNorm(self.heads, 2 * width, affine=False)

    def forward(self, x: Tensor, sin: Tensor, cos: Tensor, decay: Tensor) -> Tensor:
        query, key, value = (
            part(x).unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for part in (self.query, self.key, self.value)
        )
        query, key = (_turned(part, sin, cos) for part in (query, key))
        weights = query @ key.transpose(-2, -1) * self._HEAD**-0.5 * decay
        kept = (weights @ value).transpose(1, 2).flatten(2)
        normed = self.norm(kept.flatten(0, 1)).view_as(kept)
        out: Tensor = self.out(functional.silu(self.gate(x)) * normed)
        return out


def _turned(x: Tensor, sin: Tensor, cos: Tensor) -> Tensor:
    """Rotary positions: the two halves of each head, turned against each other."""
    one, other = x.chunk(2, -1)
    return x * cos + torch.cat((-other, one), -1) * sin


class _RetNet(nn.Module):
    """A language model of retentions and feed-forwards, in the form in which it is trained."""

    def __init__(self, width: int, layers: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(_WORDS, width)
        self.retentions = nn.ModuleList(_Retention(width) for _ in range(layers))
        self.feeds = nn.ModuleList(
            nn.Sequential(
                nn.Linear(width, 2 * width, bias=False),
                nn.GELU(),
                nn.Linear(2 * width, width, bias=False),
            )
            for _ in range(layers)
        )
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2 * layers + 1))

    def forward(self, words: Tensor) -> Tensor:
        """Scores of the words that follow each of (N, length) words."""
        tables = self._tables(words)
        x = self.embed(words)
        norms = iter(self.norms)
        for retention, feed in zip(self.retentions, self.feeds, strict=True):
            x = x + retention(next(norms)(x), *tables)
            x = x + feed(next(norms)(x))
        return functional.linear(next(norms)(x), self.embed.weight)

    def _tables(self, words: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Sines and cosines of each place, and how much of each earlier place each head keeps."""
        first = cast("_Retention", self.retentions[0])
        half, heads = first._HEAD // 2, first.heads
        places = torch.arange(words.shape[1], device=words.device).float()
        angles = torch.outer(places, 10_000.0 ** -torch.linspace(0, 1, half, device=words.device))
        turns = torch.cat((angles, angles), -1)
        rates = 1 - 2.0 ** (-5 - torch.arange(heads, device=words.device).float())
        apart = places[:, None] - places[None]
        decay = torch.exp(torch.log(rates)[:, None, None] * apart).tril()
        return turns.sin(), turns.cos(), decay


class _LongFilter(nn.Module):
    """A filter as long as a text, each of its values made from the place at which it stands."""

    _PLACES = 33  # numbers that describe a place: when, and 16 sines and cosines
    _INNER = 64
    _LAYERS = 2  # between the first and the last
    # Chosen: channels forget between these rates, as the released code has them.
    _SLOW, _FAST = 3.07, 15.35

    def __init__(self, width: int, length: int) -> None:
        super().__init__()
        self.places = nn.Parameter(torch.zeros(length, self._PLACES))
        self.frequency = nn.Parameter(torch.ones(self._INNER))
        inner = [nn.Linear(self._INNER, self._INNER) for _ in range(self._LAYERS)]
        self.layers = nn.ModuleList([nn.Linear(self._PLACES, self._INNER), *inner])
        self.out = nn.Linear(self._INNER, width, bias=False)
        self.skip = nn.Parameter(torch.ones(width))
        self.rates = nn.Buffer(torch.linspace(self._SLOW, self._FAST, width))

    def forward(self, x: Tensor) -> Tensor:
        """What a causal convolution makes of x (N, width, length)."""
        length = x.shape[-1]
        waves = self.places[:length]
        for layer in self.layers:
            waves = torch.sin(self.frequency * layer(waves))
        moments = torch.linspace(0, 1, length, device=x.device)[:, None]
        values = (self.out(waves) * torch.exp(-moments * self.rates)).T
        padded = 2 * length  # so that the end of a text does not reach its beginning
        product = torch.fft.rfft(x, padded) * torch.fft.rfft(values, padded)
        out: Tensor = torch.fft.irfft(product, padded)[..., :length]
        return out + x * self.skip[:, None]


class _HyenaOperator(nn.Module):
    """Of order 2: a long convolution between two gates, after a short one of all three."""

    _SHORT = 3

    def __init__(self, width: int, length: int) -> None:
        super().__init__()
        self.project, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        before = self._SHORT - 1
        self.short = nn.Conv1d(3 * width, 3 * width, self._SHORT, padding=before, groups=3 * width)
        self.long = _LongFilter(width, length)

    def forward(self, x: Tensor) -> Tensor:
        mixed = self.short(self.project(x).transpose(1, 2))[..., : x.shape[1]]
        last, first, value = mixed.chunk(3, 1)
        out: Tensor = self.out((last * self.long(first * value)).transpose(1, 2))
        return out


class _Hyena(nn.Module):
    """A language model of Hyena operators and feed-forwards."""

    def __init__(self, width: int, layers: int, length: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(_WORDS, width)
        self.operators = nn.ModuleList(_HyenaOperator(width, length) for _ in range(layers))
        self.feeds = nn.ModuleList(
            nn.Sequential(nn.Linear(width, 2 * width), nn.GELU("tanh"), nn.Linear(2 * width, width))
            for _ in range(layers)
        )
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2 * layers + 1))

    def forward(self, words: Tensor) -> Tensor:
        """Scores of the words that follow each of (N, length) words."""
        x = self.embed(words)
        norms = iter(self.norms)
        for operator, feed in zip(self.operators, self.feeds, strict=True):
            x = x + operator(next(norms)(x))
            x = x + feed(next(norms)(x))
        return functional.linear(next(norms)(x), self.embed.weight)


class _GatedLinearAttention(nn.Module):
    """Each key forgets at a rate that the word decides; in the parallel form of the paper."""

    _HEADS = 4
    _RANK = 16  # of the layer that makes the rates
    _SLOWNESS = 16  # a rate is the 16th root of a gate, so that most of the past is kept

    def __init__(self, width: int) -> None:
        super().__init__()
        keys = width // 2
        self.query, self.key = (nn.Linear(width, keys, bias=False) for _ in range(2))
        self.value, self.gate, self.out = (nn.Linear(width, width, bias=False) for _ in range(3))
        self.forget = nn.Sequential(
            nn.Linear(width, self._RANK, bias=False), nn.Linear(self._RANK, keys)
        )
        self.norm = nn.RMSNorm(width // self._HEADS)

    def forward(self, x: Tensor) -> Tensor:
        rates = functional.logsigmoid(self.forget(x)) / self._SLOWNESS
        kept = self._split(rates).cumsum(-2).exp()
        query, key, value = (
            self._split(part) for part in (self.query(x), self.key(x), self.value(x))
        )
        scaled = query * query.shape[-1] ** -0.5
        weights = ((scaled * kept) @ (key / kept).transpose(-2, -1)).tril()
        seen = self.norm((weights @ value).transpose(1, 2)).flatten(2)
        out: Tensor = self.out(functional.silu(self.gate(x)) * seen)
        return out

    def _split(self, x: Tensor) -> Tensor:
        """The heads of x, shape (N, heads, length, width of a head)."""
        return x.view(*x.shape[:2], self._HEADS, -1).transpose(1, 2)


class _SwiGLU(nn.Module):
    def __init__(self, width: int, inner: int) -> None:
        super().__init__()
        self.gate, self.up = (nn.Linear(width, inner, bias=False) for _ in range(2))
        self.down = nn.Linear(inner, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.down(functional.silu(self.gate(x)) * self.up(x))
        return out


class _GLA(nn.Module):
    """A language model of gated linear attention and SwiGLU."""

    _VOCABULARY = 32_000  # of Mistral's tokenizer

    def __init__(self, width: int, inner: int, layers: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(self._VOCABULARY, width)
        self.attentions = nn.ModuleList(_GatedLinearAttention(width) for _ in range(layers))
        self.feeds = nn.ModuleList(_SwiGLU(width, inner) for _ in range(layers))
        self.norms = nn.ModuleList(nn.RMSNorm(width) for _ in range(2 * layers + 1))

    def forward(self, words: Tensor) -> Tensor:
        """Scores of the words that follow each of (N, length) words."""
        x = self.embed(words)
        norms = iter(self.norms)
        for attention, feed in zip(self.attentions, self.feeds, strict=True):
            x = x + attention(next(norms)(x))
            x = x + feed(next(norms)(x))
        return functional.linear(next(norms)(x), self.embed.weight)


class _Joined(nn.Module):
    """The sum of one embedding for each column of words."""

    def __init__(self, words: Sequence[int], width: int) -> None:
        super().__init__()
        self.columns = nn.ModuleList(nn.Embedding(count, width) for count in words)

    def forward(self, words: Tensor) -> Tensor:
        """Of words (..., columns), shape (..., width)."""
        column, *others = (each(words[..., at]) for at, each in enumerate(self.columns))
        total: Tensor = sum(others, start=column)
        return total


class _IsomorphismLayer(nn.Module):
    """GINE: an atom adds what its neighbours are and how it is joined to them."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width))

    def forward(self, x: Tensor, bonds: Tensor, edges: Tensor) -> tuple[Tensor, Tensor]:
        source, target = edges
        messages = functional.relu(x.index_select(0, source) + bonds)
        return x + self.layers(x + torch.zeros_like(x).index_add(0, target, messages)), bonds


class _GatedLayer(nn.Module):
    """GatedGCN: a bond decides how much of a neighbour an atom takes, and is changed itself."""

    _EPSILON: Final = 1e-6  # where an atom has no neighbour

    def __init__(self, width: int) -> None:
        super().__init__()
        self.own, self.taken, self.bond, self.target, self.source = (
            nn.Linear(width, width) for _ in range(5)
        )
        self.atom_norm, self.bond_norm = nn.BatchNorm1d(width), nn.BatchNorm1d(width)

    def forward(self, x: Tensor, bonds: Tensor, edges: Tensor) -> tuple[Tensor, Tensor]:
        source, target = edges
        joined = (
            self.target(x).index_select(0, target)
            + self.source(x).index_select(0, source)
            + self.bond(bonds)
        )
        gates = torch.sigmoid(joined)
        none = torch.zeros_like(x)
        taken = none.index_add(0, target, gates * self.taken(x).index_select(0, source))
        share = taken / (none.index_add(0, target, gates) + self._EPSILON)
        x = x + functional.relu(self.atom_norm(self.own(x) + share))
        return x, bonds + functional.relu(self.bond_norm(joined))


class _Attention(nn.Module):
    """Every token sees every other; `bias` is added to how much it sees."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.project, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x: Tensor, bias: Tensor | None = None) -> Tensor:
        parts = self.project(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        query, key, value = parts.unbind(0)
        seen = functional.scaled_dot_product_attention(query, key, value, bias)
        out: Tensor = self.out(seen.transpose(1, 2).flatten(2))
        return out


class _GPSLayer(nn.Module):
    """Neighbours and all atoms at once, side by side."""

    def __init__(self, width: int, heads: int, local: type[nn.Module]) -> None:
        super().__init__()
        self.local, self.all = local(width), _Attention(width, heads)
        self.local_norm, self.all_norm, self.norm = (nn.BatchNorm1d(width) for _ in range(3))
        self.feed = nn.Sequential(
            nn.Linear(width, 2 * width), nn.ReLU(), nn.Linear(2 * width, width)
        )

    def forward(self, x: Tensor, bonds: Tensor, edges: Tensor) -> tuple[Tensor, Tensor]:
        near, bonds = self.local(x, bonds, edges)
        far = self.all_norm(x + self.all(x[None])[0])
        x = self.local_norm(near) + far
        return self.norm(x + self.feed(x)), bonds


class _GPS(nn.Module):
    """A graph transformer of one molecule; random walks say where in it an atom stands."""

    _LOCAL: Final[Mapping[str, type[nn.Module]]] = {
        "gine": _IsomorphismLayer,
        "gated": _GatedLayer,
    }

    def __init__(
        self,
        width: int,
        layers: int,
        heads: int,
        local: str,
        atoms: Sequence[int],
        bonds: Sequence[int],
        walks: Sequence[int],
    ) -> None:
        super().__init__()
        steps, places = walks
        self.atoms, self.bonds = _Joined(atoms, width - places), _Joined(bonds, width)
        self.walk_norm, self.walk = nn.BatchNorm1d(steps), nn.Linear(steps, places)
        kind = self._LOCAL[local]
        self.layers = nn.ModuleList(_GPSLayer(width, heads, kind) for _ in range(layers))
        half, quarter = width // 2, width // 4
        self.head = nn.Sequential(
            nn.Linear(width, half),
            nn.ReLU(),
            nn.Linear(half, quarter),
            nn.ReLU(),
            nn.Linear(quarter, 1),
        )

    def forward(self, atoms: Tensor, walks: Tensor, bonds: Tensor, edges: Tensor) -> Tensor:
        """The property of the molecule.

        Args:
            atoms: Words that describe each atom, shape (atoms, columns).
            walks: How likely walks of each length return, shape (atoms, lengths).
            bonds: Words that describe each bond, shape (bonds, columns).
            edges: From and to which atom each bond leads, shape (2, bonds).
        """
        x = torch.cat((self.atoms(atoms), self.walk(self.walk_norm(walks))), 1)
        joined = self.bonds(bonds)
        for layer in self.layers:
            x, joined = layer(x, joined, edges)
        out: Tensor = self.head(x.sum(0, keepdim=True))
        return out


class _GraphBias(nn.Module):
    """How much an atom sees of another: by the length of the path between them, and its bonds."""

    _TOGETHER = 40  # longest path with a value of its own; chosen, as the released code has it

    def __init__(self, heads: int, bonds: int, far: int) -> None:
        super().__init__()
        self.lengths, self.bonds = nn.Embedding(far, heads), nn.Embedding(bonds, heads)
        self.steps = nn.Parameter(torch.zeros(self._TOGETHER, heads, heads))
        self.whole = nn.Parameter(torch.zeros(1, heads, 1, 1))

    def forward(self, lengths: Tensor, paths: Tensor) -> Tensor:
        """Shape (N, heads, 1 + atoms, 1 + atoms): a token of the whole molecule stands first."""
        along = self.bonds(paths).mean(-2)
        steps = self.steps[: along.shape[-2]]
        turned = torch.einsum("nijsh,shg->nijg", along, steps)
        bias = self.lengths(lengths) + turned / lengths.clamp(min=1).unsqueeze(-1)
        bias = bias.permute(0, 3, 1, 2)
        count, heads, atoms, _ = bias.shape
        column = self.whole.expand(count, heads, atoms, 1)
        row = self.whole.expand(count, heads, 1, atoms + 1)
        return torch.cat((row, torch.cat((column, bias), 3)), 2)


class _Graphormer(nn.Module):
    """A transformer of a molecule: degrees are added to atoms, paths to what they see."""

    def __init__(
        self,
        width: int,
        layers: int,
        heads: int,
        atoms: int,
        bonds: int,
        degrees: int,
        far: int,
    ) -> None:
        super().__init__()
        self.atoms = nn.Embedding(atoms, width)
        self.into, self.out_of = nn.Embedding(degrees, width), nn.Embedding(degrees, width)
        self.whole = nn.Parameter(torch.zeros(1, 1, width))
        self.bias = _GraphBias(heads, bonds, far)
        self.attentions = nn.ModuleList(_Attention(width, heads) for _ in range(layers))
        self.feeds = nn.ModuleList(
            nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.Linear(width, width))
            for _ in range(layers)
        )
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2 * layers + 1))
        self.head = nn.Linear(width, 1)

    def forward(self, atoms: Tensor, degrees: Tensor, lengths: Tensor, paths: Tensor) -> Tensor:
        """The property of each molecule.

        Args:
            atoms: Words that describe each atom, shape (N, atoms, columns).
            degrees: How many bonds lead to it, shape (N, atoms).
            lengths: Of the shortest path between two atoms, shape (N, atoms, atoms).
            paths: Words of the bonds along it, shape (N, atoms, atoms, steps, columns).
        """
        x = self.atoms(atoms).sum(-2) + self.into(degrees) + self.out_of(degrees)
        x = torch.cat((self.whole.expand(len(x), -1, -1), x), 1)
        bias = self.bias(lengths, paths)
        norms = iter(self.norms)
        for attention, feed in zip(self.attentions, self.feeds, strict=True):
            x = x + attention(next(norms)(x), bias)
            x = x + feed(next(norms)(x))
        out: Tensor = self.head(next(norms)(x)[:, 0])
        return out


NETWORKS: Final[Mapping[str, Callable[..., nn.Module]]] = {
    "gla": _GLA,
    "gps": _GPS,
    "graphormer": _Graphormer,
    "hyena": _Hyena,
    "retnet": _RetNet,
}
