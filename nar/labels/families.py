"""One family name across libraries, from the module or type that defines a model.

Below stand the labels of the paper, for the protocol that stands beside its printed tables.
"""

import re
from dataclasses import dataclass
from functools import cache

from nar.base.workspace import package_yaml

_NO_WORD = re.compile(r"[^a-z0-9]+")


def family_of(library: str, defining: str, entrypoint: str = "") -> str:
    """The family of a model.

    Args:
        library: Import name of the library: ``timm``, ``torchvision``, ``transformers``, ...
        defining: What the library's code calls it: its module, model type, class or decoder.
        entrypoint: The name it is registered under, where one module holds several families.

    Returns:
        The reviewed name, or ``defining`` in lower case with ``_`` where the table has none.
    """
    if entrypoint:
        refined = _longest_listed(entrypoints().get(library, {}), snake_case(entrypoint))
        if refined:
            return refined
    plain = snake_case(defining)
    return definings().get(library, {}).get(plain, plain)


def snake_case(name: str) -> str:
    """A name in lower case, with one ``_`` for every run of other than letters and digits."""
    return _NO_WORD.sub("_", name.lower()).strip("_")


def definings() -> dict[str, dict[str, str]]:
    """Library -> defining name, in snake case -> family."""
    return _tables()[0]


def entrypoints() -> dict[str, dict[str, str]]:
    """Library -> entry point or beginning of one, in snake case -> family."""
    return _tables()[1]


def _longest_listed(families: dict[str, str], name: str) -> str | None:
    """The family of the longest key that ``name`` is, or that it continues without a letter."""
    for length in range(len(name), 0, -1):
        whole = length == len(name) or not name[length].isalpha()
        if whole and name[:length] in families:
            return families[name[:length]]
    return None


@cache
def _tables() -> tuple[dict[str, dict[str, str]], dict[str, dict[str, str]]]:
    raw = package_yaml("labels", "families.yaml")
    by_defining = {
        library: {snake_case(name): family for name, family in rows.items()}
        for library, rows in raw["defining"].items()
    }
    by_entrypoint = {
        library: {snake_case(name): family for family, names in rows.items() for name in names}
        for library, rows in raw["entrypoints"].items()
    }
    return by_defining, by_entrypoint


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
