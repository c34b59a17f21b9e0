"""What a parameter of a name usually holds: the last evidence, and always said to be assumed.

Widths divide by the heads, images by patches, so that most structures can be built of them.
"""

import re
from dataclasses import dataclass
from typing import Any, Final

import numpy as np


class Discrete(int):
    """So many actions of which one is taken: as a library of control has them, and as their number.

    Its class has the name that code which chooses by it asks for; other code calls the bare number
    a space of actions.

    Attributes:
        shape: Of one action.
    """

    shape: tuple[int, ...] = ()

    def __new__(cls, n: int = 4) -> "Discrete":
        """The space of so many actions."""
        return super().__new__(cls, n)

    @property
    def n(self) -> int:
        """How many."""
        return int(self)

    def __repr__(self) -> str:
        return f"Discrete(n={self.n}, shape={self.shape})"

    __str__ = __repr__


@dataclass(frozen=True)
class Box:
    """Numbers between bounds, as actions or as what is observed.

    Attributes:
        shape: Of one of them.
    """

    shape: tuple[int, ...] = (4,)

    @property
    def high(self) -> np.ndarray:
        """The upper bounds."""
        return np.ones(self.shape, dtype=np.float32)

    @property
    def low(self) -> np.ndarray:
        """The lower bounds."""
        return -self.high


# Pattern of a whole name in lower case -> its usual value. The first that fits is taken.
_USUAL: Final[tuple[tuple[re.Pattern[str], Any], ...]] = tuple(
    (re.compile(pattern), value)
    for pattern, value in (
        (r"pad(ding)?_?(idx|id|index|token(_?id)?)$|_pad_idx$|^ignore_index$", 0),
        # Counts of what lies in data: the structure is the same with any.
        (r"^(n|num|m)_?(users?|items?|entit(y|ies)|ents?|relations?|rels?|nodes?|features_sparse)$"
         r"|(user|item|entity|relation|node)s?_?(num|count|n)$", 1000),
        (r"^max_action$|action_?(scale|limit|bound|range)$", 1.0),
        # Observations of control from pixels: three frames of 84 by 84, as in most of its code.
        (r"^(obs|observation|state)_shape$", (9, 84, 84)),
        (r"^(action|act)_shape$", (4,)),
        (r"^(action|act)_space$", Discrete()),
        (r"^(obs|observation|state)_space$", Box((8,))),
        # Of a person: what the sets of poses annotate most often.
        (r"(^|_)(num_?|n_?)?joints?($|_(in|out)$)", 17),
        # Vectors of words that were trained elsewhere: a thousand, of the usual three hundred.
        (r"^(pre_?trained_)?(words?_)?(emb(edding)?s?|vectors?)_?(matrix|mat|weights?|vectors?)$"
         r"|^pre_?trained_(emb(edding)?s?|vectors?)$|^(word|glove)_?vec(tor)?s?$",
         np.zeros((1000, 300), dtype=np.float32)),
        # Of a table: eight columns of a hundred values each, and two layers above them.
        (r"^(field|cat|category|categorical|sparse|feature|vocab)_(dims|sizes|counts)$"
         r"|^(cardinalities|categories)$", (100,) * 8),
        (r"^(mlp|fc|dnn|hidden|layer)s?_(dims|sizes)$", (64, 64)),
        (r"vocab|num_(tokens|embeddings)|n_(symbols|tokens|words)|ntokens?$", 1000),
        (r"^c_dim$|label_dim$|(layer|block|stage)_?(id|idx|index|i)$|^(idx|index|i)$|^layer$", 0),
        (r"drop|^p_|dropout_?p$", 0.1),
        (r"^(bias|use_bias|causal|bidirectional)$", True),
        (r"^alpha$", 0.2),
        (r"(layer_?norm_?|norm_?)?eps(ilon)?$", 1e-5),
        (r"^(padding|pad)$", 1),
        (r"^(stride|strides|dilation|groups|scale|expansion)$", 1),
        (r"patch_?size$", 16),
        (r"kernel_?sizes?$|^kernel$|^ks$|^k$", 3),
        (r"(image|img|input|crop)_?(size|resolution|dim)$|resolution$|sample_size$", 224),
        (r"num_?(class|labels|cls)$|n_?(class|labels)$|^nc$|classes$|class(es)?_(num|count)$", 10),
        (r"^device$", "cpu"),
        (r"(^|_)(n_?mels?|mels|mel_channels|num_mels|n_mel_channels|mel_bins?)$", 80),
        # Of a block in a residual network, which adds its input to what it makes of it.
        (r"^((in|num_in|out|num_out)_?)?planes?$", 64),
        (r"^(in|input|num_in|n|img|image)_?(channels?|chans|chs?|nc)$|^channels?$", 3),
        (r"^(out|output|num_out)_?(channels?|chans|chs?|nc)$", 64),
        (r"(context|seq|sequence|block|max|window|lookback|input)_?(len|length|seq_?len|positions?)",
         256),
        (r"block_size$|_ctx$|max_position|max_len", 256),
        (r"pred_?len$|horizon$|forecast", 96),
        (r"mlp_ratio|ffn_ratio", 4),
        (r"(kv|key_value)_?heads?$", 8),
        (r"(^|_)(num_?|n_?)?heads?$", 8),
        (r"(n|num)_?actions?$|(action|act)_?(dim|size)$", 4),
        (r"(state|obs|observation)_?(dim|size)$|^(n|num)_?(states?|obs)$", 8),
        (r"_state$", 512),
        (r"(latent|z|noise)_?(dim|size|channels)?$|^nz$", 100),
        (r"(^|_)(num_?|n_?)?(layers?|blocks?|depths?|stages?|res_?blocks?)$|^depth$", 4),
        (r"num_queries", 100),
        (r"num_experts$|n_experts$", 4),
        (r"top_?k$|experts_per_tok", 2),
        (r"n?_?feat(ures?)?s?$|fea(t|ture)?s?_(dim|size|len)$|^(enc|dec|c)_(in|out)$|input_(dim|size)$"
         r"|^(n|num)_?inputs?$", 64),
        (r"(mlp|ffn?|inner|intermediate|feedforward)_?(dim|size|channels?)$|d_ff$|d_inner$", 1024),
        (r"nhid(den)?$|hidden|^hid", 512),
        (r"^base(_?(width|channels?|dim|ch|c|planes))?$", 64),
        (r"^(n|m|f|c\d*|ch\d*|nf|ngf|ndf|nc\d)$", 64),
        (r"width$|dim$|d_?model$|n_embd$|^d$|embed|channels$|planes$|(_|^)size$", 512),
    )
)  # fmt: skip
# Chosen: what is divided by a count is often divided by two more than once.
_COUNTED: Final = re.compile(r"(n|nb|num|number_of|n_of)_[a-z]")
_COUNT: Final = 8  # can be divided by two three times
_SPACE: Final = re.compile(r"^(action|act|obs|observation|state)_space$")
# Types of annotations -> what is usual where the name tells nothing.
_BY_TYPE: Final[dict[object, Any]] = {bool: False, "bool": False}


