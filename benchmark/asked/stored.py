"""What was measured, kept in `results/asked.json`: answers by what was asked."""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from benchmark.asked.asking import Asked
from benchmark.asked.repositories import Answer
from nar.base.files import write_whole

FILE: Final = "asked.json"


@dataclass(frozen=True, slots=True)
class Measured:
    """All answers.

    Attributes:
        validation: Of classes of libraries that help to choose.
        test: Of classes of the other libraries, at the first look.
        second: Of the same classes, at the second look.
        third: Of the same classes, at the third look.
        fourth: Of the same classes, at the fourth look.
        again: Of the same classes, at the last look.
        rest: Of classes of the same libraries that were not drawn at first.
        unseen: Of classes that were drawn last, and asked about once.
        written: Of written networks.
        tuned: Of repositories whose failures were looked at.
        earlier: Of repositories that were chosen first, at the first look.
        before: Of repositories that were chosen next, at the first look.
        before_again: Of the same repositories, at the second look.
        since: Of repositories that were chosen then, at the first look.
        since_again: Of the same repositories, at the second look.
        then: Of repositories that were chosen before the last, at the first look.
        then_again: Of the same repositories, at the second look.
        last: Of repositories that were chosen last but one, at the first look.
        last_again: Of the same repositories, at the second look.
        fresh: Of repositories on which nothing was tuned, and that were asked once.
        fresh_again: Of the same repositories, at the second look.
    """

    validation: tuple[Asked, ...] = ()
    test: tuple[Asked, ...] = ()
    second: tuple[Asked, ...] = ()
    third: tuple[Asked, ...] = ()
    fourth: tuple[Asked, ...] = ()
    again: tuple[Asked, ...] = ()
    rest: tuple[Asked, ...] = ()
    unseen: tuple[Asked, ...] = ()
    written: tuple[Asked, ...] = ()
    tuned: tuple[Answer, ...] = ()
    earlier: tuple[Answer, ...] = ()
    before: tuple[Answer, ...] = ()
    before_again: tuple[Answer, ...] = ()
    since: tuple[Answer, ...] = ()
    since_again: tuple[Answer, ...] = ()
    then: tuple[Answer, ...] = ()
    then_again: tuple[Answer, ...] = ()
    last: tuple[Answer, ...] = ()
    last_again: tuple[Answer, ...] = ()
    fresh: tuple[Answer, ...] = ()
    fresh_again: tuple[Answer, ...] = ()


_READERS: Final[dict[str, Callable[[dict[str, Any]], Asked | Answer]]] = {
    "validation": Asked.from_plain,
    "test": Asked.from_plain,
    "second": Asked.from_plain,
    "third": Asked.from_plain,
    "fourth": Asked.from_plain,
    "again": Asked.from_plain,
    "rest": Asked.from_plain,
    "unseen": Asked.from_plain,
    "written": Asked.from_plain,
    "tuned": Answer.from_plain,
    "earlier": Answer.from_plain,
    "before": Answer.from_plain,
    "before_again": Answer.from_plain,
    "since": Answer.from_plain,
    "since_again": Answer.from_plain,
    "then": Answer.from_plain,
    "then_again": Answer.from_plain,
    "last": Answer.from_plain,
    "last_again": Answer.from_plain,
    "fresh": Answer.from_plain,
    "fresh_again": Answer.from_plain,
}


def read(results: Path) -> Measured:
    """What was measured so far; nothing where there is no file."""
    path = results / FILE
    if not path.is_file():
        return Measured()
    content = json.loads(path.read_text())
    parts: dict[str, Any] = {
        part: tuple(reader(row) for row in content.get(part, ()))
        for part, reader in _READERS.items()
    }
    return Measured(**parts)


def write(results: Path, part: str, answers: Sequence[Asked | Answer]) -> None:
    """Put the answers of one part in place of what stands there.

    Args:
        results: Directory of the file.
        part: A field of `Measured`.
        answers: The answers.
    """
    content = asdict(read(results)) | {part: [asdict(each) for each in answers]}
    lines = [
        f' "{name}": [\n' + ",\n".join(f"  {json.dumps(row)}" for row in rows) + "\n ]"
        for name, rows in content.items()
    ]
    text = "{\n" + ",\n".join(lines) + "\n}\n"
    results.mkdir(parents=True, exist_ok=True)
    write_whole(results / FILE, lambda path: path.write_text(text))
