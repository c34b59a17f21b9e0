"""What engines support: lists of architectures, and which of a list is closest to a model."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Final

from nar.answers.answer import Graphs, change_of
from nar.answers.conditions import among
from nar.answers.difference import Changes
from nar.answers.query import Answer
from nar.answers.words import change_text, known_as_text
from nar.base.errors import InvalidInputError
from nar.base.model_files import CONFIG_FILE
from nar.base.suggestions import close_names
from nar.base.workspace import package_yaml, version
from nar.corpus import Corpus, shipped_corpus
from nar.graphs.architecture import Architecture
from nar.graphs.by import By
from nar.graphs.fingerprints import Sameness
from nar.index.filters import Filter
from nar.index.rows import Hit

# The source whose names have the classes that all lists name.
_SOURCE: Final = "transformers"


@dataclass(frozen=True, slots=True)
class SupportedList:
    """Which architectures an engine runs by code of its own, as its repository said on a day.

    Attributes:
        key: What a user writes: ``llama.cpp``.
        title: What the engine calls itself.
        source: Address of the file that was read, of one commit.
        read: The day on which it was read.
        architectures: Names of classes, as they stand there, by their letters in lower case.
    """

    key: str
    title: str
    source: str
    read: date
    architectures: Mapping[str, str]

    def architecture_of(self, name: str) -> str:
        """The architecture of the list that a model is of by its name; empty if of none.

        Example:
            >>> lists()["vllm"].architecture_of("transformers:llama/LlamaForCausalLM@CodeLlama-7b")
            'LlamaForCausalLM'
            >>> lists()["vllm"].architecture_of("timm:resnet50")
            ''
        """
        return self.architectures.get(class_of(name).lower(), "")

    def known(self) -> Mapping[str, str]:
        """Names of the atlas that are of the list, each with its architecture.

        Raises:
            CorpusError: The package came without its corpus.
        """
        names = (name for _, shard in Corpus(shipped_corpus()).names({_SOURCE}) for name in shard)
        found = ((name, self.architecture_of(name)) for name in names)
        return {name: architecture for name, architecture in found if architecture}

    def narrowed(self, wanted: Filter) -> Filter:
        """A filter that lets pass only what is of the list, besides what it wants."""
        return among(self.known(), wanted)


@cache
def lists() -> Mapping[str, SupportedList]:
    """Every list, by what a user writes."""
    return {
        key: SupportedList(
            key,
            row["title"],
            f"https://github.com/{row['repository']}/blob/{row['commit']}/{row['path']}",
            row["read"],
            {name.lower(): name for name in row["architectures"]},
        )
        for key, row in package_yaml("labels", "supported.yaml").items()
    }


def list_of(engine: str) -> SupportedList:
    """The list of an engine, in any letters.

    Raises:
        InvalidInputError: There is none; says which there are.
    """
    found = lists().get(engine.lower())
    if found is None:
        others = "names of your own are `wanted=nar.Filter(names=...)` in Python"
        raise InvalidInputError("among", f"wanted {_wanted(engine)}; {others}")
    return found


def supported_list(text: str) -> SupportedList | None:
    """The list that ``--among`` means; None where it means a file.

    Raises:
        InvalidInputError: It is neither; says which lists there are.
    """
    found = lists().get(text.lower())
    if found is None and not Path(text).exists():
        raise InvalidInputError("--among", f"wanted a file of names, or {_wanted(text)}")
    return found


def _wanted(came: str) -> str:
    near = close_names(came.lower(), list(lists()))
    hint = f"; did you mean {near[0]}?" if near else ""
    return f"one of the lists {', '.join(lists())}; came {came!r}{hint}"


def sharing(by: By | None, listed: SupportedList | None) -> By:
    """What hits share with a model: what was asked for, or what is asked where nothing was.

    Who adds a model to an engine begins with what needs the fewest changes.

    Example:
        >>> sharing(None, lists()["vllm"]), sharing(None, None), sharing("trunk", lists()["vllm"])
        ('copy', 'design', 'trunk')
    """
    return by or ("copy" if listed else "design")


def class_of(name: str) -> str:
    """The class of transformers that a name means, or the configuration whose path it is.

    Example:
        >>> class_of("transformers:bert/BertForMaskedLM@bert-large-uncased")
        'BertForMaskedLM'
    """
    source, _, model = name.partition(":")
    if source == _SOURCE:
        return model.partition("/")[2].partition("@")[0]
    path = Path(name)
    if path.name != CONFIG_FILE or not path.is_file():
        return ""
    match json.loads(path.read_text(encoding="utf-8")):
        case {"architectures": [str(first), *_]}:
            return first
    return ""


@dataclass(frozen=True, slots=True)
class Closest:
    """The architecture of a list that is closest to a model.

    Attributes:
        listed: The list.
        compared: How many of its architectures the atlas has.
        architecture: What the list calls it; empty where no hit is of the list.
        name: The model of that architecture that is closest; the model itself where `is_named`.
        is_named: Whether the model bears a name of the list.
        same: What both have in common; None where they are different designs.
        changes: How the closest becomes the model; None where their graphs were not compared.
    """

    listed: SupportedList
    compared: int
    architecture: str = ""
    name: str = ""
    is_named: bool = False
    same: Sameness | None = None
    changes: Changes | None = None

    @property
    def is_supported(self) -> bool:
        """Whether the engine has the design."""
        return self.is_named or self.same is not None

    @property
    def sentences(self) -> tuple[str, ...]:
        """What is closest, and where the two differ."""
        title = self.listed.title
        if not self.architecture:
            return (f"Nothing that was found is an architecture that {title} supports.",)
        if self.is_named:
            return (f"{title} supports this architecture by its name: {self.architecture}.",)
        of = f"{self.architecture}, as {self.name}"
        if self.same:
            how = known_as_text(self.same, self.changes.design if self.changes else None)
            said = f"{title} supports this {how}: {of}."
            # Other widths are said; which kernels or heads are others is not.
            if self.changes and self.changes.design == "settings":
                return (said, change_text(self.changes))
            return (said,)
        closest = f"The closest that {title} supports is {of}."
        return (closest, change_text(self.changes)) if self.changes else (closest,)

    @property
    def issue(self) -> str:
        """The same as Markdown for an issue of the engine, with what was compared and how."""
        said = "\n".join(f"- {each}" for each in self.sentences)
        listed = f"[list of {self.listed.title}]({self.listed.source})"
        return (
            f"{said}\n\nCompared by operators and how they are linked, not by weights, masks or "
            f"windows, with {self.compared} of the {len(self.listed.architectures)} architectures "
            f"in the {listed}, read on {self.listed.read}; by NAR {version()}."
        )


def closest(
    listed: SupportedList, asked: Architecture | str, answer: Answer, graphs: Graphs
) -> Closest:
    """What of a list is closest to a model.

    Args:
        listed: The list.
        asked: The model, or its name where it has no graph.
        answer: The answer whose hits are of the list alone.
        graphs: Has the graphs of hits.
    """
    known = listed.known()
    nothing = Closest(listed, len(set(known.values())))
    name = asked if isinstance(asked, str) else asked.labels.name
    own = listed.architecture_of(name)
    if own:
        return replace(nothing, architecture=own, name=name, is_named=True)
    alike = ((same, hit) for same, hits in _same(answer) for hit in hits)
    near = ((None, hit) for hit in answer.hits)
    same, hit = next(((s, hit) for s, hit in chain(alike, near) if hit.name in known), (None, None))
    if hit is None:
        return nothing
    changes = None if isinstance(asked, str) else _changes(hit, asked, graphs)
    return replace(nothing, architecture=known[hit.name], name=hit.name, same=same, changes=changes)


def _same(answer: Answer) -> Iterator[tuple[Sameness, Sequence[Hit]]]:
    """What is the same as the query, the most certain first."""
    yield "network", answer.same_network
    yield "inference", answer.same_at_inference
    yield "design", answer.same_design
    if answer.wrapped:
        yield answer.wrapped.same, answer.wrapped.hits


def _changes(hit: Hit, asked: Architecture, graphs: Graphs) -> Changes | None:
    """How a hit becomes the query; None where its graph cannot be read."""
    known = graphs.graphs([hit.name], {hit.source}).get(hit.name)
    return change_of(known, asked) if known else None
