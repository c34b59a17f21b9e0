"""Every method of the tables, by the name that commands and tables give it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from benchmark.methods import baselines, default, gnn, macro, paper
from benchmark.methods.default import Trial
from benchmark.methods.second import Origin, second_stage
from benchmark.scoring.ranking import Matrix, Second, Weights
from benchmark.tasks.questions import Questions
from benchmark.tasks.task import Task
from nar.answers.pairs import shipped_scorer
from nar.base.errors import InvalidInputError
from nar.encoding.default.recipe import DefaultConfig
from nar.graphs.by import By


@dataclass(frozen=True, slots=True)
class Method:
    """A way to turn the graphs of a task into vectors that are compared by cosine.

    Attributes:
        name: Unique.
        title: As tables show it.
        embed: Rows in the order of the task's graphs.
        settings: What it is made with, as text.
        learns: Whether it reads targets of the training rows.
        version: To be raised by whoever changes what comes out: its cells are then run anew.
        weights: What the vectors of queries are multiplied with, by what is asked for; None where
            they answer all questions alike.
        second: What ranks the first answers once more, by what is asked; None where nothing does.
    """

    name: str
    title: str
    embed: Callable[[Task], Matrix]
    settings: str = ""
    learns: bool = False
    version: int = 1
    weights: Callable[[By], Weights | None] = lambda _: None
    second: Callable[[Task, Questions], Second | None] = lambda _task, _asked: None

    @property
    def identity(self) -> str:
        """What decides its vectors, but for the task."""
        return f"{self.name} {self.version} {self.settings}"


def _histogram(steps: int, weighting: baselines.Weighting) -> Method:
    words = weighting.replace("_", "-")
    return Method(
        f"codes-{steps}-{words}",
        f"code histogram, s<={steps}, {words}",
        lambda task: baselines.code_histograms(task.graphs, steps, weighting),
    )


def _untrained_network(kind: gnn.Kind) -> Method:
    return Method(
        f"{kind}-untrained", f"{kind.upper()}, untrained", lambda task: gnn.untrained(task, kind)
    )


def _trained_network(kind: gnn.Kind, ending: str, title: str, recipe: gnn.GnnRecipe) -> Method:
    return Method(
        f"{kind}{ending}",
        f"{kind.upper()}{title}",
        lambda task: gnn.trained(task, kind, recipe),
        repr(recipe),
        learns=True,
    )


def _paper(name: str, title: str, variant: paper.Variant) -> Method:
    return Method(
        name, title, lambda task: paper.trained(task, variant), repr(variant), learns=True
    )


def _default(
    name: str,
    title: str,
    trial: Trial,
    *,
    learns: bool = True,
    has_second: bool = False,
) -> Method:
    config = DefaultConfig.of(trial.motifs, trial.recipe)
    parts, second = " and parts" * trial.parts, f" {Origin()!r} {_scorer()}" * has_second
    return Method(
        name,
        title,
        lambda task: default.trained(task, trial),
        f"{trial.recipe!r} {trial.motifs!r} {trial.blocks!r}{parts}{second}",
        learns=learns,
        weights=lambda by: config.weights(by, trial.blocks),
        second=second_stage if has_second else lambda _task, _asked: None,
    )


def _scorer() -> str:
    """The scorer of the second stage, as text."""
    scorer = shipped_scorer()
    return f"{scorer.counts} {scorer.weights.tolist()}" if scorer else ""


def _macro(name: str, variant: macro.Variant) -> Method:
    beside = "NAR default, macro graph" if variant.is_beside else "macro graph alone"
    learned = name.removeprefix("beside-").replace("-", " and ")
    return Method(
        f"macro-{name}",
        f"{beside}, {learned}",
        lambda task: macro.embedded(task, variant),
        repr(variant),
        learns=variant != macro.Variant(),
        weights=lambda by: macro.weights(by, variant),
    )


_ROWS: Final[Sequence[Method]] = (
    Method("random", "random", lambda task: baselines.random_vectors(len(task.graphs), task.seed)),
    Method("size", "size only", lambda task: baselines.sizes(task.graphs)),
    Method("operators", "bag of operators", lambda task: baselines.bag_of_operators(task.graphs)),
    _histogram(1, "presence"),
    _histogram(2, "presence"),
    _histogram(3, "presence"),
    _histogram(2, "log_counts"),
    _histogram(2, "idf"),
    Method("untrained-sum", "untrained sum", lambda task: baselines.untrained_sum(task.graphs)),
    _untrained_network("gin"),
    _untrained_network("gcn"),
    _untrained_network("gat"),
    *(
        _trained_network(kind, ending, title, recipe)
        for ending, title, recipe in (("", "", gnn.PRINTED), ("-ours", ", our recipe", gnn.OURS))
        for kind in gnn.KINDS
    ),
    Method("paper-untrained", "NAR paper, untrained", paper.untrained, repr(paper.Variant())),
    _paper("paper", "NAR paper", paper.Variant()),
    _paper("paper-ce", "NAR paper, CE alone", paper.Variant(losses="ce")),
    _paper("paper-cl", "NAR paper, CL alone", paper.Variant(losses="cl")),
    _paper("paper-printed", "NAR paper, as printed", paper.Variant(settings=paper.PRINTED)),
    _paper(
        "paper-printed-cl",
        "NAR paper, CL alone, as printed",
        paper.Variant(losses="cl", settings=paper.PRINTED),
    ),
    _paper("paper-node-number", "NAR paper, by nodes", paper.Variant(splitting="node_number")),
    _paper("paper-motif-number", "NAR paper, by motifs", paper.Variant(splitting="motif_number")),
    _paper("paper-random", "NAR paper, random motifs", paper.Variant(splitting="random")),
    Method(
        "paper-from-nas",
        "NAR paper, NAS first",
        paper.transferred,
        f"{paper.Variant()!r} {paper.NAS_NETWORKS} networks at {paper.NAS_DISTANCE} edits",
        learns=True,
    ),
    _default("default-untrained", "NAR default, untrained", Trial(default.UNTRAINED), learns=False),
    *(
        _default(f"default-{name}", f"NAR default, {name.replace('-', ' ')}", Trial(recipe))
        for name, recipe in default.ABLATIONS.items()
    ),
    *(
        _default(f"trial-{name}", f"NAR default, {name.replace('-', ' ')}", trial)
        for name, trial in default.TRIALS.items()
    ),
    *(_macro(name, variant) for name, variant in macro.VARIANTS.items()),
    _default("parts-learned", "NAR default, parts learned as well", Trial(parts=True)),
    _default("linear", "presence, s<=1, one trained projection", Trial(default.LINEAR)),
    _default(
        "default-untrained-second",
        "NAR default, untrained, with the second stage",
        Trial(default.UNTRAINED),
        learns=False,
        has_second=True,
    ),
    _default("default-first", "NAR default, without the second stage", Trial()),
    _default("default", "NAR default", Trial(), has_second=True),
)
METHODS: Final[Mapping[str, Method]] = {method.name: method for method in _ROWS}


def find_method(name: str) -> Method:
    """The method of a name.

    Raises:
        InvalidInputError: There is none; every name is given.
    """
    if name not in METHODS:
        raise InvalidInputError("method", f"wanted one of {', '.join(METHODS)}, came {name!r}")
    return METHODS[name]
