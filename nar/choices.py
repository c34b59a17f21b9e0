"""What the command line chooses: the index that a command asks, and the corpus that it reads."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from nar.base.console import DEFAULT_WORK, stderr
from nar.base.errors import CorpusError, IndexUnavailableError
from nar.base.workspace import Workspace, job
from nar.corpus import Location, default_corpus, located

if TYPE_CHECKING:
    from nar.config import NarConfig
    from nar.index.settings import IndexConfig


@dataclass(frozen=True, slots=True)
class IndexChoice:
    """Which index a command uses, and with which configuration.

    Attributes:
        work: Directory of the workspace: corpus, checkpoint and index.
        uri: A Milvus server, instead of the index in that directory.
        config_file: YAML file of a `NarConfig`; None for the defaults.

    Example:
        >>> IndexChoice(Path("mine"), None, None).config().index.uri
        'mine/index.db'
    """

    work: Path
    uri: str | None
    config_file: Path | None

    @property
    def workspace(self) -> Workspace:
        """The workspace."""
        return Workspace(self.work)

    @property
    def wants_atlas(self) -> bool:
        """Whether the command uses the atlas: no workspace is named, and nothing was built."""
        own = self.workspace
        return self.work == DEFAULT_WORK and not (own.index.exists() or own.checkpoint.exists())

    @property
    def has_own_rows(self) -> bool:
        """Whether the rows are from an index that the user named or made, not from the atlas."""
        return self.names_index or not self.wants_atlas

    @property
    def notice(self) -> str:
        """Why an index is asked that the command does not name; empty where it names it."""
        instead = "it is asked in place of the atlas of NAR"
        if self.uri:
            return ""
        if self.names_index:
            return f"{self.config_file} names the index at {self._loaded().index.uri}; {instead}"
        if self.work == DEFAULT_WORK and not self.wants_atlas:
            return f"there is a workspace in {self.work}; {instead}"
        return ""

    @property
    def wants_atlas_encoder(self) -> bool:
        """Whether the encoder is the atlas's: no workspace is named, and none was trained."""
        return self.work == DEFAULT_WORK and not self.workspace.checkpoint.exists()

    @property
    def names_index(self) -> bool:
        """Whether the command line or the file says where the index is."""
        if self.uri or self.config_file is None:
            return bool(self.uri)
        return "uri" in self._loaded().index.model_fields_set

    def config(self) -> "NarConfig":
        """The configuration; the command line wins over the file, the file over the workspace."""
        chosen = self._loaded()
        default = chosen.index.uri if self.names_index else str(self.workspace.index)
        index = chosen.index.model_copy(update={"uri": self.uri or default})
        return chosen.model_copy(update={"index": index})

    def existing(self) -> "IndexConfig":
        """Where the index is; it has to exist, as opening a missing index would make it.

        Raises:
            IndexUnavailableError: There is no index.
        """
        index = self.config().index
        if index.is_missing:
            raise IndexUnavailableError(
                f"there is no index at {index.uri}; make one with `nar index add`, or with "
                f"{job('embed')}"
            )
        return index

    def _loaded(self) -> "NarConfig":
        # Imported here: it imports all settings, and not every command needs them.
        from nar.config import load_config

        return load_config(self.config_file)


@cache
def _print_location(corpus: Location) -> None:
    """Say which corpus is read: once, however often a command looks into it."""
    stderr.print(f"reading the corpus at {corpus}", style="dim")


@dataclass(frozen=True, slots=True)
class CorpusChoice:
    """Which corpus a command reads.

    Attributes:
        work: The workspace whose corpus is read where none is named.
        corpus: Where a corpus lies, if one is named: a path, or a URI.
    """

    work: Path
    corpus: str | Path | None = None

    def directory(self) -> Location:
        """Directory of the corpus; says on stderr which it is.

        The shipped corpus stands in for a missing corpus of the default workspace only, never for
        that of a workspace which the user named.

        Raises:
            CorpusError: There is no corpus.
            InvalidInputError: pyarrow opens no file system of the URI.
        """
        if self.corpus:
            chosen = located(str(self.corpus))
        else:
            own = Workspace(self.work).corpus
            chosen = own if self.is_named else default_corpus(own)
        _print_location(chosen)
        return chosen

    def directory_if_any(self) -> Location | None:
        """The same; None if no corpus was named and none came with the package."""
        try:
            return self.directory()
        except CorpusError:
            if self.is_named:
                raise
            return None

    @property
    def is_named(self) -> bool:
        """Whether the user said which corpus it is."""
        return self.corpus is not None or self.work != DEFAULT_WORK
