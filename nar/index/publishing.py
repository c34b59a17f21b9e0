"""How collections come and go: a build fills a new one, the alias is switched, the old one goes.

Marks on a collection stand in Milvus itself, so that other processes can tell whether it is needed.
A collection that no alias leads to was left by a killed build or publisher, or is still being
filled. It is dead for certain if another was published in its place, or, in Milvus Lite, which one
process owns at a time, if it is a build without a name that another owner began. Of any other
collection only its age tells: a build notes that it is alive while it writes.
"""

import logging
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import count
from secrets import token_hex
from typing import Final

from nar.base.errors import (
    IndexInUseError,
    IndexMismatchError,
    IndexUnavailableError,
    InvalidQueryError,
)
from nar.index import IndexKind
from nar.index.collection import (
    SCHEMA_VERSION,
    Collection,
    create_collection,
    find_collection,
)
from nar.index.dialect import check_kind
from nar.index.finishing import is_built_late
from nar.index.milvus import Milvus, MilvusRefusedError
from nar.index.rows import is_fingerprint
from nar.index.settings import IndexConfig

log = logging.getLogger(__name__)

# Keys of marks: the job of a build, if it has a name; the connection that began it; when it last
# showed life, in seconds since 1970; and the collection that was published in its place, or
# nothing.
JOB: Final = "nar.job"
BUILDER: Final = "nar.builder"
WRITTEN: Final = "nar.written"
# A mark that changes with every write of single rows, because their number may stay the same.
CHANGED: Final = "nar.changed"
SUPERSEDED: Final = "nar.superseded"
# Digest of the corpus whose rows the collection has, no more and no fewer; empty if not known.
CORPUS: Final = "nar.corpus"
# Who brings the index of an alias to a corpus, when that writer last showed life, and the alias.
HOLDER: Final = "nar.holder"
HELD: Final = "nar.held"
ALIAS: Final = "nar.alias"
# Chosen: a lease whose holder has shown no life for so long is over. A holder shows life every
# minute while parts are embedded, and workers may take five minutes to start.
LEASE_S: Final = 600.0
_SHOWN_EVERY_S: Final = 60.0  # a tenth of the lease: a late sign of life ends none
# A fault of Milvus servers before 2.3.6 (issue 30144 of milvus-io/milvus): a restart loses the last
# note. A note that was written twice is kept.
_NOTES: Final = 2
_JOB_NAME: Final = re.compile(r"[a-z0-9]{1,40}")


def begun(milvus: Milvus, job: str | None) -> dict[str, str]:
    """The marks of a build that begins now."""
    return {JOB: job or "", BUILDER: milvus.session, **_alive()}


def show_life(collection: Collection) -> None:
    """Note that a build still fills it, whatever was published in its place before."""
    mark(collection, _alive())


def show_change(collection: Collection) -> None:
    """Let readers in other processes see that rows were written."""
    mark(collection, {CHANGED: token_hex(8)})


def show_difference(collection: Collection) -> None:
    """Note that its rows are about to differ from the corpus that they came from, if any."""
    if collection.marks.get(CORPUS):
        mark(collection, {CORPUS: ""})


def mark(collection: Collection, marks: Mapping[str, str]) -> None:
    """Write marks of a collection that last; where Milvus takes no marks, work goes on."""
    milvus = collection.milvus
    try:
        for _ in range(1 if milvus.lite else _NOTES):
            with milvus.reaching("mark the collection"):
                milvus.client.alter_collection_properties(
                    collection.name, dict(marks), timeout=milvus.timeout_s
                )
    except MilvusRefusedError as error:
        log.warning("nobody can tell later whether this is needed: %s", error)


def _alive() -> dict[str, str]:
    return {WRITTEN: f"{time.time():.0f}", SUPERSEDED: ""}


def staging_collection(
    milvus: Milvus, config: IndexConfig, *, encoder: str, dim: int, job: str | None
) -> Collection:
    """The collection that a build fills: the collection of its job, or else a new one.

    Raises:
        InvalidQueryError: The encoder or the job has a name that no build can have.
        IndexMismatchError: The job was begun for other vectors.
    """
    _check_names(encoder, job)
    check_kind(config.kind, milvus.version, milvus.uri)
    name = _unpublished(milvus, f"arch_{encoder[:16]}_v{SCHEMA_VERSION}_{job or token_hex(6)}")
    staging = find_collection(milvus, name)
    if staging and not is_made(staging):
        staging.drop()
        staging = None
    if staging is None:
        kind: IndexKind = "FLAT" if is_built_late(milvus, config.kind) else config.kind
        staging = create_collection(
            milvus, name, encoder=encoder, dim=dim, kind=kind, marks=begun(milvus, job)
        )
    _check_same(staging, encoder, dim)
    return staging


def _unpublished(milvus: Milvus, name: str) -> str:
    """The name for a build: a collection that readers get, or that is kept, is not built upon."""
    with milvus.reaching("list the collections"):
        names = set(milvus.client.list_collections(timeout=milvus.timeout_s))
    published = _named_by_aliases(milvus) if name in names else set()
    numbered = (name if number == 1 else f"{name}_{number}" for number in count(1))
    return next(each for each in numbered if each not in published)


