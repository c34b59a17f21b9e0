"""What the commands of `nar index` do: make the index of a workspace here, or show it."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from threading import Event

from rich.text import Text

from nar.answers.atlas import shipped_atlas
from nar.answers.atlas_making import embedded
from nar.answers.atlas_store import open_atlas
from nar.answers.naming import (
    Asked,
    captured,
    check_stated,
    report_unplaced,
    resolve_name,
    stated_for,
)
from nar.answers.novelty import keep_novelty
from nar.answers.retrieve import unknown
from nar.base import own_labels
from nar.base.asking import NOTHING_STATED, Asking
from nar.base.console import (
    NOTHING_CAPTURED,
    TOO_MANY_FAILED,
    progress,
    show,
    stderr,
)
from nar.base.errors import InvalidInputError, NarError, UnknownArchitectureError
from nar.base.own_labels import LabelValue
from nar.base.own_zoo import Declared, Zoo, expanded
from nar.choices import IndexChoice
from nar.cli.search_command import opened_client
from nar.corpus import Corpus, shipped_corpus
from nar.encoding.embed import Embedder, load_checkpoint
from nar.encoding.stored import StoredEmbedder
from nar.index.architecture_index import ArchitectureIndex
from nar.index.bulk import check_replaceable
from nar.index.digests import RowDigests
from nar.index.history import go_back
from nar.index.increments import Increment
from nar.index.milvus import Milvus
from nar.index.publishing import Orphan, drop_orphans, orphans
from nar.index.rows import IndexEntry, index_entry, index_row
from nar.index.snapshot import Snapshot, restore_snapshot, take_snapshot
from nar.views import display, reports
from nar.wire.records import LabelChange


def build(choice: IndexChoice, *, other_encoder: bool, as_json: bool) -> None:
    """Embed the corpus of a workspace and publish it as the index, rows of others with it.

    Raises:
        IndexMismatchError: The index is of another encoder, and ``other_encoder`` is not set.
    """
    config, workspace = choice.config().index, choice.workspace
    embedder = Embedder(load_checkpoint(workspace.checkpoint))
    own = RowDigests(
        {entry.id: entry.description()}
        for entry in map(index_entry, Corpus(workspace.corpus).cards())
    )
    with ArchitectureIndex(config) as index:
        before = check_replaceable(
            index.published, embedder.fingerprint, lambda: own, other_encoder=other_encoder
        )
        with index.build(embedder.fingerprint, embedder.dim) as bulk:
            pairs = embedded(workspace.corpus, embedder)
            bulk.load(index_row(item, vector) for item, vector in pairs)
            carried = bulk.carry_over(before, own, removes=False).strangers
            rows = bulk.publish(keep_before=True, by="index build")
        keep_novelty(index, workspace.novelty, encoder=embedder.fingerprint)
    result = {
        "rows": rows,
        "carried over": carried,
        "uri": config.uri,
        "encoder": embedder.fingerprint,
    }
    show(result, lambda: display.properties("Index", result), as_json=as_json)


def add(
    names: Sequence[str],
    choice: IndexChoice,
    asking: Asking = NOTHING_STATED,
    *,
    max_failures: int = 0,
    as_json: bool,
) -> int:
    """Add models to an index; where there is no index yet, it is made with the atlas in it.

    A model that cannot be captured is named, and the others are added.

    Returns:
        The exit code: `NOTHING_CAPTURED`, `TOO_MANY_FAILED`, or 0.

    Raises:
        IndexUnavailableError: Another process has the index, or it cannot be written.
    """
    asked, failures = _captured(expanded(names), asking)
    if not asked:
        _report_failures(failures)
        return NOTHING_CAPTURED
    items = [each.architecture for each in asked]
    config = choice.config().index
    if choice.wants_atlas_encoder:
        atlas = shipped_atlas()
        embedder = StoredEmbedder(atlas.encoder)
        opened = open_atlas(atlas, config, Event())
    else:
        embedder = StoredEmbedder(choice.workspace.checkpoint)
        opened = ArchitectureIndex(config, encoder=embedder.fingerprint)
    with opened as index:
        vectors = embedder.embed([item.graph for item in items])
        increment = Increment(index, config.batch_rows, by="index add")
        increment.load(index_row(*pair) for pair in zip(items, vectors, strict=True))
        rows = increment.finish([], "")
    added = [item.labels.name for item in items]
    result = {"added": ", ".join(added), "rows": rows, "uri": config.uri}
    assumed = {each.architecture.labels.name: reports.assumed(each.assumed) for each in asked}
    report = {**result, "added": added, "assumed": assumed, "failures": failures}
    show(report, lambda: display.properties("Index", result), as_json=as_json)
    _report_failures(failures)
    return TOO_MANY_FAILED if len(failures) > max_failures else 0


def _captured(zoo: Zoo, asking: Asking) -> tuple[list[Asked], dict[str, str]]:
    """The models that could be captured, and why others could not, by their names."""
    whole: dict[str, Declared] = {}
    failures: dict[str, str] = {}
    report_unplaced(zoo)
    for each in zoo.models:
        try:
            spec = resolve_name(each.spec, shipped_corpus())
        except (UnknownArchitectureError, InvalidInputError) as error:
            failures[each.name] = str(error)
        else:
            whole[each.name] = replace(each, spec=spec)
    check_stated([each.spec for each in whole.values()], asking)
    asked = []
    for name, each in whole.items():
        stated = stated_for(each.spec, replace(asking, inputs=each.inputs or asking.inputs))
        try:
            asked.append(Asked.of(captured(each.spec, stated)).called(each))
            asked[-1].report_assumed()
        # The code of a model and of its library may raise anything; it is this model's fault.
        except Exception as error:
            failures[name] = str(error) or type(error).__name__
    return asked, failures


def _report_failures(failures: Mapping[str, str]) -> None:
    for name, reason in failures.items():
        line = Text.assemble(("not added", "bold red"), f" {name}: {reason}")
        stderr.print(line, soft_wrap=True)


def remove(names: Sequence[str], choice: IndexChoice, server: str | None, *, as_json: bool) -> int:
    """Take rows out of an index, or of the index behind a server.

    Returns:
        The exit code: 1 where a name has no row.
    """
    removed, unknown = _remove_there(names, choice, server) if server else _remove(names, choice)
    result = {"removed": removed, "unknown": unknown}
    shown = {name: ", ".join(several) or "none" for name, several in result.items()}
    show(result, lambda: display.properties("Index", shown), as_json=as_json)
    return int(bool(unknown))


def _remove(names: Sequence[str], choice: IndexChoice) -> tuple[list[str], list[str]]:
    with ArchitectureIndex(choice.existing()) as index:
        rows = index.get(names)
        config = choice.existing()
        gone = [row.id for row in rows.values()]
        Increment(index, config.batch_rows, by="index remove").finish(gone, "")
    return [row.name for row in rows.values()], [name for name in names if name not in rows]


def _remove_there(
    names: Sequence[str], choice: IndexChoice, server: str
) -> tuple[list[str], list[str]]:
    with opened_client(choice.config(), server) as client:
        answers = dict(zip(names, client.delete(names), strict=True))
    unknown = []
    for name, each in answers.items():
        if isinstance(each, UnknownArchitectureError):
            unknown.append(name)
        elif isinstance(each, NarError):
            raise each
    return [name for name in answers if name not in unknown], unknown


def label(
    name: str,
    labels: Sequence[str],
    removed: Sequence[str],
    choice: IndexChoice,
    server: str | None,
    *,
    as_json: bool,
) -> None:
    """Change labels of a row of an index, or of the index behind a server.

    Raises:
        InvalidInputError: A text is no KEY=VALUE, or a key or value cannot be one.
        UnknownArchitectureError: There is no such row.
    """
    change = LabelChange(name, dict(map(_label, labels)), frozenset(removed))
    if not (change.labels or change.removed):
        raise InvalidInputError("label", "wanted KEY=VALUE, or --remove KEY; came neither")
    now = _label_there(change, choice, server) if server else _label_here(change, choice)
    result: dict[str, object] = {"name": now.name, "family": now.family, "task": now.task}
    shown = {**result, **{key: own_labels.shown(each) for key, each in now.labels.items()}}
    result["labels"] = own_labels.as_json(now.own)
    show(result, lambda: display.properties("Labels", shown), as_json=as_json)


def _label(text: str) -> tuple[str, LabelValue]:
    key, sign, value = text.partition("=")
    if not sign:
        raise InvalidInputError("label", f"wanted KEY=VALUE, such as team=vision, came {text!r}")
    # Family and task are texts, whatever they look like.
    return key, value if key in own_labels.COLUMN_KEYS else own_labels.typed(value)


def _label_here(change: LabelChange, choice: IndexChoice) -> IndexEntry:
    config = choice.existing()
    with ArchitectureIndex(config) as index:
        row = index.get([change.name]).get(change.name)
        if row is None:
            raise unknown(change.name)
        now = change.applied(row)
        increment = Increment(index, config.batch_rows, by="index label")
        increment.load([now])
        increment.finish([], "")
    return now


def _label_there(change: LabelChange, choice: IndexChoice, server: str) -> IndexEntry:
    with opened_client(choice.config(), server) as client:
        return client.label(change.name, change.labels, removed=change.removed)


def info(choice: IndexChoice, *, as_json: bool) -> None:
    """Show what the index holds."""
    config = choice.existing()
    with ArchitectureIndex(config) as index:
        result = {"rows": index.count(), "encoder": index.encoder, "uri": config.uri}
    show(result, lambda: display.properties("Index", result), as_json=as_json)


def history(choice: IndexChoice, *, as_json: bool) -> None:
    """Show the jobs that have changed the index and that can be gone back behind."""
    with ArchitectureIndex(choice.existing()) as index:
        kept = [each.change.model_dump(mode="json") for each in index.history.kept()]
    show({"jobs": kept}, lambda: display.history(kept), as_json=as_json)


def roll_back(choice: IndexChoice, number: int | None, *, as_json: bool) -> None:
    """Let readers get the index as it was before a job; None for the last."""
    config = choice.existing()
    with ArchitectureIndex(config) as index:
        undone = go_back(index, number)
        live = index.live
        result = {
            "rows": index.count(),
            "undone": ", ".join(f"{each.number} ({each.job})" for each in undone),
            "encoder": live.encoder,
            "collection": live.name,
            "uri": config.uri,
        }
    show(result, lambda: display.properties("Rolled back", result), as_json=as_json)


def snapshot(choice: IndexChoice, directory: Path, *, as_json: bool) -> None:
    """Save every row of the index in a new directory."""
    with (
        ArchitectureIndex(choice.existing()) as index,
        progress("saving", index.count()) as advance,
    ):
        taken = take_snapshot(index, directory, advance)
    _show_snapshot("Snapshot", taken, directory, as_json=as_json)


def restore(choice: IndexChoice, directory: Path, *, other_encoder: bool, as_json: bool) -> None:
    """Publish an index of the rows of a snapshot."""
    with ArchitectureIndex(choice.config().index) as index:
        with progress("restoring", Snapshot.read(directory).rows) as advance:
            restored = restore_snapshot(
                index, directory, other_encoder=other_encoder, advance=advance
            )
        if choice.workspace.root.is_dir():
            keep_novelty(index, choice.workspace.novelty, encoder=restored.encoder)
    _show_snapshot("Restored", restored, directory, as_json=as_json)


def _show_snapshot(title: str, taken: Snapshot, directory: Path, *, as_json: bool) -> None:
    result = {
        "rows": taken.rows,
        "encoder": taken.encoder,
        "collection": taken.collection,
        "taken": taken.taken,
        "directory": str(directory),
    }
    show(result, lambda: display.properties(title, result), as_json=as_json)


def show_orphans(choice: IndexChoice, *, drop: bool, idle_hours: float, as_json: bool) -> None:
    """Show the collections that no alias leads to, or drop the unused ones and show them."""
    config = choice.existing()
    with closing(Milvus(config)) as milvus:
        idle_s = idle_hours * 3_600
        chosen = drop_orphans(milvus, idle_s=idle_s) if drop else orphans(milvus)
    result = {each.collection.name: _orphan(each) for each in chosen}
    title = "Dropped" if drop else "Collections that no alias leads to"
    none = f"{title}: none in the index at {config.uri}"
    show(result, lambda: display.properties(title, result) if result else none, as_json=as_json)


def _orphan(orphan: Orphan) -> str:
    state = "dead" if orphan.is_dead else f"build {orphan.job or 'without a name'}"
    return f"{state}, {orphan.idle_s / 3_600:.1f} h without life"
