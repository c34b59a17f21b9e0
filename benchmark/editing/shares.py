"""Parts of random shares: runs of nodes of known models, drawn by a hash of the model's name.

The shares of `benchmark.editing.parts` are seven fixed ones, to which a ranking can be fitted. They
need no capture, so that no file keeps them: the graphs of the corpus are cut.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

from benchmark.editing.parts import run
from benchmark.rewriting.rewrite import NotApplicableError
from benchmark.tasks.asking import SHARES
from benchmark.tasks.splits import order
from nar.graphs.architecture import Architecture, architecture

# A share of nodes is drawn in each of these, of equal width: with all of them, between 0.2 and 0.9.
BANDS: Final = ((0.2, 0.43), (0.43, 0.67), (0.67, 0.9))
_SEED: Final = 0
_DRAWN_BYTES: Final = 8


def shares_of(originals: Iterable[Architecture]) -> Iterator[Architecture]:
    """Of each model a part in every band, called ``<original>@share_<band in percent>``.

    Where nothing but inputs would stay, or the part is the whole, there is none.
    """
    for original in originals:
        for least, most in BANDS:
            name = f"{original.labels.name}@share_{least:.0%}_to_{most:.0%}".replace("%", "")
            share = least + (most - least) * _drawn(f"{name} share")
            begin = (1 - share) * _drawn(f"{name} begin")
            try:
                graph = run(original.graph, begin=begin, end=begin + share)
            except NotApplicableError:
                continue
            yield architecture(replace(original.labels, name=name, source=SHARES), graph)


def _drawn(what: str) -> float:
    """A number from 0 to 1 that depends on a name alone."""
    drawn = int.from_bytes(order(_SEED, what)[:_DRAWN_BYTES], "big")
    return drawn / float(1 << 8 * _DRAWN_BYTES)
