"""A corpus of which a part is another: what a job that goes on has to find and do anew."""

import shutil
from dataclasses import replace
from pathlib import Path

from nar.corpus import Corpus, write_shard
from nar.corpus.manifest import Manifest

SHARE = 0.01


def linked(corpus: Path, target: Path) -> None:
    """The same corpus in another directory, which may be changed; no byte is copied."""
    target.mkdir(parents=True)
    for file in corpus.iterdir():
        if file.is_file():
            (target / file.name).hardlink_to(file)


def change(corpus: Path) -> None:
    """Give every hundredth row another task, in as few shards as hold so many."""
    manifest = Manifest.read(corpus)
    left = round(sum(entry.rows for entry in manifest.shards) * SHARE)
    entries = {}
    for entry, items in Corpus(corpus).shards():
        changed = [
            replace(item, labels=replace(item.labels, task="another")) for item in items[:left]
        ]
        # Under another name: others have the same file.
        path = corpus / f"changed-{entry.file}"
        entries[entry.file] = write_shard(path, [*changed, *items[left:]])
        left -= len(changed)
        if not left:
            break
    shards = tuple(entries.get(entry.file, entry) for entry in manifest.shards)
    manifest.model_copy(update={"shards": shards}).write(corpus)


def changed_corpus(corpus: Path, target: Path) -> Path:
    """The changed one in another directory; as it is, if it was made before."""
    if not target.exists():
        part = target.with_name(f"{target.name}.part")
        shutil.rmtree(part, ignore_errors=True)
        linked(corpus, part)
        change(part)
        part.rename(target)
    return target
