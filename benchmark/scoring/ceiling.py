"""What a perfect ranking could reach: it knows what is right, but equal graphs get equal vectors.

Two networks of one graph that are called differently cannot be told apart by any encoder, whether
they ask or answer. The rest is lost by the encoder.
"""

import numpy as np
from scipy.sparse import coo_array, csr_array

from benchmark.protocol.questions import Numbers, Questions
from benchmark.scoring.ranking import DEPTH, NOBODY, Ranking


def best_ranking(asked: Questions, same: Numbers, *, depth: int = DEPTH) -> Ranking:
    """Rank by what answers are worth, mean over queries and answers of the same graph; then by id.

    Args:
        asked: The questions.
        same: Shape (items,), from 0: items of one number have equal graphs.
        depth: How many answers are kept.
    """
    queries = np.flatnonzero(asked.queries)
    whose, group = np.unique(same[queries], return_inverse=True)
    worth = csr_array(_mean_over(group, len(whose)) @ asked.gains)
    alike = _mean_over(same, int(same.max()) + 1)
    spread = csr_array((worth @ alike.T) @ (alike > 0).astype(np.float32))
    by_id = np.argsort(np.array(asked.ids))
    by_id = by_id[asked.gallery[by_id]]
    items = np.full((len(queries), min(depth, len(by_id))), NOBODY, dtype=np.int32)
    for row, query in enumerate(queries.tolist()):
        scores = np.zeros(len(same), dtype=np.float32)
        start, end = spread.indptr[group[row] : group[row] + 2]
        scores[spread.indices[start:end]] = spread.data[start:end]
        answers = by_id[asked.apart[by_id] != asked.apart[query]]
        best = answers[np.argsort(-scores[answers], kind="stable")][: items.shape[1]]
        items[row, : len(best)] = best
    return Ranking(asked.digest(), queries, items, np.zeros(len(queries), dtype=np.float32))


def _mean_over(groups: Numbers, count: int) -> csr_array:
    """Means over items of a group: shape (count, items)."""
    weight = (1 / np.bincount(groups, minlength=count))[groups].astype(np.float32)
    shape = (count, len(groups))
    return coo_array((weight, (groups, np.arange(len(groups)))), shape=shape).tocsr()
