"""The corpus that ships, and whether what is captured today is what it holds."""

from collections import defaultdict

import pytest

from nar.capture import CAPTURE_VERSION
from nar.corpus import Corpus, shipped_corpus
from nar.corpus.manifest import Manifest


@pytest.fixture(scope="session")
def cards():
    """Source -> name -> card."""
    by_source = defaultdict(dict)
    for card in Corpus(shipped_corpus()).cards():
        by_source[card.labels.source][card.labels.name] = card
    return by_source


@pytest.fixture(scope="session")
def manifest():
    return Manifest.read(shipped_corpus())


@pytest.fixture(scope="session")
def check_as_shipped(cards, manifest):
    """A function that compares an architecture that was captured with its card."""

    def check(item):
        card = cards[item.labels.source][item.labels.name]
        assert (item.labels, item.parameters) == (card.labels, card.parameters)
        # Another version of capture says that graphs may differ: then only what they are is held.
        if manifest.capture_version == CAPTURE_VERSION:
            graphs = (item.exact, item.topology, item.flops)
            assert graphs == (card.exact, card.topology, card.flops)

    return check
