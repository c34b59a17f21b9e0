"""Small repositories, written as files into a folder, and what asking about one gives."""

from collections.abc import Mapping
from pathlib import Path

from nar.base.asking import Asking
from nar.graphs.ops import op_name
from nar.own import capture_architecture


def clone(folder: Path, files: Mapping[str, str]) -> Path:
    """The folder, with a repository's files in it, by their paths."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


class Asked:
    """What asking about a class of a repository gives, with the inputs stated."""

    def __init__(self, name: str | Path, *inputs: str) -> None:
        self.architecture = capture_architecture(str(name), Asking(inputs=inputs))
        assumed = self.architecture.assumed
        self.values = {each.name: each.value for each in assumed.values} if assumed else {}
        self.places = {each.name: each.place for each in assumed.values} if assumed else {}
        self.stand_ins = assumed.stand_ins if assumed else ()
        self.skipped = assumed.skipped if assumed else ()

    @property
    def operators(self) -> list[str]:
        """Names of the graph's operators in canonical order."""
        graph = self.architecture.architecture.graph
        return [op_name(identifier) for identifier in graph.op_ids.tolist()]

    @property
    def weights(self) -> int:
        """Number of learned scalars."""
        return self.architecture.architecture.parameters
