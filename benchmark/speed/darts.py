"""Networks of the DARTS space: seconds from a spec to a labelled graph with its fingerprints.

Run: python -m benchmark speed darts [results.json]
"""

from collections.abc import Callable, Sequence

from darts_drawn import drawn

from benchmark.speed.measure import best_seconds, peak_memory_mib, report
from nar.graphs.fingerprints import fingerprinted
from nar.own import capture_architecture
from nar.zoo.selections import DARTS_DISTANCE
from nar.zoo.sources.darts.models import SEED, member_name
from nar.zoo.sources.darts.network import darts_graph, darts_network
from nar.zoo.sources.darts.sampling import Member, sample_classes

COUNT = 500


def row(
    name: str, members: Sequence[Member], work: Callable[[Member], object]
) -> dict[str, object]:
    seconds = best_seconds(lambda: [work(member) for member in members], 7) / len(members)
    return {"step": name, "us a network": f"{1e6 * seconds:.0f}", "a second": f"{1 / seconds:,.0f}"}


def main() -> None:
    members = sample_classes(COUNT, distance=DARTS_DISTANCE, seed=SEED)
    rows = [
        row("graph", members, lambda member: darts_graph(member.genotype)),
        row("graph and fingerprints", members, lambda member: darts_network(member.genotype)),
        row(
            "the same by the general way",
            members[::10],
            lambda member: fingerprinted(drawn(member.genotype, parameters=0, flops=0)),
        ),
        row(
            "from the spec to the row",
            members,
            lambda member: capture_architecture(member_name(member)),
        ),
    ]
    report(f"DARTS on one core (peak memory {peak_memory_mib():.0f} MiB)", rows)


if __name__ == "__main__":
    main()
