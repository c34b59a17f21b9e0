"""One family name across libraries, from the module or type that defines a model."""

import re
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
