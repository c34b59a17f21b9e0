"""Identities of captures: declared versions, and the content of a user's file.

Versions of the libraries, of the capture code (`nar.capture.CAPTURE_VERSION`) and of the source's
record (`Source.capture_version`) decide a captured graph. While they are unchanged, a capture stays
valid, wherever the code has moved.

Each source has an identity of its own, so that a new source, or another version of one library,
leaves all other captures as they are.
"""

from collections.abc import Iterable
from functools import cache
from importlib import metadata
from itertools import chain
from pathlib import Path

from cluster.ledger import digest, file_digest
from nar.base.asking import NOTHING_STATED, Asking
from nar.base.release import DISTRIBUTION
from nar.base.workspace import package_path
from nar.capture import CAPTURE_VERSION
from nar.corpus import SCHEMA_VERSION
from nar.graphs.normal_form import NORMAL_FORM_VERSION
from nar.own.files import SOURCE as FILE
from nar.zoo.sources import package_of, source_of


def source_name(spec: str) -> str:
    """The name of a spec's source; the source of every file is ``file``."""
    source = source_of(spec)
    return FILE if source is None else source.name


def stated_for(spec: str, asking: Asking) -> Asking:
    """What is stated of a model: of a user's own file alone, as libraries bring their inputs."""
    return asking if source_of(spec) is None else NOTHING_STATED


def identity(spec: str, asking: Asking = NOTHING_STATED) -> str:
    """Digest of everything that decides the capture of a model.

    Args:
        spec: The model.
        asking: What the user states of models of their own.
    """
    source = source_of(spec)
    if source is None:
        stated = [] if asking == NOTHING_STATED else [*asking.inputs, *sorted(asking.allowed)]
        versions = " ".join([FILE, file_digest(_file_of(spec)), *stated])
    else:
        versions = f"{source.name} {source.capture_version}"
    installed = _versions(("torch", *_libraries(source_name(spec))))
    return digest(
        f"capture {CAPTURE_VERSION}",
        f"schema {SCHEMA_VERSION}",
        versions,
        *(f"{name} {version}" for name, version in installed.items()),
    )


def _file_of(spec: str) -> Path:
    path = spec.rpartition(":")[0]
    return Path(path if path.endswith(".py") else spec)


@cache
def labels_identity() -> str:
    """Digest of the reviewed table from which families are read."""
    return digest(file_digest(package_path("labels", "families.yaml")))


@cache
def files_identity() -> str:
    """Digest of everything that decides the bytes of a shard, but its rows."""
    return digest(
        f"schema {SCHEMA_VERSION}",
        f"normal form {NORMAL_FORM_VERSION}",
        f"pyarrow {metadata.version('pyarrow')}",
    )


def packages(sources: Iterable[str]) -> dict[str, str]:
    """Version of each distribution that makes the models of some sources, NAR included."""
    return _versions((DISTRIBUTION, "torch", *chain.from_iterable(map(_libraries, sources))))


def _libraries(source: str) -> tuple[str, ...]:
    """Import names of the libraries that a source's models are built from."""
    record = source_of(source)
    return () if record is None else tuple(filter(None, (record.library, *record.parts)))


def _versions(libraries: Iterable[str]) -> dict[str, str]:
    """Version of each installed distribution that has any of the libraries."""
    installed = map(package_of, libraries)
    return dict(sorted(package for package in installed if package is not None))
