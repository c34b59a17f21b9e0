"""The labels of the NAR paper: regular expressions on the name of an architecture (section 4.1).

A re-implementation from the description, for the protocol that stands beside the printed tables.
The paper names three hints, ``former``, ``conv`` and ``roberta``, and three blocks. Running the
published code on names showed two more, ``class`` and ``dog``. The other hints are ours, for names
that would otherwise all be unknown.

Names are bad labels, and these are kept bad on purpose. Known to be wrong:

- ``conv``, ``class`` and ``dog`` are tried first: ConvBERT, a text classifier and a ViT for dog
  breeds are ``cnn-block``.
- DenseNet, EfficientNet, VGG, Inception, MobileNet, U-Net, ELECTRA, Pegasus and Whisper have no
  hint, so they are ``unknown`` and ``other``.
- Hints match inside words: a PoolFormer, which attends to nothing, is a ``former``. (The published
  code finds no hint in SegFormer; by the paper's own words it has one.)

Only that protocol may use these labels: `nar.labels.families` has what is known of a family.
"""

import re
from dataclasses import dataclass

UNKNOWN = "unknown"
CNN_BLOCK = "cnn-block"
ATTENTION_BLOCK = "attention-block"
OTHER = "other"


@dataclass(frozen=True, slots=True)
class _Hint:
    """A fine-grained class: what finds it in a name, and the block it is mapped to."""

    family: str
    pattern: re.Pattern[str]
    block: str


# The first hint that matches names the class.
_HINTS = (
    _Hint("conv", re.compile("conv|class|dog"), CNN_BLOCK),
    _Hint("resnet", re.compile("resne[xs]?t"), CNN_BLOCK),
    _Hint("roberta", re.compile("roberta"), ATTENTION_BLOCK),
    _Hint("bert", re.compile("bert"), ATTENTION_BLOCK),
    _Hint("former", re.compile("former"), ATTENTION_BLOCK),
    _Hint("vit", re.compile(r"(?<![a-z])(vit|deit|beit)"), ATTENTION_BLOCK),
    _Hint("swin", re.compile("swin"), ATTENTION_BLOCK),
    _Hint("gpt", re.compile("gpt"), ATTENTION_BLOCK),
    _Hint("t5", re.compile(r"t5(?![0-9])"), ATTENTION_BLOCK),
    _Hint("bart", re.compile("bart"), ATTENTION_BLOCK),
    _Hint("wav2vec", re.compile("wav2vec"), ATTENTION_BLOCK),
)


def paper_family(name: str) -> str:
    """The fine-grained class that the paper would read out of a name, or `UNKNOWN`.

    Args:
        name: Name of an architecture, such as ``timm:resnet50``.
    """
    hint = _hint(name)
    return UNKNOWN if hint is None else hint.family


def paper_block(name: str) -> str:
    """The coarse class: `CNN_BLOCK`, `ATTENTION_BLOCK` or `OTHER`."""
    hint = _hint(name)
    return OTHER if hint is None else hint.block


def _hint(name: str) -> _Hint | None:
    plain = _published_name(name)
    return next((hint for hint in _HINTS if hint.pattern.search(plain)), None)


def _published_name(name: str) -> str:
    """The part that corresponds to the repository names of the paper: no source, no class."""
    source, _, rest = name.rpartition(":")
    pair, _, checkpoint = rest.partition("@")
    if checkpoint:
        return checkpoint.lower()
    return (pair.partition("/")[0] if source == "transformers" else rest).lower()
