"""The page ``asked.md``: what is found of a module that one has, without a word of its inputs."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from benchmark.asked.asking import Asked
from benchmark.asked.classes import AskedLibrary, asked_libraries
from benchmark.asked.repositories import Answer, Repository, repositories
from benchmark.asked.shares import VERDICTS, seconds, shares
from benchmark.asked.stored import Measured, read
from benchmark.asked.written import written_networks
from benchmark.reporting.markdown import keep_page, markdown_table

PAGE: Final = "asked.md"
_SHORT: Final = 90  # columns of a reason in a table; chosen: what a reader takes in
_FURTHER: Final = (
    "wrong, said to be unsure",
    "refused as undecided, though right / wrong",
    "s, median / p90",
)
_INTRODUCTION: Final = (
    "A module is made with its true arguments, and asked about without its inputs: "
    "`nar search FILE:Class`. **Right** is an answer whose graph is that of the true inputs, by "
    "the fingerprint of its topology; **wrong** runs and has another one; else it is **refused**, "
    "since the fourth look also as undecided: another call might as well be meant, and has another "
    "graph. "
    "Intervals are 95%, of whole libraries (kinds, for written networks) drawn again. Seconds are "
    "those beyond imports, building and capture, on a machine with two cores that others used too; "
    "of the processor since the fourth look, of the clock on the wall before."
)
_COMMANDS: Final[Mapping[str, str]] = {
    "classes": "python -m benchmark asked classes validation --results results\n"
    "python -m benchmark asked classes test --again --results results\n"
    "python -m benchmark asked classes rest --results results",
    "unseen": "python -m benchmark asked classes unseen --results results",
    "written": "python -m benchmark asked written --results results",
    "repositories": "python -m benchmark asked repositories tuned FOLDER BOX --results results\n"
    "python -m benchmark asked repositories since FOLDER BOX --again --results results\n"
    "python -m benchmark asked repositories fresh FOLDER BOX --results results",
}


def as_markdown(measured: Measured) -> str:
    """The page of what was measured."""
    blocks = [
        "# Asking with what one has",
        _INTRODUCTION,
        *_of_classes(measured),
        *_of_written(measured.written),
        *_of_repositories(measured),
    ]
    return "\n\n".join(blocks) + "\n"


def write_page(results: Path) -> None:
    """Write the page of the answers that are kept.

    Args:
        results: Directory with ``asked.json``, gets ``asked.md``.
    """
    text = as_markdown(read(results))
    keep_page(results, PAGE, text)


def library_of(libraries: Sequence[AskedLibrary]) -> dict[str, str]:
    """Path of a class -> its library."""
    return {each.path: library.name for library in libraries for each in library.classes}


def _shares_row(name: str, asked: Sequence[Asked], groups: Mapping[str, str]) -> list[str]:
    counted = [each for each in asked if each.verdict in VERDICTS]
    by_verdict = shares(counted, groups)
    median, p90 = seconds(counted)
    unsure = sum(each.verdict == "wrong" and not each.is_sure for each in counted)
    guesses = [sum(each.guess == guess for each in counted) for guess in ("right", "wrong")]
    of_groups = len({groups[each.name] for each in counted})
    return [
        name, str(of_groups), str(len(counted)), *(str(by_verdict[each]) for each in VERDICTS),
        str(unsure), " / ".join(map(str, guesses)), f"{median:.2f} / {p90:.2f}",
    ]  # fmt: skip


def _of_classes(measured: Measured) -> Iterator[str]:
    libraries = list(asked_libraries())
    groups = library_of(libraries)
    looks = {
        "validation": measured.validation,
        "test, first look": measured.test,
        "test, second look": measured.second,
        "test, third look": measured.third,
        "test, fourth look": measured.fourth,
        "test, fifth look": measured.again,
        "test, not drawn at first": measured.rest,
        "drawn last": measured.unseen,
    }
    yield "## Classes of libraries"
    commands = [_COMMANDS["classes"], *([_COMMANDS["unseen"]] if measured.unseen else [])]
    yield "\n".join(["```sh", *commands, "```"])
    total = sum(len(library.classes) for library in libraries)
    first = [library for library in libraries if library.half in ("validation", "test")]
    public, shown = (sum(getattr(each, key) for each in first) for key in ("public", "shown"))
    no_text, no_truth = (
        sum(getattr(each, key) for each in first) for key in ("without_text", "without_truth")
    )
    drawn = sum(len(library.classes) for library in first)
    yield (
        f"{drawn} classes of {len(first)} libraries, drawn by a seed from those that the "
        "libraries' own docstrings, README and tests, or the tables of the zoo, call: arguments "
        "and inputs are what was called there (`benchmark/asked/classes.yaml`). Of "
        f"{public:,} public classes {shown:,} are called so; {no_text} more are called with what "
        f"cannot be written as text, and {no_truth} that were drawn gave way to others, because "
        "they have no weights or are not captured with their true inputs. The half that chooses "
        "was looked at while the inference of inputs was written, library by library, and its "
        "answers are those of the last time; that a question is refused as undecided was chosen "
        "on it. The half that tests was asked once; "
        "its failures were read, kinds of them were mended on models of our own and on the other "
        "half, and it was asked again: six refusals of the second look were errors of our own, and "
        "were mended before the third. The fifth look is at its time: the search was made faster, "
        "and the other half alone was looked at meanwhile; it was repeated once a fault of the "
        "faster search was mended, which a repository had shown. "
        f"{_number(libraries, 'rest')} classes of its libraries that were not drawn at first were "
        "asked about at the second look, once. "
        f"{_of_unseen(libraries)}Not asked, or without a truth where they were asked: "
        f"{total - _counted(measured)} of the {total}."
    )
    header = ("half", "libraries", "classes", *VERDICTS, *_FURTHER)
    yield markdown_table(
        header,
        [_shares_row(look, asked, groups) for look, asked in looks.items() if asked],
    )
    yield markdown_table(
        ("library", "half", "read", *VERDICTS), list(_libraries(libraries, measured))
    )
    failed = [
        [f"`{each.name}`", each.verdict, _short(each.reason or ", ".join(each.inputs))]
        for each in (*_latest(measured), *measured.rest, *measured.unseen)
        if each.verdict in ("wrong", "refused")
    ]
    yield "Of the half that tests, what was not right at the last look:"
    yield markdown_table(("class", "verdict", "assumed, or why it was refused"), failed)


def _number(libraries: Sequence[AskedLibrary], half: str) -> int:
    return sum(len(each.classes) for each in libraries if each.half == half)


def _of_unseen(libraries: Sequence[AskedLibrary]) -> str:
    """What is said of the classes that were drawn last; nothing while none are."""
    number = _number(libraries, "unseen")
    if not number:
        return ""
    names = ", ".join(each.name for each in libraries if each.half == "unseen")
    return (
        f"{number} were drawn last, by a seed, of {names}, and asked about once, after the last "
        "change: no lock of ours has these libraries, so they came from the package index into a "
        "folder of their own (`pip install --no-deps --target`), and ran in a box without network. "
    )


def _latest(measured: Measured) -> Sequence[Asked]:
    """The answers of the half that tests, of its last look."""
    return measured.again or measured.fourth or measured.test


def _all(measured: Measured) -> Iterator[Asked]:
    """The last answer of every class."""
    yield from (*measured.validation, *_latest(measured), *measured.rest, *measured.unseen)


def _counted(measured: Measured) -> int:
    return sum(each.verdict in VERDICTS for each in _all(measured))


def _libraries(libraries: Sequence[AskedLibrary], measured: Measured) -> Iterator[list[str]]:
    verdicts = {each.name: each.verdict for each in _all(measured)}
    for library in libraries:
        count = Counter(verdicts.get(each.path) for each in library.classes)
        numbers = [str(count[verdict]) for verdict in VERDICTS]
        yield [library.name, library.half, library.version, *numbers]


def _of_written(asked: Sequence[Asked]) -> Iterator[str]:
    kinds = {each.name: each.kind for each in written_networks()}
    yield "## Written networks"
    yield f"```sh\n{_COMMANDS['written']}\n```"
    yield (
        f"{len(kinds)} small networks in ten kinds that a script writes "
        "(`benchmark/asked/kinds.yaml`), each a class in a file of its own."
    )
    if not asked:
        return
    header = ("", "kinds", "networks", *VERDICTS, *_FURTHER)
    yield markdown_table(header, [_shares_row("all", asked, kinds)])
    counts: dict[str, Counter[str]] = {kind: Counter() for kind in kinds.values()}
    for each in asked:
        counts[kinds[each.name]][each.verdict] += 1
    lines = [
        [kind, *(str(count[verdict]) for verdict in VERDICTS)] for kind, count in counts.items()
    ]
    yield markdown_table(("kind", *VERDICTS), lines)


def _of_repositories(measured: Measured) -> Iterator[str]:
    yield "## Public repositories"
    yield f"```sh\n{_COMMANDS['repositories']}\n```"
    yield (
        "The main class of each is asked alone: `nar search path/to/file.py:Class`. It is "
        "**captured** where it was built and called, and **the same** where it has as many learned "
        "scalars as the repository's own scripts give it; weights that a script freezes count. "
        "Others are up to four further classes that a seed draws, as far as a run came. Their code "
        "is not here; it ran in a box without network and with a "
        "read-only disk. Effects are programs, connections and writes that got past the guard, "
        "noted behind it. The fresh ones, and those chosen last before them, are the first twenty "
        "of a list of well-known repositories of as many fields, which was written down before any "
        "was opened; a repository that was too large to be brought, or whose code had become a "
        "library that was asked about above, gave way to the next. Where the class "
        "alone fails, a wrapper as `nar wrap` prints it was filled in by hand, in so many lines."
    )
    for purpose in _TITLES:
        answers: Sequence[Answer] = getattr(measured, purpose)
        if not answers:
            continue
        known = {each.name: each for each in repositories(purpose.removesuffix("_again"))}
        yield f"### {_TITLES[purpose]}"
        yield _summary(known, answers)
        header = ("subject", "repository", "class", "captured", "the same", "nearest, or why not")
        yield markdown_table(
            (*header, "others captured", "with a wrapper"),
            [_repository(each, answers) for each in known.values()],
        )


_TITLES: Final[Mapping[str, str]] = {
    "fresh": "Chosen freshly: nothing was tuned on them, and each was asked once",
    "fresh_again": "Chosen freshly, second look at what had failed: the failures had been read, "
    "kinds of them were mended on models of our own",
    "last_again": "Chosen last before them, second look at what had failed: kinds were mended on "
    "them",
    "last": "Chosen last before them, first look: nothing was tuned on them",
    "then_again": "Chosen before the last, second look at what had failed: the failures had been "
    "read, kinds of them were mended on models of our own",
    "then": "Chosen before the last, first look: nothing was tuned on them",
    "since_again": "Chosen before those, second look at what had failed: the failures had been "
    "read, kinds of them were mended on models of our own",
    "since": "Chosen before those, first look: nothing was tuned on them",
    "before_again": "Chosen still before, second look: their failures had been read, kinds of them "
    "were mended on other repositories",
    "before": "Chosen still before, first look: nothing was tuned on them",
    "earlier": "Chosen first, asked of an earlier state; now kinds are mended on them",
    "tuned": "Their failures were looked at",
}


def _summary(known: Mapping[str, Repository], answers: Sequence[Answer]) -> str:
    main = [each for each in answers if each.is_main]
    others = [each for each in answers if not each.is_main]
    captured = sum(bool(each.parameters) for each in main)
    same = sum(is_same(known[each.repository], each) for each in main)
    assumed = sum(
        bool(each.values) for each in main
        if each.parameters and not is_same(known[each.repository], each)
    )  # fmt: skip
    effects = sum(len(each.effects) for each in answers)
    others_captured = sum(bool(each.parameters) for each in others)
    said = ""
    if others:
        share = others_captured / len(others)
        said = f"Of {len(others)} others {others_captured} are captured ({share:.2f}). "
    ended = f"The run ended after {len(main)} of {len(known)}. " if len(main) < len(known) else ""
    return (
        f"{ended}Of {len(main)} main classes {captured} are captured ({captured / len(main):.2f}), "
        f"{same} with the parameters of their own scripts ({same / len(main):.2f}); {assumed} of "
        f"the other {captured - same} say which values they assumed. {said}Effects: {effects}."
    )


def is_same(repository: Repository, answer: Answer) -> bool:
    """Whether a main class has the parameters that the repository's own scripts give it."""
    return answer.parameters in repository.parameters


def _repository(repository: Repository, answers: Sequence[Answer]) -> list[str]:
    own = [each for each in answers if each.repository == repository.name]
    others = [each for each in own if not each.is_main]
    main = next((each for each in own if each.is_main), None)
    captured = f"{sum(bool(each.parameters) for each in others)} of {len(others)}" if others else ""
    if main is None:
        return [repository.subject, repository.name, f"`{repository.main}`", "not asked"]
    same = "yes" if is_same(repository, main) else "no"
    if not repository.parameters:
        same = "depends on data"
    how = "not without a wrapper" if repository.wrapper else "it cannot run here"
    why = f"{how}: {repository.cannot}" if repository.cannot else main.reason
    return [
        repository.subject,
        f"{repository.name} {repository.commit[:7]}",
        f"`{repository.main}`",
        "yes" if main.parameters else "no",
        same if main.parameters else "",
        main.nearest or _short(why),
        captured,
        "" if main.parameters else repository.wrapper,
    ]


def _short(text: str) -> str:
    plain = text.replace("|", "/").replace("\n", " ")
    return plain if len(plain) <= _SHORT else f"{plain[: _SHORT - 3]}..."