def _check_names(encoder: str, job: str | None) -> None:
    """Refuse names that no build can have.

    Raises:
        InvalidQueryError: The encoder is no fingerprint, or the job has other letters.
    """
    if not is_fingerprint(encoder):
        raise InvalidQueryError("encoder", f"wanted 64 hexadecimal digits, came {encoder!r}")
    if job is not None and not _JOB_NAME.fullmatch(job):
        raise InvalidQueryError("job", f"wanted 1 to 40 of a-z and 0-9, came {job!r}")


def _check_same(staging: Collection, encoder: str, dim: int) -> None:
    """Refuse to go on with a build that was begun for other vectors.

    Raises:
        IndexMismatchError: Says which vectors it was begun for.
    """
    if (staging.encoder, staging.dim) != (encoder, dim):
        raise IndexMismatchError(
            f"build {staging.name} was begun for encoder {staging.encoder} with {staging.dim} "
            f"dimensions, now came {encoder} with {dim}; name another job"
        )


def is_made(collection: Collection) -> bool:
    """Whether it has an index of its vectors: a build that was cut off may have left none."""
    milvus = collection.milvus
    with milvus.reaching("look for the index"):
        return bool(milvus.client.list_indexes(collection.name, timeout=milvus.timeout_s))


def switch(
    milvus: Milvus,
    alias: str,
    built: Collection,
    catch_up: Callable[[], None],
    keep: Callable[[Collection], None] | None,
) -> None:
    """Let readers get a verified collection; drop the old collection, or have it kept.

    What others wrote into the old collection meanwhile is taken over by ``catch_up``.

    A publisher that is killed on the way leaves a marked collection, which the next publisher
    drops.
    """
    before = find_collection(milvus, alias)
    if before is not None and before.name == built.name:
        before = None
    if before and keep is None:
        mark(before, {SUPERSEDED: built.name})
    point_alias(milvus, alias, built.name)
    catch_up()
    if before and keep is not None:
        keep(before)
    elif before:
        is_dropped(before)
    _drop_kept_of_old(milvus, alias)
    collect(milvus)


def _drop_kept_of_old(milvus: Milvus, alias: str) -> None:
    """Drop the one collection that versions of NAR without a history have kept."""
    kept = f"{alias}_before"
    if kept in named_aliases(milvus):
        collection = find_collection(milvus, kept)
        drop_alias(milvus, kept)
        if collection is not None:
            is_dropped(collection)


def named_aliases(milvus: Milvus) -> list[str]:
    """Every alias of the store, sorted."""
    with milvus.reaching("list the aliases"):
        return sorted(milvus.client.list_aliases(timeout=milvus.timeout_s)["aliases"])


def drop_alias(milvus: Milvus, alias: str) -> None:
    """Let an alias lead nowhere."""
    with milvus.reaching("drop an alias"):
        milvus.client.drop_alias(alias, timeout=milvus.timeout_s)


def point_alias(milvus: Milvus, alias: str, name: str) -> None:
    """Let an alias name a collection, from one moment to the next."""
    with milvus.reaching("switch the alias"):
        known = milvus.client.has_collection(alias, timeout=milvus.timeout_s)
        switch = milvus.client.alter_alias if known else milvus.client.create_alias
        switch(name, alias, timeout=milvus.timeout_s)


@dataclass(frozen=True, slots=True)
class Orphan:
    """A collection of NAR that no alias leads to.

    Attributes:
        collection: The collection.
        job: Name of the build, by which it can be taken up again; empty for a build without one.
        is_dead: Whether it is certain that nobody fills or reads it.
        idle_s: How long ago a build last showed life.
    """

    collection: Collection
    job: str
    is_dead: bool
    idle_s: float


def orphans(milvus: Milvus) -> list[Orphan]:
    """Every collection that no alias leads to, by name, running builds included.

    Raises:
        IndexUnavailableError: Milvus does not answer.
    """
    with milvus.reaching("list the collections"):
        names = sorted(milvus.client.list_collections(timeout=milvus.timeout_s))
    described = [_described(milvus, name) for name in names]
    # Read last, so that a collection that was published meanwhile does not count as an orphan.
    published = _named_by_aliases(milvus)
    return [_orphan(each) for each in described if each and each.name not in published]


def _named_by_aliases(milvus: Milvus) -> set[str]:
    """Names of the collections that some alias leads to."""
    # Milvus Lite does not list the aliases of a collection with it.
    found = (_target_of(milvus, alias) for alias in named_aliases(milvus))
    return {name for name in found if name}


def _target_of(milvus: Milvus, alias: str) -> str:
    """The name of the collection that an alias leads to; empty if it was dropped meanwhile."""
    try:
        with milvus.reaching("list the aliases"):
            told = milvus.client.describe_collection(alias, timeout=milvus.timeout_s)
    except MilvusRefusedError:
        # Other indexes of the store have jobs, too, which drop what they kept.
        if alias in named_aliases(milvus):
            raise
        return ""
    return str(told["collection_name"])


