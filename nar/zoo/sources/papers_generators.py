"""Networks that draw pictures out of noise or word by word, or imagine what comes next.

Transformers that denoise (U-ViT, JiT, LightningDiT, DDT) or continue a picture (VAR, MAR), and
models of worlds: that of 2018, and DreamerV3. `nar.zoo.sources.papers` names them;
``papers_nets.yaml`` cites the papers.
"""

from collections.abc import Callable, Mapping
from itertools import pairwise
from math import log
from typing import Final

import torch
from torch import Tensor, nn
from torch.nn import functional

_CLASSES = 1000  # of ImageNet
_WAVES = 256  # numbers that say how noisy a picture is


def _waves(times: Tensor, width: int) -> Tensor:
    """Cosines and sines of each time, shape (..., width)."""
    half = width // 2
    rates = torch.exp(-log(10_000.0) * torch.arange(half, device=times.device) / half)
    angles = times[..., None] * rates
    return torch.cat((angles.cos(), angles.sin()), -1)


def _moment(width: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(_WAVES, width), nn.SiLU(), nn.Linear(width, width))


def _picture(patches: Tensor, channels: int, side: int) -> Tensor:
    """The picture whose square patches stand side by side, shape (N, channels, height, width)."""
    patch = int((patches.shape[-1] // channels) ** 0.5)
    grid = patches.reshape(-1, side, side, patch, patch, channels)
    return grid.permute(0, 5, 1, 3, 2, 4).reshape(-1, channels, side * patch, side * patch)


class _Attention(nn.Module):
    """Every token sees every other; the parts of a head may be normed, and turned by its place."""

    def __init__(self, width: int, heads: int, *, bias: bool = True, normed: bool = False) -> None:
        super().__init__()
        self.heads = heads
        self.project, self.out = nn.Linear(width, 3 * width, bias=bias), nn.Linear(width, width)
        head = width // heads
        self.query_norm, self.key_norm = (
            nn.RMSNorm(head) if normed else nn.Identity() for _ in range(2)
        )

    def forward(self, x: Tensor, turns: tuple[Tensor, Tensor] | None = None) -> Tensor:
        parts = self.project(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        query, key, value = parts.unbind(0)
        query, key = self.query_norm(query), self.key_norm(key)
        if turns is not None:
            query, key = _turned(query, *turns), _turned(key, *turns)
        seen = functional.scaled_dot_product_attention(query, key, value)
        out: Tensor = self.out(seen.transpose(1, 2).flatten(2))
        return out


def _turned(x: Tensor, sin: Tensor, cos: Tensor) -> Tensor:
    """Rotary positions: the two halves of each head, turned against each other."""
    one, other = x.chunk(2, -1)
    return x * cos + torch.cat((-other, one), -1) * sin


def _turns(side: int, head: int, before: int, like: Tensor) -> tuple[Tensor, Tensor]:
    """Sines and cosines of the rows and columns of a square, after tokens that do not turn."""
    quarter = head // 4
    rates = 10_000.0 ** -(torch.arange(quarter, device=like.device) / quarter)
    angles = torch.outer(torch.arange(side, device=like.device).float(), rates)
    rows, columns = angles[:, None].expand(-1, side, -1), angles[None].expand(side, -1, -1)
    square = torch.cat((rows, columns), -1).flatten(0, 1)
    square = functional.pad(torch.cat((square, square), -1), (0, 0, before, 0))
    return square.sin(), square.cos()


class _Feed(nn.Sequential):
    def __init__(self, width: int, *, tanh: bool = False) -> None:
        gelu = nn.GELU("tanh" if tanh else "none")
        super().__init__(nn.Linear(width, 4 * width), gelu, nn.Linear(4 * width, width))


class _SwiGLU(nn.Module):
    def __init__(self, width: int, *, bias: bool = True) -> None:
        super().__init__()
        inner = int(4 * width * 2 / 3)
        self.both = nn.Linear(width, 2 * inner, bias=bias)
        self.down = nn.Linear(inner, width, bias=bias)

    def forward(self, x: Tensor) -> Tensor:
        gate, up = self.both(x).chunk(2, -1)
        out: Tensor = self.down(functional.silu(gate) * up)
        return out


class _SkipBlock(nn.Module):
    """A layer of a transformer that may first join what an earlier one saw."""

    def __init__(self, width: int, heads: int, *, joins: bool = False, bias: bool = False) -> None:
        super().__init__()
        self.join = nn.Linear(2 * width, width) if joins else None
        self.attention, self.feed = _Attention(width, heads, bias=bias), _Feed(width)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))

    def forward(self, x: Tensor, past: Tensor | None = None) -> Tensor:
        if self.join is not None and past is not None:
            x = self.join(torch.cat((x, past), -1))
        x = x + self.attention(self.norms[0](x))
        out: Tensor = x + self.feed(self.norms[1](x))
        return out


class _UViT(nn.Module):
    """U-ViT: time and class are tokens beside the patches, and late layers see early ones."""

    def __init__(
        self,
        width: int,
        layers: int,
        heads: int,
        channels: int,
        side: int,
        patch: int,
        classes: int,
    ) -> None:
        super().__init__()
        self.width, self.channels, self.grid = width, channels, side // patch
        self.patches = nn.Conv2d(channels, width, patch, patch)
        self.classes = nn.Embedding(classes, width) if classes else None
        self.before = 2 if classes else 1
        self.places = nn.Parameter(torch.zeros(1, self.before + self.grid**2, width))
        half = layers // 2
        self.early = nn.ModuleList(_SkipBlock(width, heads) for _ in range(half))
        self.middle = _SkipBlock(width, heads)
        self.late = nn.ModuleList(_SkipBlock(width, heads, joins=True) for _ in range(half))
        self.norm, self.out = nn.LayerNorm(width), nn.Linear(width, patch**2 * channels)
        self.last = nn.Conv2d(channels, channels, 3, padding=1)

    def forward(self, picture: Tensor, times: Tensor, classes: Tensor | None = None) -> Tensor:
        """The noise in (N, channels, side, side) pictures of N times and classes."""
        tokens = [_waves(times, self.width)[:, None], self.patches(picture).flatten(2).mT]
        if self.classes is not None and classes is not None:
            tokens.insert(0, self.classes(classes)[:, None])
        x = torch.cat(tokens, 1) + self.places
        seen = []
        for block in self.early:
            x = block(x)
            seen.append(x)
        x = self.middle(x)
        for block in self.late:
            x = block(x, seen.pop())
        patches = self.out(self.norm(x)[:, self.before :])
        out: Tensor = self.last(_picture(patches, self.channels, self.grid))
        return out


class _ShiftedBlock(nn.Module):
    """A layer whose norms are scaled, shifted and gated by what the picture is to become."""

    def __init__(
        self,
        width: int,
        norm: Callable[[int], nn.Module],
        attention: nn.Module,
        feed: nn.Module,
    ) -> None:
        super().__init__()
        self.attention, self.feed = attention, feed
        self.norms = nn.ModuleList(norm(width) for _ in range(2))
        self.shifts = nn.Linear(width, 6 * width)

    def forward(self, x: Tensor, wanted: Tensor, seen: Tensor | tuple[Tensor, Tensor]) -> Tensor:
        """The tokens after this layer.

        Args:
            x: Tokens, shape (N, tokens, width).
            wanted: What they are to become, of the same shape or (N, 1, width) for all of them.
            seen: What the attention reads beside the tokens: turns, or who sees whom.
        """
        parts = self.shifts(functional.silu(wanted)).chunk(6, -1)
        shift, scale, gate, feed_shift, feed_scale, feed_gate = parts
        x = x + gate * self.attention(self.norms[0](x) * (1 + scale) + shift, seen)
        out: Tensor = x + feed_gate * self.feed(self.norms[1](x) * (1 + feed_scale) + feed_shift)
        return out


class _ShiftedEnd(nn.Module):
    def __init__(self, norm: nn.Module, width: int, out: int) -> None:
        super().__init__()
        self.norm, self.shifts, self.out = norm, nn.Linear(width, 2 * width), nn.Linear(width, out)

    def forward(self, x: Tensor, wanted: Tensor) -> Tensor:
        shift, scale = self.shifts(functional.silu(wanted)).chunk(2, -1)
        out: Tensor = self.out(self.norm(x) * (1 + scale) + shift)
        return out


class _ModernDiT(nn.Module):
    """DiT with RMS norms, SwiGLU and rotary positions: LightningDiT, and JiT on plain pixels.

    Args:
        width: Channels of a token.
        layers: How many.
        heads: Of each.
        channels: Of a picture, or of what stands for one.
        side: Of a picture.
        patch: Side of a patch.
        narrow: Channels through which patches pass first; 0: none.
        context: Before which layer the class enters as tokens, too; 0: nowhere.
        normed: Whether queries and keys are normed.
    """

    _CONTEXT: Final = 32  # tokens of the class

    def __init__(
        self,
        width: int,
        layers: int,
        heads: int,
        channels: int,
        side: int,
        patch: int,
        narrow: int,
        context: int,
        *,
        normed: bool,
    ) -> None:
        super().__init__()
        self.channels, self.grid, self.head, self.context = (
            channels,
            side // patch,
            width // heads,
            context,
        )
        self.patches: nn.Module = nn.Conv2d(
            channels, narrow or width, patch, patch, bias=not narrow
        )
        if narrow:
            self.patches = nn.Sequential(self.patches, nn.Conv2d(narrow, width, 1))
        self.places = nn.Buffer(torch.zeros(1, self.grid**2, width))
        self.moment, self.classes = _moment(width), nn.Embedding(_CLASSES + 1, width)
        if context:
            self.tokens = nn.Parameter(torch.zeros(1, self._CONTEXT, width))
        self.blocks = nn.ModuleList(
            _ShiftedBlock(
                width, nn.RMSNorm, _Attention(width, heads, normed=normed), _SwiGLU(width)
            )
            for _ in range(layers)
        )
        self.end = _ShiftedEnd(nn.RMSNorm(width), width, patch**2 * channels)

    def forward(self, picture: Tensor, times: Tensor, classes: Tensor) -> Tensor:
        """What (N, channels, side, side) pictures of N times are to become."""
        name = self.classes(classes)[:, None]
        wanted = self.moment(_waves(times, _WAVES))[:, None] + name
        x = self.patches(picture).flatten(2).mT + self.places
        turns = _turns(self.grid, self.head, 0, x)
        for step, block in enumerate(self.blocks):
            if self.context and step == self.context:
                x = torch.cat((name + self.tokens, x), 1)
                turns = _turns(self.grid, self.head, self._CONTEXT, x)
            x = block(x, wanted, turns)
        x = x[:, x.shape[1] - self.grid**2 :]
        return _picture(self.end(x, wanted), self.channels, self.grid)


class _DDT(nn.Module):
    """DDT: some layers find out what the picture is to become, the others draw it."""

    _CHANNELS, _SIDE, _PATCH = 4, 32, 2

    def __init__(self, width: int, heads: int, seeing: int, drawing: int) -> None:
        super().__init__()
        self.head, self.grid = width // heads, self._SIDE // self._PATCH
        values = self._PATCH**2 * self._CHANNELS
        self.seen, self.drawn = nn.Linear(values, width), nn.Linear(values, width)
        self.moment, self.classes = _moment(width), nn.Embedding(_CLASSES + 1, width)

        def block() -> nn.Module:
            attention = _Attention(width, heads, bias=False, normed=True)
            return _ShiftedBlock(width, nn.RMSNorm, attention, _SwiGLU(width, bias=False))

        self.seeing = nn.ModuleList(block() for _ in range(seeing))
        self.drawing = nn.ModuleList(block() for _ in range(drawing))
        norm = nn.LayerNorm(width, elementwise_affine=False)
        self.end = _ShiftedEnd(norm, width, values)

    def forward(self, picture: Tensor, times: Tensor, classes: Tensor) -> Tensor:
        """Where (N, 4, 32, 32) pictures of N times are to move."""
        unfolded = functional.unfold(picture, self._PATCH, stride=self._PATCH)
        patches = unfolded.mT
        turns = _turns(self.grid, self.head, 0, picture)
        moment = self.moment(_waves(times, _WAVES))[:, None]
        wanted, name = self.seen(patches), moment + self.classes(classes)[:, None]
        for block in self.seeing:
            wanted = block(wanted, name, turns)
        wanted, x = moment + wanted, self.drawn(patches)
        for block in self.drawing:
            x = block(x, wanted, turns)
        return functional.fold(
            self.end(x, wanted).mT, (self._SIDE, self._SIDE), self._PATCH, stride=self._PATCH
        )


class _CosineAttention(nn.Module):
    """Attention by the angle between query and key; a token sees its own scale and coarser ones."""

    _SHARPEST: Final = log(100)

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.project, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.sharpness = nn.Parameter(torch.zeros(1, heads, 1, 1))

    def forward(self, x: Tensor, seen: Tensor) -> Tensor:
        parts = self.project(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        query, key, value = parts.unbind(0)
        query = functional.normalize(query, dim=-1) * self.sharpness.clamp(max=self._SHARPEST).exp()
        key = functional.normalize(key, dim=-1)
        found = functional.scaled_dot_product_attention(
            query, key, value, attn_mask=seen, scale=1.0
        )
        out: Tensor = self.out(found.transpose(1, 2).flatten(2))
        return out


class _VAR(nn.Module):
    """VAR: a picture is continued scale by scale, all words of a scale at once."""

    _SIDES: Final = (1, 2, 3, 4, 5, 6, 8, 10, 13, 16)
    _WORDS, _WORD = 4096, 32  # of its picture language, and the width of one
    _HEAD = 64  # channels; a network has as many heads as layers

    def __init__(self, layers: int) -> None:
        super().__init__()
        width = self._HEAD * layers
        length = sum(side**2 for side in self._SIDES)
        self.words = nn.Linear(self._WORD, width)
        self.classes = nn.Embedding(_CLASSES + 1, width)
        self.start = nn.Parameter(torch.zeros(1, 1, width))
        self.places = nn.Parameter(torch.zeros(1, length, width))
        self.scales = nn.Embedding(len(self._SIDES), width)
        self.blocks = nn.ModuleList(
            _ShiftedBlock(
                width,
                _plain_norm,
                _CosineAttention(width, layers),
                _Feed(width, tanh=True),
            )
            for _ in range(layers)
        )
        self.end = _ShiftedEnd(_plain_norm(width), width, self._WORDS)

    def forward(self, words: Tensor, classes: Tensor) -> Tensor:
        """Scores of all words of (N, 679, 32) words, from the second scale on, and N classes."""
        name = self.classes(classes)[:, None]
        counts = torch.tensor([side**2 for side in self._SIDES], device=words.device)
        steps = torch.arange(len(self._SIDES), device=words.device)
        length = self.places.shape[1]
        scale = steps.repeat_interleave(counts, output_size=length)
        x = torch.cat((name + self.start, self.words(words)), 1)
        x = x + self.scales(scale) + self.places
        seen = scale[:, None] >= scale[None]
        for block in self.blocks:
            x = block(x, name, seen)
        out: Tensor = self.end(x, name)
        return out


def _plain_norm(width: int) -> nn.Module:
    return nn.LayerNorm(width, elementwise_affine=False)


class _ShiftedFeed(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm, self.shifts = nn.LayerNorm(width), nn.Linear(width, 3 * width)
        self.feed = nn.Sequential(nn.Linear(width, width), nn.SiLU(), nn.Linear(width, width))

    def forward(self, x: Tensor, wanted: Tensor) -> Tensor:
        shift, scale, gate = self.shifts(functional.silu(wanted)).chunk(3, -1)
        out: Tensor = x + gate * self.feed(self.norm(x) * (1 + scale) + shift)
        return out


class _MAR(nn.Module):
    """MAR: a masked autoencoder says of each token what a small network draws out of noise."""

    _TOKENS, _CHANNELS = 256, 16
    _CLASS = 64  # tokens of the class

    def __init__(self, width: int, layers: int, heads: int, drawn: int, drawing: int) -> None:
        super().__init__()
        length = self._TOKENS + self._CLASS
        self.classes, self.tokens = nn.Embedding(_CLASSES, width), nn.Linear(self._CHANNELS, width)
        self.first_norm = nn.LayerNorm(width)
        self.encoder = nn.ModuleList(_SkipBlock(width, heads, bias=True) for _ in range(layers))
        self.decoder = nn.ModuleList(_SkipBlock(width, heads, bias=True) for _ in range(layers))
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.between, self.masked = nn.Linear(width, width), nn.Parameter(torch.zeros(1, 1, width))
        self.places, self.decoded = (nn.Parameter(torch.zeros(1, length, width)) for _ in range(2))
        self.last = nn.Parameter(torch.zeros(1, self._TOKENS, width))
        self.moment, self.wanted = _moment(drawn), nn.Linear(width, drawn)
        self.noisy = nn.Linear(self._CHANNELS, drawn)
        self.drawing = nn.ModuleList(_ShiftedFeed(drawn) for _ in range(drawing))
        self.end = _ShiftedEnd(_plain_norm(drawn), drawn, 2 * self._CHANNELS)

    def forward(
        self, picture: Tensor, known: Tensor, classes: Tensor, noisy: Tensor, times: Tensor
    ) -> Tensor:
        """What each noisy token is to become, and how sure that is.

        Args:
            picture: Tokens, shape (N, 256, 16).
            known: Which of them are given, shape (known,).
            classes: Shape (N,).
            noisy: Tokens in the middle of being drawn, shape (N, 256, 16).
            times: How noisy they are, shape (N, 256).
        """
        name = self.classes(classes)[:, None].expand(-1, self._CLASS, -1)
        x = self.first_norm(torch.cat((name, self.tokens(picture)), 1) + self.places)
        given = torch.arange(self._CLASS, device=known.device)
        given = torch.cat((given, known + self._CLASS))
        x = x.index_select(1, given)
        for block in self.encoder:
            x = block(x)
        x = self.between(self.norms[0](x))
        masked = self.masked.expand(len(x), self.places.shape[1], -1)
        x = masked.index_copy(1, given, x) + self.decoded
        for block in self.decoder:
            x = block(x)
        x = self.norms[1](x)[:, self._CLASS :] + self.last
        wanted = self.moment(_waves(times, _WAVES)) + self.wanted(x)
        drawn = self.noisy(noisy)
        for block in self.drawing:
            drawn = block(drawn, wanted)
        out: Tensor = self.end(drawn, wanted)
        return out


class _WorldVision(nn.Module):
    """World Models, V: a picture becomes a few numbers, and these a picture again."""

    def __init__(self, code: int) -> None:
        super().__init__()
        down: list[nn.Module] = []
        for into, out in pairwise((3, 32, 64, 128, 256)):
            down += [nn.Conv2d(into, out, 4, 2), nn.ReLU()]
        self.down = nn.Sequential(*down, nn.Flatten())
        inner = 256 * 2 * 2
        self.mean, self.spread = nn.Linear(inner, code), nn.Linear(inner, code)
        self.widen = nn.Linear(code, inner)
        up: list[nn.Module] = []
        widths = pairwise((inner, 128, 64, 32, 3))
        for (into, out), kernel in zip(widths, (5, 5, 6, 6), strict=True):
            up += [nn.ConvTranspose2d(into, out, kernel, 2), nn.ReLU()]
        self.up = nn.Sequential(*up[:-1], nn.Sigmoid())

    def forward(self, picture: Tensor, noise: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """(N, 3, 64, 64) pictures as drawn again, and the mean and spread of their codes."""
        x = self.down(picture)
        mean, spread = self.mean(x), self.spread(x)
        code = mean + torch.exp(spread / 2) * noise
        return self.up(self.widen(code)[..., None, None]), mean, spread


class _WorldMemory(nn.Module):
    """World Models, M: which codes may come next, as mixtures of Gaussians."""

    _MIXED = 5

    def __init__(self, code: int, acts: int, inner: int, more: int) -> None:
        super().__init__()
        self.more = more
        self.layers = nn.LSTM(code + acts, inner, batch_first=True)
        self.out = nn.Linear(inner, 3 * self._MIXED * code + more)

    def forward(self, codes: Tensor) -> tuple[Tensor, ...]:
        """Log weights, means, log spreads, and further results, of codes and acts (N, T, in)."""
        x = self.out(self.layers(codes)[0])
        mixtures, more = x[..., self.more :], x[..., : self.more]
        parts = mixtures.reshape(*mixtures.shape[:-1], -1, 3 * self._MIXED)
        weights, means, spreads = parts.chunk(3, -1)
        found = weights - torch.logsumexp(weights, -1, keepdim=True), means, spreads
        return (*found, more) if self.more else found


class _Blocks(nn.Module):
    """A linear layer of eight groups of channels, each by itself."""

    _GROUPS = 8

    def __init__(self, into: int, out: int) -> None:
        super().__init__()
        groups = self._GROUPS
        self.weight = nn.Parameter(torch.zeros(groups, into // groups, out // groups))
        self.bias = nn.Parameter(torch.zeros(out))

    def forward(self, x: Tensor) -> Tensor:
        """Of x (N, groups, into / groups), shape (N, out)."""
        return torch.einsum("ngi,gio->ngo", x, self.weight).flatten(1) + self.bias


class _Normed(nn.Sequential):
    """A layer, an RMS norm and SiLU."""

    def __init__(self, layer: nn.Module, width: int) -> None:
        super().__init__(layer, nn.RMSNorm(width), nn.SiLU())


class _ChannelNorm(nn.Module):
    """An RMS norm over the channels of a map, and SiLU."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.RMSNorm(width)

    def forward(self, x: Tensor) -> Tensor:
        return functional.silu(self.norm(x.movedim(1, -1)).movedim(-1, 1))


def _stack(into: int, width: int, layers: int, out: int) -> nn.Sequential:
    """Layers of one width, and what they say in the end."""
    widths = [into, *([width] * layers)]
    inner = (_Normed(nn.Linear(one, two), two) for one, two in pairwise(widths))
    return nn.Sequential(*inner, nn.Linear(width, out))


class _Dynamics(nn.Module):
    """RSSM of DreamerV3: a recurrent state, and chosen words that stand for what is seen."""

    _WORDS = 32  # words of a state

    def __init__(self, state: int, inner: int, choices: int, acts: int, seen: int) -> None:
        super().__init__()
        self.choices = choices
        words = self._WORDS * choices
        self.reads = nn.ModuleList(
            _Normed(nn.Linear(into, inner), inner) for into in (state, words, acts)
        )
        groups = _Blocks._GROUPS
        self.mixes = _Normed(_Blocks(state + 3 * inner * groups, state), state)
        self.gates = _Blocks(state, 3 * state)
        self.sees = _stack(state + seen, inner, 1, words)
        self.expects = _stack(state, inner, 2, words)

    def forward(
        self, state: Tensor, words: Tensor, acts: Tensor, seen: Tensor, luck: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The next state, words chosen in it, and the scores of the words that were expected."""
        groups = _Blocks._GROUPS
        read = [each(part) for each, part in zip(self.reads, (state, words, acts), strict=True)]
        shared = torch.cat(read, -1)[:, None].expand(-1, groups, -1)
        parts = torch.cat((state.view(len(state), groups, -1), shared), -1)
        mixed = self.mixes(parts).view(len(state), groups, -1)
        gates = self.gates(mixed).view(-1, groups, 3, state.shape[1] // groups)
        reset, new, update = (gates[:, :, part].flatten(1) for part in range(3))
        new, update = torch.tanh(torch.sigmoid(reset) * new), torch.sigmoid(update - 1)
        state = update * new + (1 - update) * state
        scores = self.sees(torch.cat((state, seen), -1)).view(-1, self._WORDS, self.choices)
        chosen = (functional.log_softmax(scores, -1) + luck).argmax(-1)
        words = functional.one_hot(chosen, self.choices).to(state.dtype).flatten(1)
        return state, words, self.expects(state)


class _Dreamer(nn.Module):
    """DreamerV3: a world model that sees, remembers and draws, and an actor and a critic of it."""

    _WIDER: Final = (2, 3, 4, 4)  # channels of the maps
    _KERNEL, _COARSE = 5, 4  # and the side of the last map
    _ACTS, _BINS = 18, 255  # keys of an Atari console; steps of a value

    def __init__(self, state: int, inner: int, choices: int, depth: int, units: int) -> None:
        super().__init__()
        widths = [3, *(depth * each for each in self._WIDER)]
        down: list[nn.Module] = []
        for into, out in pairwise(widths):
            down += [self._conv(into, out), nn.MaxPool2d(2), _ChannelNorm(out)]
        self.down = nn.Sequential(*down, nn.Flatten())
        seen = widths[-1] * self._COARSE**2
        self.dynamics = _Dynamics(state, inner, choices, self._ACTS, seen)
        words = _Dynamics._WORDS * choices
        self.drawn = _Blocks(state, seen)
        self.named = nn.Sequential(
            _Normed(nn.Linear(words, 2 * units), 2 * units), nn.Linear(2 * units, seen)
        )
        up: list[nn.Module] = [_ChannelNorm(widths[-1])]
        for into, out in pairwise(reversed(widths)):
            up += [nn.Upsample(scale_factor=2), self._conv(into, out), _ChannelNorm(out)]
        self.up = nn.Sequential(*up[:-1], nn.Sigmoid())
        heads = {"reward": (1, self._BINS), "goes_on": (1, 1)}
        heads |= {"actor": (3, self._ACTS), "critic": (3, self._BINS)}
        self.heads = nn.ModuleDict(
            {name: _stack(state + words, units, *sizes) for name, sizes in heads.items()}
        )

    def _conv(self, into: int, out: int) -> nn.Module:
        return nn.Conv2d(into, out, self._KERNEL, padding=self._KERNEL // 2)

    def forward(
        self, picture: Tensor, state: Tensor, words: Tensor, acts: Tensor, luck: Tensor
    ) -> tuple[Tensor, ...]:
        """One step: state, words, what was expected, the picture again, and what heads say.

        Args:
            picture: What is seen, shape (N, 3, 64, 64).
            state: What is remembered, shape (N, state).
            words: What was seen before, shape (N, 32 * choices).
            acts: What was done, shape (N, 18).
            luck: Gumbel noise, by which words are chosen, shape (N, 32, choices).
        """
        state, words, expected = self.dynamics(state, words, acts, self.down(picture), luck)
        groups, side = _Blocks._GROUPS, self._COARSE
        drawn = self.drawn(state.view(len(state), groups, -1)) + self.named(words)
        again = self.up(drawn.view(len(state), -1, side, side))
        known = torch.cat((state, words), -1)
        return state, words, expected, again, *(head(known) for head in self.heads.values())


NETWORKS: Final[Mapping[str, Callable[..., nn.Module]]] = {
    "ddt": _DDT,
    "dreamer": _Dreamer,
    "mar": _MAR,
    "modern_dit": _ModernDiT,
    "u_vit": _UViT,
    "var": _VAR,
    "world_memory": _WorldMemory,
    "world_vision": _WorldVision,
}
