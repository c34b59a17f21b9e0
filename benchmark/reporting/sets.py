"""Sets of cells that are run together: one for each table of results."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal, Self

from benchmark.cells import Cell
from benchmark.methods.default import ABLATIONS, TRIALS
from benchmark.methods.macro import VARIANTS
from benchmark.tasks.datasets import NAS, REAL
from benchmark.tasks.frozen import SEEDS
from benchmark.tasks.task import Held, find_protocol
from nar.base.errors import InvalidInputError

BASELINES: Final = (
    "random",
    "size",
    "operators",
    "codes-1-presence",
    "codes-2-presence",
    "codes-3-presence",
    "codes-2-log-counts",
    "codes-2-idf",
    "untrained-sum",
    "gin-untrained",
    "gcn-untrained",
    "gat-untrained",
    "paper-untrained",
    "default-untrained",
    "linear",
    "gin",
    "gcn",
    "gat",
    "gin-ours",
    "gcn-ours",
    "gat-ours",
)
SPLITTINGS: Final = (
    "paper-untrained",
    "paper-node-number",
    "paper-motif-number",
    "paper-random",
    "paper",
)
LOSSES: Final = (
    "paper-untrained",
    "paper-printed-cl",
    "paper-printed",
    "paper-ce",
    "paper-cl",
    "paper",
)
TRANSFER: Final = ("paper-untrained", "paper-from-nas", "paper")
# What is asked at every distance of the curve: the best untrained baselines, whatever learns with
# our recipe, and ours.
CURVE: Final = (
    "operators",
    "codes-2-presence",
    "codes-2-log-counts",
    "default-untrained",
    "linear",
    "gin-ours",
    "gcn-ours",
    "gat-ours",
    "paper",
    "default",
)
# Parts that do little on real architectures.
NAS_ABLATIONS: Final = (
    "no-motif-stage",
    "no-attributes",
    "no-motif-types",
    "no-paths",
)
MAPS: Final = ("gcn", "gat", "default")
EVERY: Final = (*BASELINES, "paper-printed", "paper", "default")
# Rows to compare with of which one cell takes minutes, and every seed of every split days; and the
# same ones untrained, so that both are compared with the same seeds.
NETWORKS: Final = frozenset(
    name + kind
    for name, kinds in {
        "gin": ("", "-ours", "-untrained"),
        "gcn": ("", "-ours", "-untrained"),
        "gat": ("", "-ours", "-untrained"),
        "paper": ("", "-printed", "-untrained"),
    }.items()
    for kind in kinds
)

Shown = Literal["table", "curve", "maps"]


@dataclass(frozen=True, slots=True)
class CellSet:
    """The cells behind one table or figure.

    Attributes:
        title: Of the table.
        tasks: Data set and protocol of each part.
        methods: Rows of each part.
        printed: Number of the paper's table that is shown beside it; None if it has none.
        shows: What becomes of the cells: a table, the curve of the NAS distances, or maps.
        seeds: One to draw, all to pool.
        network_seeds: With how many of them `NETWORKS` are run; tables say so beside their names.
        held: Who asks: the test, or what selects a model.
    """

    title: str
    tasks: tuple[tuple[str, str], ...]
    methods: tuple[str, ...]
    printed: int | None = None
    shows: tuple[Shown, ...] = ("table",)
    seeds: tuple[int, ...] = SEEDS
    network_seeds: int = 2
    held: Held = "test"

    def of_splits(self, splits: Collection[str]) -> Self:
        """The same with the tasks of some splits alone; with all of them if none is named."""
        kept = (each for each in self.tasks if not splits or find_protocol(*each).split in splits)
        return replace(self, tasks=tuple(kept))

    def cells(self) -> list[Cell]:
        """Every method that learned the split of a task, with its seeds; each once."""
        every = (
            cell
            for data, protocol in self.tasks
            for method in self.methods
            for cell in self.cells_of(data, protocol, method)
        )
        return list(dict.fromkeys(every))

    def cells_of(self, data: str, protocol: str, method: str) -> list[Cell]:
        """A method that learned the split of a task, with every seed that it is run with."""
        split = find_protocol(data, protocol).split
        seeds = self.seeds[: self.network_seeds] if method in NETWORKS else self.seeds
        return [Cell(data, split, method, seed, self.held) for seed in seeds]


_PRINTED_TASKS: Final = ((REAL, "paper"), ("nas-4", "nas"))


def _tracks(split: str) -> tuple[tuple[str, str], ...]:
    """Named first, all together last."""
    tracks = ["named", "named-relatives-unjudged"]
    tracks += ["composed-decoder", "composed-encoder", "composed", "all"]
    if split == "unseen":
        tracks.insert(5, "composed-both")
    return tuple((REAL, f"{split}-{track}") for track in tracks)


def _changed(source: str) -> tuple[tuple[str, str], ...]:
    """With the originals known, then with their families held out."""
    protocols = (f"{source}-original", f"{source}-family")
    held_out = (f"{name}-unseen" for name in protocols)
    return tuple((REAL, name) for name in (*protocols, *held_out))


# What settings are chosen by.
SELECTED_ON: Final = (
    (REAL, "distinct-named"),
    (REAL, "distinct-composed-decoder"),
    (REAL, "distinct-composed-encoder"),
    (REAL, "unseen-named"),
    (REAL, "unseen-composed"),
    (REAL, "lineage-parents"),
    (REAL, "twins"),
    (REAL, "rewrites"),
    (REAL, "rewrites-design"),
    (REAL, "edits-original"),
    (REAL, "edits-family"),
    (REAL, "edits-family-unseen"),
    (REAL, "parts-original"),
    (REAL, "parts-family"),
    (REAL, "parts-family-unseen"),
)

SETS: Final[Mapping[str, CellSet]] = {
    "table1": CellSet(
        "Table 1: comparison with baselines", _PRINTED_TASKS, EVERY, 1, network_seeds=1
    ),
    "table2": CellSet("Table 2: ways of splitting", _PRINTED_TASKS, SPLITTINGS, 2, seeds=SEEDS[:1]),
    "table3": CellSet("Table 3: parts of the loss", _PRINTED_TASKS, LOSSES, 3, seeds=SEEDS[:1]),
    "table4": CellSet(
        "Table 4: NAS networks first", ((REAL, "paper"),), TRANSFER, 4, seeds=SEEDS[:1]
    ),
    "family": CellSet("Families by the defining code", ((REAL, "family"),), EVERY, network_seeds=1),
    "distinct": CellSet("Designs never seen, of families seen", _tracks("distinct"), EVERY),
    "unseen": CellSet("Families never seen", _tracks("unseen"), EVERY),
    "lineage": CellSet(
        "What a design was made from",
        ((REAL, "lineage-parents"), (REAL, "lineage")),
        (*EVERY[:-1], "default-untrained-second", "default-first", EVERY[-1]),
    ),
    "twins": CellSet(
        "The same design in another library", ((REAL, "twins"), (REAL, "twins-differing")), EVERY
    ),
    "rewrites": CellSet(
        "Rewritten models find their originals",
        tuple((REAL, f"rewrites{what}") for what in ("", "-differing", "-design")),
        EVERY,
    ),
    "edits": CellSet("Edited models find their originals", _changed("edits"), EVERY),
    "parts": CellSet("Parts of models find their originals", _changed("parts"), EVERY),
    "shares": CellSet("Parts of random shares find their originals", _changed("shares"), EVERY),
    "ablations": CellSet(
        "NAR default without each of its parts",
        ((REAL, "distinct-named"), (REAL, "unseen-named"), (REAL, "twins")),
        ("default-untrained", *(f"default-{name}" for name in ABLATIONS), "default"),
        seeds=SEEDS[:2],
    ),
    "ablations-nas": CellSet(
        "NAR default without the parts that NAS networks need",
        (("nas-12", "nas"),),
        ("default-untrained", *(f"default-{name}" for name in NAS_ABLATIONS), "default"),
        seeds=SEEDS[:2],
    ),
    "trials": CellSet(
        "How NAR default was set: what was tried, on what selects a model",
        SELECTED_ON,
        ("linear", "default-untrained", *(f"trial-{name}" for name in TRIALS), "default"),
        seeds=SEEDS[:1],
        held="validation",
    ),
    "alternatives": CellSet(
        "Macro graphs read, or parts learned as well, on what selects a model",
        tuple(task for task in SELECTED_ON if find_protocol(*task).split != "copies"),
        (*(f"macro-{name}" for name in VARIANTS), "parts-learned", "default"),
        seeds=SEEDS[:1],
        held="validation",
    ),
    "curve": CellSet(
        "NAS difficulty curve",
        tuple((data, "nas") for data in NAS),
        CURVE,
        shows=("table", "curve"),
        network_seeds=1,
    ),
    "figure5": CellSet(
        "Figure 5: vectors in the plane", _PRINTED_TASKS, MAPS, shows=("maps",), seeds=SEEDS[:1]
    ),
}


def find_set(name: str) -> CellSet:
    """The set of a name.

    Raises:
        InvalidInputError: There is none.
    """
    if name not in SETS:
        raise InvalidInputError("set", f"wanted one of {', '.join(SETS)}, came {name!r}")
    return SETS[name]
