"""What the name of an input says of its kind."""

import re
from collections.abc import Mapping
from typing import Final

from nar.own.inputs.slots import Kind

# The first pattern that is found in a name in small letters decides.
_PATTERNS: Final[Mapping[str, Kind]] = {
    r"^(encoder_hidden_states|context|memory|prompt_embeds?|text_embeds?|encoder_outputs?|"
    r"inputs_embeds|hidden_states)$": Kind.SEQUENCE,
    r"^(t|ts|time|times|timesteps?|time_?steps?|sigmas?|noise_levels?|noise_labels?|steps?|"
    r"log_snr|noise_cond|guidance(_scale)?)$": Kind.STEP,
    r"^(y|labels?|class_labels?|classes|cls|class_ids?)$": Kind.LABEL,
    r"(^|_)masks?$|padding": Kind.MASK,
    r"(^|_)(lengths?|lens?)$": Kind.LENGTHS,
    # Sizes and places that a model reads, such as the size of an image before it was cut.
    r"^(original|target|crops?)_(sizes?|coords?\w*)$|^(added_)?time_ids$": Kind.PAIR,
    r"edge_index$|^(edges|ei|adj_t)$": Kind.EDGES,
    r"^(edge_attr|edge_weight|edge_features?|ea|edge_feats?)$": Kind.EDGE_FEATURES,
    r"^(adj|adjacency|adj_matrix|a_hat)$": Kind.ADJACENCY,
    r"(input_)?ids$|^tokens?$|^texts?(_inputs?)?$|_tokens$|^words$|^caption.*|"
    r"^sentences?$": Kind.IDS,
    r"^(wav|wavs|wave|waveforms?|audio|mix|mixture|raw_audio|signal|speech|noisy|"
    r"sound)$": Kind.WAVE,
    r"(^|_)(videos?|clips?)(_|$)|^frames$": Kind.VIDEO,
    r"^(z|noise|latents?|latent_code)$|^pooled|_pooled|^global_": Kind.VECTOR,
    r"(^|_)(imgs?|images?|pixels|picture)(_?\d|_values|_tensor)?$": Kind.IMAGE,
}
_COMPILED: Final = tuple((re.compile(pattern), kind) for pattern, kind in _PATTERNS.items())
# Integers by custom: a schedule's index, not a time in [0, 1].
_WHOLE_STEP: Final = re.compile(r"^time_?steps?$")
_OF_GRAPHS: Final = re.compile(r"edge_index$|^(ei|adj_t|adj|edges)$")
_STATES: Final = re.compile(r"^(prev(ious)?_|last_)?(hidden(_states?)?|states?|hx|hc|h_c)$")
_TEXTS: Final = re.compile(r"text|caption|sentence|words")
_GRAPH_IDS: Final = re.compile(r"^(batch|b|batch_index|graph_ids?)$")


def kind_by_name(name: str) -> Kind | None:
    """The kind that a name says, if it says one.

    Example:
        >>> kind_by_name("input_ids"), kind_by_name("x")
        (<Kind.IDS: 'token ids'>, None)
    """
    low = name.lower()
    return next((kind for pattern, kind in _COMPILED if pattern.search(low)), None)


def is_whole_step(name: str) -> bool:
    """Whether a name means a step that is counted in integers."""
    return _WHOLE_STEP.search(name.lower()) is not None


def names_graph(name: str) -> bool:
    """Whether only a module of graphs has an input of this name."""
    return _OF_GRAPHS.search(name.lower()) is not None


def names_graph_ids(name: str) -> bool:
    """Whether an input of this name, in a module of graphs, says the graph of each node."""
    return _GRAPH_IDS.search(name.lower()) is not None


def names_text(name: str) -> bool:
    """Whether an input of this name is a text, and no coordinates."""
    return _TEXTS.search(name.lower()) is not None


def names_states(name: str) -> bool:
    """Whether an input of this name, in a recurrent module, is its states before a step."""
    return _STATES.search(name.lower()) is not None
