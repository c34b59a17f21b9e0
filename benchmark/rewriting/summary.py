"""The table of the protocol: rewrite by rewrite, how many models kept their graph."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from benchmark.reporting.markdown import markdown_table
from benchmark.rewriting.attempts import Missing, RewrittenArchitecture
from benchmark.rewriting.rewrite import Wanted
from nar.graphs.fingerprints import same_at_inference


@dataclass(slots=True)
class Row:
    """What one rewrite did.

    Attributes:
        rewrite: Its name.
        wanted: ``equal`` or ``near``.
        models: How many gave a graph.
        topology_equal: How many of these have the topology of their original.
        exact_equal: How many of these have its exact fingerprint, too.
        same_at_inference: How many are its network at inference, whatever graph they have.
        different: Model -> what differs, where the topology does.
        inexact: Model -> what differs, where the topology does not.
        failed: Model -> why its rewritten form could not be captured.
        skipped: Why a rewrite did not apply -> to how many models.
    """

    rewrite: str
    wanted: Wanted
    models: int = 0
    topology_equal: int = 0
    exact_equal: int = 0
    same_at_inference: int = 0
    different: dict[str, str] = field(default_factory=dict)
    inexact: dict[str, str] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    skipped: dict[str, int] = field(default_factory=dict)

    def add(self, item: RewrittenArchitecture | Missing) -> None:
        """Count one attempt."""
        if isinstance(item, RewrittenArchitecture):
            self._count(item)
        elif item.is_fault:
            self.failed[item.original] = item.reason
        else:
            self.skipped[item.reason] = self.skipped.get(item.reason, 0) + 1

    def _count(self, item: RewrittenArchitecture) -> None:
        self.models += 1
        self.topology_equal += item.has_equal_topology
        self.exact_equal += item.is_equal
        self.same_at_inference += same_at_inference(item.architecture, item.original)
        if not item.has_equal_topology:
            self.different[item.original.labels.name] = item.difference()
        elif not item.is_equal:
            self.inexact[item.original.labels.name] = item.difference()


def summary(items: Iterable[RewrittenArchitecture | Missing]) -> list[Row]:
    """One row for each rewrite, in the order of their first attempts."""
    rows: dict[str, Row] = {}
    for item in items:
        row = rows.setdefault(item.rewrite.name, Row(item.rewrite.name, item.rewrite.wanted))
        row.add(item)
    return list(rows.values())


def as_markdown(rows: Iterable[Row]) -> list[str]:
    """The lines of a table, as results and terminals show it."""
    columns = (
        "rewrite",
        "wanted",
        "models",
        "topology equal",
        "exact equal",
        "same at inference",
        "failed",
        "not applicable",
    )
    return markdown_table(columns, map(_line, rows)).splitlines()


def report(rows: Sequence[Row]) -> list[str]:
    """The table, then every model that should have kept its graph and did not."""
    lines = as_markdown(rows)
    for row in rows:
        if row.wanted == "equal":
            lines += [f"{row.rewrite}: {name}: {why}" for name, why in row.different.items()]
        lines += [f"{row.rewrite}: {name}: failed: {why}" for name, why in row.failed.items()]
    return lines


def _line(row: Row) -> list[str]:
    counts = (
        row.models,
        row.topology_equal,
        row.exact_equal,
        row.same_at_inference,
        len(row.failed),
        sum(row.skipped.values()),
    )
    return [row.rewrite, row.wanted, *map(str, counts)]
