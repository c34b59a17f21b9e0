"""Design cards: each field on small networks whose answer is known."""

from dataclasses import replace

import pytest
import torch
from graphs import bert, graph_of, resnet
from torch import nn
from torch.nn import functional

from nar.answers.design_card import DesignCard, card_words, design_card
from nar.answers.words import card_text
from nar.capture import capture_module
from nar.graphs.architecture import Labels, architecture


class Block(nn.Module):
    """A block of Llama: four heads on two of keys, rotary positions left out."""

    def __init__(self, width=32, heads=4, keys=2, norm=nn.RMSNorm, gated=True, causal=True):
        super().__init__()
        self.heads, self.keys, self.causal, self.gated = heads, keys, causal, gated
        size = width // heads
        self.before, self.between = norm(width), norm(width)
        self.query, self.key = nn.Linear(width, width), nn.Linear(width, keys * size)
        self.value, self.out = nn.Linear(width, keys * size), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 3 * width), nn.Linear(3 * width, width)
        self.gate = nn.Linear(width, 3 * width)

    def attend(self, x):
        query = self.query(x).unflatten(-1, (self.heads, -1)).transpose(1, 2)
        key = self.key(x).unflatten(-1, (self.keys, -1)).transpose(1, 2)
        value = self.value(x).unflatten(-1, (self.keys, -1)).transpose(1, 2)
        mixed = functional.scaled_dot_product_attention(
            query, key, value, is_causal=self.causal, enable_gqa=self.keys != self.heads
        )
        return self.out(mixed.transpose(1, 2).flatten(2))

    def forward(self, x):
        x = x + self.attend(self.before(x))
        inner = self.between(x)
        if self.gated:
            return x + self.down(functional.silu(self.gate(inner)) * self.up(inner))
        return x + self.down(functional.gelu(self.up(inner)))


