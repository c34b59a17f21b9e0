"""Where architectures stand on a map: two columns beside the vectors of an atlas.

Neighbours in the space of the encoder are neighbours on the map: principal components, then t-SNE.
The same vectors give the same map.
"""

from functools import partial
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from nar.answers.atlas import MAP, Atlas, check_seal, damaged, seal
from nar.base.extras import missing_library
from nar.base.files import write_whole

# What scikit-learn advises before t-SNE: fewer dimensions mean less noise, and faster distances.
_COMPONENTS: Final = 50
# The default of scikit-learn: neighbours that a point keeps near.
_PERPLEXITY: Final = 30.0
# Any seed, always the same, so that the same vectors give the same map.
_SEED: Final = 0
_COLUMNS: Final = ("x", "y")


def coordinates(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Lay vectors out in the plane.

    Args:
        vectors: Shape (architectures, dim), of length 1.

    Returns:
        Shape (architectures, 2), within -1 and 1.

    Raises:
        MissingLibraryError: scikit-learn is not installed.

    Example:
        >>> corners = np.repeat(np.eye(3, dtype=np.float32), 8, axis=0)
        >>> points = coordinates(corners + np.float32(0.01) * np.arange(24)[:, None] % 0.05)
        >>> points.shape, bool(np.abs(points).max() <= 1)
        ((24, 2), True)
    """
    # It takes seconds to import, is needed to pack an atlas only, and comes with the extra `plots`.
    try:
        from sklearn.decomposition import PCA
        from sklearn.manifold import TSNE
    except ImportError as error:
        raise missing_library("sklearn") from error
    count, dim = vectors.shape
    components = min(_COMPONENTS, count, dim)
    reduced = PCA(components, svd_solver="randomized", random_state=_SEED).fit_transform(vectors)
    perplexity = min(_PERPLEXITY, (count - 1) / 3)
    # One thread: sums in another order would give another map.
    tsne = TSNE(perplexity=perplexity, init="pca", random_state=_SEED, n_jobs=1)
    points: NDArray[np.float32] = tsne.fit_transform(reduced).astype(np.float32)
    points -= (points.max(axis=0) + points.min(axis=0)) / 2
    farthest: float = np.abs(points).max()
    return (points / (farthest or 1.0)).astype(np.float32)


def write_map(atlas: Atlas, points: NDArray[np.float32]) -> None:
    """Keep a map beside the vectors, whole or not at all.

    Args:
        atlas: The atlas of the architectures.
        points: Shape (architectures, 2), in the order of the corpus.
    """
    table = pa.table(dict(zip(_COLUMNS, points.T, strict=True)))
    write_whole(_path(atlas), partial(pq.write_table, table, compression="zstd"))
    seal(atlas)


def read_map(atlas: Atlas) -> NDArray[np.float32] | None:
    """The map of an atlas, shape (architectures, 2); None if it has none.

    Raises:
        CorpusError: The map is damaged.
    """
    path = _path(atlas)
    if not path.exists():
        return None
    check_seal(path)
    try:
        table = pq.ParquetFile(path).read()
        columns = [table.column(name).to_numpy() for name in _COLUMNS]
    except (OSError, pa.ArrowException, KeyError) as error:
        raise damaged(path, error) from error
    return np.stack(columns, axis=1).astype(np.float32)


def _path(atlas: Atlas) -> Path:
    return atlas.directory / MAP
