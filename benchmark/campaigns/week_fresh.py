"""What a fresh build of a zoo gives: every model captured and embedded anew, in another process.

Run: python -m benchmark campaign week_fresh ZOO CHECKPOINT OUT SKIPPED... Neither Ray nor Milvus
nor anything that was kept takes part.
"""

import json
import sys
from collections.abc import Collection, Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np

from nar.answers.naming import Asked, captured, stated_for
from nar.base.asking import Asking
from nar.base.own_zoo import read_zoo
from nar.encoding.stored import StoredEmbedder
from nar.graphs.architecture import Architecture
from nar.index.rows import IndexRow, index_row


def captured_anew(zoo: Path, skipped: Collection[str]) -> list[Architecture]:
    """Every model of a zoo, under its name and with its labels.

    Args:
        zoo: Its folder.
        skipped: Names of models that cannot be captured.
    """
    found = []
    for each in read_zoo(zoo).models:
        if each.name not in skipped:
            asking = stated_for(each.spec, Asking(inputs=each.inputs))
            found.append(Asked.of(captured(each.spec, asking)).called(each).architecture)
    return found


def written_rows(rows: Sequence[IndexRow]) -> str:
    """Rows as JSON."""
    return json.dumps([{**asdict(row), "embedding": row.embedding.tolist()} for row in rows])


def read_rows(path: Path) -> list[IndexRow]:
    """The rows that `written_rows` has written."""
    return [
        IndexRow(**(each | {"embedding": np.array(each["embedding"], np.float32)}))
        for each in json.loads(path.read_text())
    ]


def main() -> None:
    """Write the rows of a zoo."""
    zoo, checkpoint, out, *skipped = sys.argv[1:]
    items = captured_anew(Path(zoo), skipped)
    vectors = StoredEmbedder(Path(checkpoint)).embed([item.graph for item in items])
    rows = [index_row(*pair) for pair in zip(items, vectors, strict=True)]
    Path(out).write_text(written_rows(rows))


if __name__ == "__main__":
    main()
