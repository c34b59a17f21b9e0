"""What decides a captured graph: code, libraries, the user's file. Unchanged, it stays valid.

Each source has a digest of its own, so that a new source, or another version of one library,
leaves all other captures as they are.
"""

import re
from collections.abc import Iterable
from functools import cache
from importlib import metadata
from pathlib import Path

from cluster.code import closure, closure_digest
from cluster.ledger import digest, file_digest
from nar.corpus import SCHEMA_VERSION
from nar.zoo import SOURCES, defining_module
from nar.zoo.libraries import EXTRA_OF
from nar.zoo.sources.file import SOURCE as FILE

ALWAYS = ("nar", "torch")
LABELS = "nar.labels"
CORPUS = "nar.corpus"
# Not what a graph is made of: the table that names every library, and labels, which `relabelled`
# brings up to date without a capture.
_APART = ("nar.zoo.libraries", LABELS)
_ZOO = "nar.zoo."
_FILE_MODULE = f"{_ZOO}sources.file"


def source_of(name: str) -> str:
    """The source of a spec; every file is of the source ``file``."""
    prefix = name.partition(":")[0]
    return prefix if prefix in SOURCES else FILE


def identity(name: str) -> str:
    """Digest of everything that decides what the capture of a model gives."""
    source = source_of(name)
    content = file_digest(_file_of(name)) if source == FILE else ""
    return digest(_source_identity(source), content)


def _file_of(name: str) -> Path:
    path = name.rpartition(":")[0]
    return Path(path if path.endswith(".py") else name)


@cache
def _source_identity(source: str) -> str:
    code = closure_digest(_module(source), without=_APART)
    versions = packages([source]).items()
    return digest(str(SCHEMA_VERSION), code, *(f"{name} {found}" for name, found in versions))


@cache
def labels_identity() -> str:
    """Digest of the reviewed tables that labels are read from."""
    return closure_digest(f"{LABELS}.families")


@cache
def files_identity() -> str:
    """Digest of everything but the rows that decides the bytes of a shard."""
    return digest(closure_digest(CORPUS, without=_APART), metadata.version("pyarrow"))


def packages(sources: Iterable[str]) -> dict[str, str]:
    """Version of each distribution that decides what the models of these sources are."""
    wanted = set(ALWAYS).union(*map(_distributions, sources))
    return {name: metadata.version(name) for name in sorted(wanted)}


@cache
def _distributions(source: str) -> frozenset[str]:
    """The installed model libraries that a source's modules name, and those that they require."""
    modules = closure(_module(source), without=_APART)
    texts = (code.texts for name, code in modules.items() if name.startswith(_ZOO))
    named = {text.partition(".")[0] for text in frozenset[str]().union(*texts)}
    providers = metadata.packages_distributions()
    found: set[str] = set()
    waiting = [dist for name in named & EXTRA_OF.keys() for dist in providers.get(name, ())]
    while waiting:
        distribution = waiting.pop()
        if distribution not in found:
            found.add(distribution)
            waiting.extend(_required(distribution))
    return frozenset(found)


def _required(distribution: str) -> list[str]:
    """The model libraries among the requirements of a distribution, extras left out."""
    lines = metadata.requires(distribution) or ()
    names = {_normal(re.split(r"[^\w.-]", line)[0]) for line in lines if "extra ==" not in line}
    return [dist for name, dist in _model_libraries().items() if name in names]


@cache
def _model_libraries() -> dict[str, str]:
    providers = metadata.packages_distributions()
    found = {dist for library in EXTRA_OF for dist in providers.get(library, ())}
    return {_normal(dist): dist for dist in sorted(found)}


def _normal(distribution: str) -> str:
    return re.sub(r"[-_.]+", "-", distribution).lower()


def _module(source: str) -> str:
    return _FILE_MODULE if source == FILE else defining_module(source)