def _described(milvus: Milvus, name: str) -> Collection | None:
    """A collection of NAR; None if another program made it, or if it was dropped meanwhile."""
    try:
        return find_collection(milvus, name)
    except IndexUnavailableError as error:
        log.info("%s is left alone: %s", name, error)
        return None


def _orphan(collection: Collection) -> Orphan:
    marks, milvus = collection.marks, collection.milvus
    job = marks.get(JOB, "")
    is_abandoned = milvus.lite is not None and BUILDER in marks and not job
    return Orphan(
        collection,
        job,
        bool(marks.get(SUPERSEDED)) or (is_abandoned and marks[BUILDER] != milvus.session),
        time.time() - float(marks.get(WRITTEN, 0)),
    )


def drop_orphans(milvus: Milvus, *, idle_s: float) -> list[Orphan]:
    """Drop collections that are dead for certain, and builds that have shown no life for so long.

    Args:
        milvus: The connection.
        idle_s: Age of the last sign of life. A running build gives one every minute while it
            writes, but may compute for longer between two writes.

    Returns:
        The collections that were dropped.

    Raises:
        IndexUnavailableError: Milvus does not answer.
    """
    chosen = [each for each in orphans(milvus) if each.is_dead or each.idle_s >= idle_s]
    return [each for each in chosen if is_dropped(each.collection)]


def collect(milvus: Milvus) -> None:
    """Drop dead collections, and go on where that fails: the next publisher tries again."""
    try:
        for each in orphans(milvus):
            if each.is_dead and is_dropped(each.collection):
                log.info("dropped %s, which nobody reads any more", each.collection.name)
    except IndexUnavailableError as error:
        log.warning("what killed publishers have left was not dropped: %s", error)


def is_dropped(collection: Collection) -> bool:
    """Drop a collection; False if another process has dropped it meanwhile."""
    try:
        collection.drop()
    except MilvusRefusedError as error:
        log.info("%s was not dropped: %s", collection.name, error)
        return False
    return True


@dataclass(frozen=True, slots=True)
class Holder:
    """Who writes an index.

    Attributes:
        workspace: Id of the workspace. Of one workspace only one job writes at a time, so that an
            earlier holder of the same workspace is dead.
        name: Who it is, for a person.
    """

    workspace: str
    name: str


class Lease:
    """The right of one workspace to bring the index of a server to its corpus.

    It stands in the properties of the collection that is written. Milvus Lite needs none: one
    process owns it.

    Args:
        milvus: The connection.
        alias: The alias of the index.
        holder: Who wants it.
    """

    def __init__(self, milvus: Milvus, alias: str, holder: Holder) -> None:
        self._milvus, self._alias, self._holder = milvus, alias, holder
        self._taken: Collection | None = None
        self._show_at = 0.0

    def check(self) -> None:
        """Refuse to go on beside another holder.

        Raises:
            IndexInUseError: Names the holder, and when its lease ends if the holder is dead.
        """
        if self._milvus.lite:
            return
        live = find_collection(self._milvus, self._alias)
        builds = [each.collection for each in orphans(self._milvus)]
        of_alias = [each for each in builds if each.marks.get(ALIAS) == self._alias]
        for collection in (*([live] if live else []), *of_alias):
            workspace, _, name = collection.marks.get(HOLDER, "").partition(" ")
            shown = max(float(collection.marks.get(mark, 0) or 0) for mark in (HELD, WRITTEN))
            # Clocks of two machines differ.
            idle_s = max(time.time() - shown, 0.0)
            if workspace not in {"", self._holder.workspace} and idle_s < LEASE_S:
                raise IndexInUseError(
                    f"{name} writes the index {self._alias!r} at {self._milvus.uri}, and showed "
                    f"life {idle_s:.0f} s ago; wait for it. If it was killed, its lease ends in "
                    f"{LEASE_S - idle_s:.0f} s"
                )

    def take(self, collection: Collection) -> None:
        """Hold the index by a collection that is written from now on.

        Raises:
            IndexInUseError: Somebody else was faster.
        """
        if self._milvus.lite:
            return
        self.check()
        self._taken = collection
        name = f"{self._holder.workspace} {self._holder.name}"
        self._mark({HOLDER: name, ALIAS: self._alias})
        try:
            self.check()
        except IndexInUseError:
            self.give_back()
            raise

    def keep(self) -> None:
        """Show life, if it is time; called whenever the holder gets on."""
        if self._taken and time.monotonic() >= self._show_at:
            self._mark({})

    def give_back(self) -> None:
        """End the lease."""
        taken, self._taken = self._taken, None
        if taken:
            try:
                mark(taken, {HOLDER: ""})
            except IndexUnavailableError as error:
                log.warning("the lease of %s ends in %g s: %s", taken.name, LEASE_S, error)

    def _mark(self, marks: Mapping[str, str]) -> None:
        assert self._taken is not None, "the lease was taken"
        mark(self._taken, {**marks, HELD: f"{time.time():.0f}"})
        self._show_at = time.monotonic() + _SHOWN_EVERY_S
