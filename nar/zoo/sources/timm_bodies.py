"""Models of timm that other libraries put their heads on, each built once for all its heads."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from torch import nn

from nar.zoo.libraries import import_library

# The heads of one body follow each other: as it is, dilated twice, and as its readers try it.
KEPT = 8


@lru_cache(maxsize=KEPT)
def timm_body(model: str, **options: Any) -> nn.Module:  # noqa: ANN401
    """What `timm.create_model` gives, or gave before: heads read a body and leave it as it is.

    Without weights a capture of another head has nothing to tell two of them apart by.

    Args:
        model: timm's name of it.
        options: As `timm.create_model` takes them, hashable.
    """
    body: nn.Module = import_library("timm.models").create_model(model, **options)
    return body


@contextmanager
def bodies_built_once() -> Iterator[None]:
    """Inside, a library that calls `timm.create_model` gets `timm_body`."""
    timm: Any = import_library("timm")
    create_model = timm.create_model
    timm.create_model = timm_body
    try:
        yield
    finally:
        timm.create_model = create_model
