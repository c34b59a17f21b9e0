"""The manifest of a corpus: what it holds and lacks, what it was made from, and at what cost."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Literal, Protocol

from pydantic import BaseModel, ConfigDict, ValidationError

from nar.base.errors import CorpusError
from nar.base.files import write_whole
from nar.base.workspace import job
from nar.corpus.location import Location
from nar.graphs.architecture import Labels

FILE_NAME = "manifest.json"
TIERS = ("named", "composed", "swept")
# The tiers that the size of a corpus is judged by.
HEADLINE_TIERS = ("named", "composed")


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ShardEntry(_Record):
    """One Parquet file.

    Attributes:
        file: Name beside the manifest.
        rows: Architectures in it.
        sha256: Digest of its bytes, hex.
        source: The source that registers its architectures; empty where there are several.
        renewed: Sha256 of the first file that it was renewed from (`nar.corpus.rewriting`); empty
            where it was not.
    """

    file: str
    rows: int
    sha256: str
    source: str = ""
    renewed: str = ""

    @property
    def identity(self) -> str:
        """Sha256 (hex) that stays when a shard is renewed: of its labels and graphs, in order."""
        return self.renewed or self.sha256


class Failure(_Record):
    """A model that is not in the corpus, and why.

    Attributes:
        name: Its spec.
        operator: The last operator that ran; ``-`` where none is known.
        reason: In words.
        kind: ``capture``: it raised; else how its process was lost, or the limit that it passed.
        source: Name of its source; empty in manifests of older versions, where its name begins
            with it.
    """

    name: str
    operator: str
    reason: str
    kind: Literal["capture", "died", "timeout", "memory"] = "capture"
    source: str = ""


class Skipped(_Record):
    """A source that was asked for and is not in the corpus at all, and why."""

    source: str
    reason: str


class Counts(_Record):
    """Architectures captured, networks distinct by exact fingerprint, designs by topology."""

    raw: int = 0
    exact: int = 0
    topology: int = 0


class SourceCounts(Counts):
    """Size and cost of one source.

    Attributes:
        failed: Models that were asked for and are missing.
        tiers: The counts of each tier.
        seconds: Time that workers spent on its models, failures included; 0 where unknown.
        models_per_s: Models tried in a second of one worker; 0 where unknown.
    """

    failed: int
    tiers: dict[str, Counts] = {}
    seconds: float = 0.0
    models_per_s: float = 0.0


class Totals(_Record):
    """Sizes over all sources: a network that two sources have counts once.

    Attributes:
        everything: All tiers.
        headline: Named and composed together.
        tiers: The counts of each tier.
    """

    everything: Counts = Counts()
    headline: Counts = Counts()
    tiers: dict[str, Counts] = {}


class Manifest(_Record):
    """Everything known of a corpus besides its rows.

    Attributes:
        packages: Version of each library that was read.
        capture_version: `nar.capture.CAPTURE_VERSION` of the NAR that captured it.
        shards: The files, in order.
        sources: Sizes by source.
        totals: Sizes over all sources.
        failures: Every model that was asked for and is missing.
        skipped: Every source that was asked for and could not be read.
        unknown_operators: Occurrences of each operator outside the vocabulary.
        seconds: Wall time of the extraction.
        workers: Processes that shared it.
        cores: Processor cores that they had; 0 where unknown.
    """

    packages: dict[str, str]
    capture_version: int = 1
    shards: tuple[ShardEntry, ...]
    sources: dict[str, SourceCounts]
    totals: Totals
    failures: tuple[Failure, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    unknown_operators: dict[str, int] = {}
    seconds: float = 0.0
    workers: int = 1
    cores: int = 0

    @property
    def digest(self) -> str:
        """Sha256 (hex) over the rows of the corpus: equal for equal shards, renewed or not."""
        return sha256("\n".join(entry.identity for entry in self.shards).encode()).hexdigest()

    def write(self, directory: Path) -> None:
        """Write ``manifest.json`` atomically."""
        text = self.model_dump_json(indent=2) + "\n"
        write_whole(
            directory / FILE_NAME,
            lambda part: part.write_text(text, encoding="utf-8"),
            survives=True,
        )

    @classmethod
    def read(cls, directory: Location) -> "Manifest":
        """Read the manifest of a corpus.

        Raises:
            CorpusError: There is none, or it is no manifest, or it cannot be read.
        """
        path = directory / FILE_NAME
        try:
            return cls.model_validate_json(path.read_bytes())
        except (FileNotFoundError, NotADirectoryError) as error:
            raise CorpusError(
                f"no corpus at {directory} ({path.name} is missing); make one with {job('extract')}"
            ) from error
        except OSError as error:
            raise CorpusError(f"{path} cannot be read ({error.strerror or error})") from error
        except ValidationError as error:
            raise CorpusError(f"{path} is no manifest of a corpus: {error}") from error


class Counted(Protocol):
    """What counting has to know of an architecture, without its graph."""

    @property
    def labels(self) -> Labels:
        """Source and tier."""

    @property
    def exact(self) -> str:
        """Exact fingerprint."""

    @property
    def topology(self) -> str:
        """Topology fingerprint."""


@dataclass(frozen=True, slots=True)
class CorpusCounts:
    """The sizes of a corpus.

    Attributes:
        sources: By source, sources of which every model failed included.
        totals: Over all sources.
    """

    sources: dict[str, SourceCounts]
    totals: Totals


def count_corpus(
    rows: Iterable[Counted],
    failures: Iterable[Failure] = (),
    seconds: Mapping[str, float] | None = None,
) -> CorpusCounts:
    """Count a corpus in one pass; of each row only two fingerprints are kept.

    Args:
        rows: Architectures or their cards; an iterator is read once.
        failures: Models that are missing.
        seconds: Time of the workers by source.
    """
    cells: defaultdict[tuple[str, str], _Tally] = defaultdict(_Tally)
    for row in rows:
        cells[row.labels.source, row.labels.tier].add(row)
    failed = Counter(each.source or each.name.partition(":")[0] for each in failures)
    spent = seconds or {}
    names = sorted({source for source, _ in cells} | set(failed))
    return CorpusCounts(
        {name: _source(name, cells, failed[name], spent.get(name, 0.0)) for name in names},
        _totals(cells),
    )


@dataclass(slots=True)
class _Tally:
    """The architectures counted so far, of one source in one tier."""

    raw: int = 0
    exact: set[str] = field(default_factory=set)
    topology: set[str] = field(default_factory=set)

    def add(self, row: Counted) -> None:
        self.raw += 1
        self.exact.add(row.exact)
        self.topology.add(row.topology)


_Cells = Mapping[tuple[str, str], _Tally]


def _source(name: str, cells: _Cells, failed: int, seconds: float) -> SourceCounts:
    mine = {tier: tally for (source, tier), tally in cells.items() if source == name}
    counts = _counts(mine.values())
    return SourceCounts(
        **dict(counts),
        failed=failed,
        tiers=_by_tier(mine),
        seconds=round(seconds, 3),
        models_per_s=round((counts.raw + failed) / seconds, 3) if seconds else 0.0,
    )


def _totals(cells: _Cells) -> Totals:
    tiers: defaultdict[str, list[_Tally]] = defaultdict(list)
    for (_, tier), tally in cells.items():
        tiers[tier].append(tally)
    headline = [tally for (_, tier), tally in cells.items() if tier in HEADLINE_TIERS]
    return Totals(
        everything=_counts(cells.values()),
        headline=_counts(headline),
        tiers={tier: _counts(tiers[tier]) for tier in TIERS if tier in tiers},
    )


def _by_tier(tallies: Mapping[str, _Tally]) -> dict[str, Counts]:
    return {tier: _counts([tallies[tier]]) for tier in TIERS if tier in tallies}


def _counts(tallies: Iterable[_Tally]) -> Counts:
    kept = list(tallies)
    return Counts(
        raw=sum(tally.raw for tally in kept),
        exact=len(set[str]().union(*(tally.exact for tally in kept))),
        topology=len(set[str]().union(*(tally.topology for tally in kept))),
    )