class _Nothing:
    """Tells a value that nobody knows from None."""

    def __bool__(self) -> bool:
        return False


NOTHING: Final = _Nothing()


def usual_value(name: str, annotation: object = None) -> Any:  # noqa: ANN401
    """What a parameter of a name usually holds; `NOTHING` where its name tells nothing.

    Args:
        name: Of the parameter.
        annotation: Its type, if it has one: a number is given for no class.
    """
    plain = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
    is_number = annotation in (None, int, float, "int", "float") or _may_be_number(annotation)
    if is_number:
        for pattern, value in _USUAL:
            if pattern.search(plain):
                return value.copy() if isinstance(value, np.ndarray) else value
    elif _SPACE.search(plain):
        # Its annotation is a class of a library that may be missing.
        return next(value for pattern, value in _USUAL if pattern.search(plain))
    return _BY_TYPE.get(annotation, NOTHING) if isinstance(annotation, type | str) else NOTHING


def usual_count(name: str, annotation: object = None) -> Any:  # noqa: ANN401
    """How many of something there are where only its name says that it is a count.

    Args:
        name: Of the parameter: ``num_answers``.
        annotation: See `usual_value`.
    """
    is_number = annotation in (None, int, "int") or _may_be_number(annotation)
    return _COUNT if is_number and _COUNTED.match(name.lower()) else NOTHING


def _may_be_number(annotation: object) -> bool:
    return bool(re.search(r"\b(int|float|bool)\b", str(annotation)))