class Model(nn.Module):
    """Tokens, learned positions or none, blocks, and scores of tokens."""

    def __init__(self, depth=3, positions=False, **how):
        super().__init__()
        self.table = nn.Embedding(50, 32)
        self.places = nn.Embedding(16, 32) if positions else None
        self.blocks = nn.ModuleList(Block(**how) for _ in range(depth))
        self.scores = nn.Linear(32, 50)

    def forward(self, tokens):
        x = self.table(tokens)
        if self.places is not None:
            x = x + self.places(torch.arange(tokens.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.scores(x)


def card_of(model, example):
    captured = capture_module(model, example)
    return design_card(captured.graph, captured.details)


TOKENS = torch.zeros(1, 8, dtype=torch.int64)


def test_a_decoder_with_grouped_keys_and_a_gated_mlp():
    card = card_of(Model(), TOKENS)
    assert (card.kind, card.depth, card.causal) == ("decoder-only", 3, True)
    assert (card.attention, card.heads, card.key_value_heads, card.head_size) == (
        "grouped",
        4,
        2,
        8,
    )
    assert (card.norm, card.norm_place) == ("rms", "pre")
    assert (card.mlp, card.mlp_ratio, card.activation) == ("gated", 3.0, "silu")
    assert (card.positions, card.stem, card.head) == (None, "tokens", "linear to 50")


def test_an_encoder_with_learned_positions_and_a_plain_mlp():
    how = {"norm": nn.LayerNorm, "gated": False, "causal": False, "keys": 4}
    card = card_of(Model(positions=True, **how), TOKENS)
    assert (card.kind, card.attention, card.positions) == ("encoder", "multi-head", "learned")
    assert (card.norm, card.mlp, card.activation) == ("layer", "plain", "gelu")


def test_one_key_for_all_heads():
    assert card_of(Model(keys=1), TOKENS).attention == "multi-query"


def test_weights_that_are_shared_by_all_blocks_count_each_time():
    model = Model(depth=1)
    model.blocks = nn.ModuleList([model.blocks[0]] * 5)
    assert card_of(model, TOKENS).depth == 5


def test_a_gate_of_squeeze_and_excitation_is_no_activation():
    class Squeezed(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = (nn.Conv2d(8, 8, 3, padding=1) for _ in range(2))
            self.norm = nn.BatchNorm2d(8)
            self.small, self.large = nn.Linear(8, 2), nn.Linear(2, 8)

        def forward(self, x):
            y = self.second(functional.relu(self.norm(self.first(x))))
            gate = self.large(functional.silu(self.small(y.mean((2, 3)))))
            return x + y * gate.sigmoid()[:, :, None, None]

    model = nn.Sequential(nn.Conv2d(3, 8, 7, 2), nn.Sequential(*(Squeezed() for _ in range(3))))
    card = card_of(model, torch.zeros(1, 3, 32, 32))
    assert (card.kind, card.depth, card.attention) == ("cnn", 3, "none")
    assert (card.activation, card.norm, card.norm_place) == ("relu", "batch", "layer")
    assert card.stem == "conv 7 of stride 2"


def test_stages_are_the_blocks_of_each():
    stages = nn.Sequential(*(
        nn.Sequential(*(nn.TransformerEncoderLayer(16, 2, 32, batch_first=True) for _ in range(n)))
        for n in (2, 3, 1)
    ))  # fmt: skip
    card = card_of(stages, torch.zeros(1, 4, 16))
    assert (card.depth, card.stages) == (6, (2, 3, 1))


def test_without_details_blocks_are_what_repeats():
    card = design_card(bert(5))
    assert (card.depth, card.norm, card.norm_place, card.activation) == (5, "layer", "post", "gelu")
    assert card.mlp == "plain"
    # Of a graph alone it is not known which places a query reads, nor how wide a layer is.
    assert (card.kind, card.causal, card.mlp_ratio) == (None, None, None)


def test_the_first_block_of_a_stage_counts_though_it_has_a_layer_more():
    card = design_card(resnet([3, 4, 6, 3]))
    assert (card.kind, card.depth, card.norm_place) == ("cnn", 16, "layer")


def test_nothing_is_said_of_a_network_that_repeats_nothing():
    card = design_card(graph_of("input; linear 0; relu 1; linear 2"))
    assert (card.depth, card.block, card.mlp) == (None, None, None)


def test_words_of_filters_are_empty_where_nothing_was_read():
    labels = Labels("mine:a", "mine", "-", "fam", "task")
    words = card_words(architecture(labels, graph_of("input; linear 0; relu 1; linear 2")))
    assert words == ("mlp", "", "relu", "", "none", "")


CARDS = {
    "A convolutional network of 16 blocks in stages of 3, 4, 6, 3: batch norm behind each layer, "
    "ReLU.": DesignCard(
        "cnn", 16, (3, 4, 6, 3), norm="batch", norm_place="layer", activation="relu",
        attention="none",
    ),
    "A decoder-only transformer of 32 blocks: RMS norm before each branch, causal grouped "
    "attention of 32 heads on 8 of keys in a window of 4,096, rotary positions, a mixture of 8 "
    "experts, tokens in, linear to 32,000 out.": DesignCard(
        "decoder-only", 32, norm="rms", norm_place="pre", attention="grouped", heads=32,
        key_value_heads=8, window=4_096, causal=True, positions="rotary", mlp="mixture", experts=8,
        stem="tokens", head="linear to 32,000",
    ),
    "A network: two-way attention of 4 heads.": DesignCard(
        attention="multi-head", heads=4, causal=False, head="none"
    ),
}  # fmt: skip


@pytest.mark.parametrize("text", CARDS)
def test_a_sentence_says_what_was_read(text):
    assert card_text(CARDS[text]) == text
    assert card_text(replace(CARDS[text], block="conv 3")) == text


class Bottleneck(nn.Module):
    """Two layers of one place, and one between them that may read its neighbours."""

    def __init__(self, inside, kernel, groups=1):
        super().__init__()
        self.first, self.last = nn.Conv2d(16, inside, 1), nn.Conv2d(inside, 16, 1)
        self.between = nn.Conv2d(inside, inside, kernel, padding=kernel // 2, groups=groups)

    def forward(self, x):
        return x + self.last(functional.relu(self.between(functional.relu(self.first(x)))))


class Pointwise(nn.Module):
    """The MLP of a ConvNeXt behind its depthwise convolution."""

    def __init__(self):
        super().__init__()
        self.mix = nn.Conv2d(16, 16, 7, padding=3, groups=16)
        self.first, self.last = nn.Conv2d(16, 64, 1), nn.Conv2d(64, 16, 1)

    def forward(self, x):
        return x + self.last(functional.gelu(self.first(self.mix(x))))


@pytest.mark.parametrize(
    ("block", "mlp"),
    [
        (lambda: Bottleneck(4, 3), (None, None)),
        (lambda: Bottleneck(8, 3, groups=2), (None, None)),
        (lambda: Bottleneck(64, 3, groups=64), (None, None)),
        (Pointwise, ("plain", 4.0)),
    ],
)
def test_a_bottleneck_mixes_places_and_is_no_mlp(block, mlp):
    model = nn.Sequential(nn.Conv2d(3, 16, 4, 4), nn.Sequential(*(block() for _ in range(3))))
    card = card_of(model, torch.zeros(1, 3, 32, 32))
    assert (card.mlp, card.mlp_ratio) == mlp
    assert ("MLP" in card_text(card)) == (mlp[0] is not None)


class Experts(nn.Module):
    """A token goes through some of its experts, which are one layer of many weights."""

    def __init__(self, experts, picked):
        super().__init__()
        self.picked = picked
        self.norm, self.router = nn.RMSNorm(32), nn.Linear(32, experts)
        self.up = nn.Parameter(torch.zeros(experts, 32, 64))
        self.down = nn.Parameter(torch.zeros(experts, 64, 32))

    def forward(self, x):
        tokens = self.norm(x).flatten(0, 1)
        weights, which = self.router(tokens).softmax(-1).topk(self.picked)
        inner = functional.silu(torch.einsum("td,tkdh->tkh", tokens, self.up[which]))
        mixed = torch.einsum("tkh,tkhd->tkd", inner, self.down[which])
        return x + (weights[..., None] * mixed).sum(1).view_as(x)


@pytest.mark.parametrize(("experts", "picked"), [(4, 2), (8, 1), (6, 3)])
def test_a_mixture_says_how_many_experts_a_token_goes_through(experts, picked):
    model = nn.Sequential(*(Experts(experts, picked) for _ in range(3)))
    card = card_of(model, torch.zeros(1, 8, 32))
    assert (card.mlp, card.experts, card.top_k) == ("mixture", experts, picked)
    assert f"{experts} experts, {picked} at a time" in card_text(card)


def test_the_layers_in_a_list_of_a_block_are_no_blocks():
    class Attends(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm = nn.RMSNorm(32)
            self.mixed = nn.MultiheadAttention(32, 4, batch_first=True)

        def forward(self, x):
            inner = self.norm(x)
            return x + self.mixed(inner, inner, inner, need_weights=False)[0]

    class Thinks(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm, self.up, self.down = nn.RMSNorm(32), nn.Linear(32, 64), nn.Linear(64, 32)

        def forward(self, x):
            return x + self.down(functional.relu(self.up(self.norm(x))))

    class Three(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.ModuleList([Attends(), Attends(), Thinks()])

        def forward(self, x):
            for layer in self.layer:
                x = layer(x)
            return x

    model = nn.Sequential(*(Three() for _ in range(4)))
    assert card_of(model, torch.zeros(1, 8, 32)).depth == 4


class Attended(nn.Module):
    """A convolution whose channels are weighed by two layers that read two poolings."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(16, 16, 3, padding=1)
        self.small, self.large = nn.Conv2d(16, 4, 1), nn.Conv2d(4, 16, 1)

    def weigh(self, pooled):
        return self.large(functional.relu(self.small(pooled)))

    def forward(self, x):
        y = self.conv(x)
        means = functional.adaptive_avg_pool2d(y, 1)
        largest = functional.adaptive_max_pool2d(y, 1)
        return x + y * torch.sigmoid(self.weigh(means) + self.weigh(largest))


class Gated(nn.Module):
    """A convolution over time, one half of which gates the other."""

    def __init__(self):
        super().__init__()
        self.read, self.back = nn.Conv1d(16, 32, 3, padding=1), nn.Conv1d(16, 16, 1)

    def forward(self, x):
        value, gate = self.read(x).chunk(2, 1)
        return x + self.back(torch.tanh(value) * torch.sigmoid(gate))


@pytest.mark.parametrize(("block", "places"), [(Attended, (8, 8)), (Gated, (32,))])
def test_what_weighs_channels_or_reads_neighbours_is_no_mlp(block, places):
    model = nn.Sequential(*(block() for _ in range(3)))
    assert card_of(model, torch.zeros(1, 16, *places)).mlp is None


def test_points_go_through_layers_and_their_largest_is_taken():
    class Points(nn.Module):
        def __init__(self):
            super().__init__()
            layers = [(nn.Conv1d(8, 8, 1), nn.BatchNorm1d(8), nn.ReLU()) for _ in range(4)]
            self.layers = nn.Sequential(*(each for layer in layers for each in layer))
            self.scores = nn.Linear(8, 40)

        def forward(self, x):
            return self.scores(self.layers(x).amax(2))

    card = card_of(Points().eval(), torch.zeros(1, 8, 32))
    assert (card.kind, card.head) == ("mlp", "max, linear to 40")


def test_a_projection_on_a_shortcut_is_no_mlp():
    class Projected(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.short = nn.Conv2d(8, 8, 3, padding=1), nn.Conv2d(8, 8, 1)

        def forward(self, x):
            return functional.relu(self.conv(x) + self.short(x))

    model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.Sequential(*(Projected() for _ in range(4))))
    assert card_of(model, torch.zeros(1, 3, 16, 16)).mlp is None


def test_of_a_map_that_is_put_together_the_head_is_a_convolution():
    class Mapped(nn.Module):
        def __init__(self):
            super().__init__()
            self.blocks = nn.Sequential(*(Bottleneck(8, 3) for _ in range(3)))
            self.each, self.scores = nn.Linear(16, 4), nn.Conv2d(4, 5, 3)

        def forward(self, x):
            features = self.each(self.blocks(x).flatten(2).transpose(1, 2))
            return self.scores(features.transpose(1, 2).unflatten(2, (8, 8)))

    assert card_of(Mapped(), torch.zeros(1, 16, 8, 8)).head is None
