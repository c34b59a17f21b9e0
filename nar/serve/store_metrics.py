"""What Prometheus learns of the store behind a server: asked for at each scrape."""

from collections.abc import Iterator, Mapping
from typing import Protocol

from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    InfoMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from nar.base.errors import NarError
from nar.index.state import ERRORS, IndexState


class Watched(Protocol):
    """What is shown of an index: a `Reader` or an `ArchitectureIndex`."""

    @property
    def state(self) -> IndexState:
        """Where the rows are."""

    @property
    def agreed_s(self) -> float:
        """When what answers was last known to be what is published; NaN before."""

    @property
    def errors(self) -> Mapping[str, int]:
        """How many calls to the store have failed, by kind."""


class StoreMetrics(Collector):
    """The metrics of the store of one server.

    Args:
        index: What is asked.
    """

    def __init__(self, index: Watched) -> None:
        self._index = index

    def collect(self) -> Iterator[Metric]:
        """One value of each metric, without a call to the store."""
        yield self._whose_rows()
        yield GaugeMetricFamily(
            "nar_index_agreed_timestamp_seconds",
            "When what answers was last found to be what the store holds; NaN before.",
            value=self._index.agreed_s,
        )
        failed = CounterMetricFamily(
            "nar_store_errors", "Calls to the store that failed, by kind.", labels=("kind",)
        )
        errors = self._index.errors
        for kind in ERRORS:
            failed.add_metric([kind], errors.get(kind, 0))
        yield failed

    def _whose_rows(self) -> Metric:
        """Which collection is served, and what answers of it; nothing before there is one.

        Kinds are ``files``, those of the atlas alone; ``memory``, which holds the rows of the
        collection; and ``store``, which is asked for every search.
        """
        info = InfoMetricFamily(
            "nar_index", "Collection that is served, and what answers of it.", labels=()
        )
        try:
            state = self._index.state
        except NarError:
            return info
        held = "memory" if state.is_in_memory else "store"
        kind = held if state.collection else "files"
        info.add_metric((), {"collection": state.collection, "kind": kind})
        return info
