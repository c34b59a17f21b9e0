"""What every command needs: where it works, and how its answer is shown."""

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from rich.console import RenderableType

from nar.config import NarConfig, load_config
from nar.console import DEFAULT_WORK, stdout
from nar.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Setting:
    """Where a command works.

    Attributes:
        work: Directory of corpus, checkpoint and index.
        uri: A Milvus server, instead of the index in that directory.
        file: YAML file of settings.
    """

    work: Path
    uri: str | None
    file: Path | None

    @property
    def place(self) -> Workspace:
        """The workspace."""
        return Workspace(self.work)

    @property
    def wants_atlas(self) -> bool:
        """Whether the atlas of the package answers: nothing is named, and nothing was built."""
        is_named = self.uri is not None or self.file is not None or self.work != DEFAULT_WORK
        return not (is_named or self.place.index.exists())

    def config(self) -> NarConfig:
        """Settings of the file, with the index where the command line says."""
        chosen = load_config(self.file)
        default = chosen.index.uri if self.file else str(self.place.index)
        index = chosen.index.model_copy(update={"uri": self.uri or default})
        return chosen.model_copy(update={"index": index})


def show(value: Mapping[str, object], view: Callable[[], RenderableType], *, as_json: bool) -> None:
    """Print one answer, for a program or for a person."""
    if as_json:
        sys.stdout.write(json.dumps(value, indent=2) + "\n")
    else:
        stdout.print(view())
