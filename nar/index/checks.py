"""Checks of rows before they are written, and of keys before they are looked up."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from nar.base.errors import InvalidInputError, InvalidQueryError
from nar.base.own_labels import written
from nar.index.filters import is_count, text_fault
from nar.index.rows import (
    COUNTS,
    FINGERPRINTS,
    OWN,
    TEXT_BYTES,
    Embedding,
    IndexRow,
    architecture_id,
    is_fingerprint,
    is_id,
)

# Chosen: well inside the range of float32. A square of a length beyond 1e-19 or 1e19 vanishes or
# overflows, and a cosine loses its digits before that.
MIN_NORM: Final = 1e-6
# Chosen as the inverse of the least length.
MAX_NORM: Final = 1e6


def check_rows(rows: Sequence[IndexRow], dim: int) -> None:
    """Refuse what the index would store wrongly or not at all.

    Raises:
        InvalidInputError: Names the row and field at fault: ``rows[3].embedding``.
    """
    seen: set[str] = set()
    for position, row in enumerate(rows):
        fault = _field_fault(row) or _embedding_fault(row.embedding, dim)
        if fault is None and row.id in seen:
            fault = ("id", f"{row.name!r} is there twice in one batch")
        if fault:
            at, reason = fault
            raise InvalidInputError(f"rows[{position}].{at}", reason)
        seen.add(row.id)


def _field_fault(row: IndexRow) -> tuple[str, str] | None:
    for column, limit in TEXT_BYTES.items():
        fault = text_fault(getattr(row, column), limit)
        if fault:
            return column, fault
    for column in COUNTS:
        if not is_count(getattr(row, column)):
            return column, f"wanted a whole number from 0 to 2^63-1, came {getattr(row, column)!r}"
    for column in FINGERPRINTS:
        if not is_fingerprint(getattr(row, column)):
            return column, f"wanted 64 hexadecimal digits, came {getattr(row, column)!r}"
    try:
        if written(row.labels) != row.own:
            return OWN, "wanted labels as `nar.base.own_labels` writes them, came others"
    except InvalidInputError as error:
        return error.field, error.reason
    if row.id != architecture_id(row.name):
        return "id", f"wanted {architecture_id(row.name)}, the id of its name, came {row.id!r}"
    return None


def _embedding_fault(embedding: Embedding, dim: int) -> tuple[str, str] | None:
    if embedding.shape != (dim,) or embedding.dtype != np.float32:
        came = f"{embedding.dtype} of shape {embedding.shape}"
        return "embedding", f"wanted float32 of shape ({dim},), came {came}"
    finite = np.isfinite(embedding)
    if not finite.all():
        first = int(np.argmin(finite))
        return f"embedding[{first}]", f"wanted a finite number, came {embedding[first]}"
    norm = float(np.linalg.norm(embedding.astype(np.float64)))
    if not MIN_NORM <= norm <= MAX_NORM:
        wanted = f"from {MIN_NORM:g} to {MAX_NORM:g}"
        return "embedding", f"wanted a length {wanted}, came {norm:g}"
    return None


def check_ids(ids: Sequence[str]) -> None:
    """Refuse texts that are no ids.

    Raises:
        InvalidQueryError: Names the first: ``ids[3]``.
    """
    for position, key in enumerate(ids):
        if not is_id(key):
            reason = f"wanted 32 hexadecimal digits, came {key!r}"
            raise InvalidQueryError(f"ids[{position}]", reason)


def check_fingerprints(field: str, values: Sequence[str]) -> None:
    """Refuse texts that are no fingerprints.

    Raises:
        InvalidQueryError: Names the first: ``topology[3]``.
    """
    for position, value in enumerate(values):
        if not is_fingerprint(value):
            reason = f"wanted 64 hexadecimal digits, came {value!r}"
            raise InvalidQueryError(f"{field}[{position}]", reason)


def check_page(after: str, limit: int) -> None:
    """Refuse a page that begins behind no id, or has no rows.

    Raises:
        InvalidQueryError: Names the argument.
    """
    if after and not is_id(after):
        raise InvalidQueryError("after", f"wanted 32 hexadecimal digits or none, came {after!r}")
    if limit < 1:
        raise InvalidQueryError("limit", f"wanted at least 1, came {limit}")
