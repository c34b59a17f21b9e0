"""Evidence of true arguments and inputs, found by running a library's own examples.

``python -m benchmark.asked.mining LIBRARY TARGET`` writes what one library shows, and is meant for
a box: it runs code of other people. It is given the folder of the library's tests where they are
not installed with it.
"""

import argparse
import contextlib
import io
import json
import signal
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest
import torch
from torch import nn

from benchmark.asked.examples import (
    Example,
    classes_of,
    docstring_examples,
    page_examples,
    readme_examples,
    statements,
)
from benchmark.asked.recording import Recorder
from nar.zoo.libraries import import_library, ready_for_libraries

# Seconds of the processor, chosen: what an example shows of shapes it shows in the first of them;
# some train for hours.
_SECONDS: Final = 8
# Chosen: more names of a source are the same classes in other sizes.
_SPECS: Final = 40


class _TooLongError(BaseException):
    """An example took too long; no `except Exception` of its own may stop that."""


@contextlib.contextmanager
def _at_most(seconds: int) -> Iterator[None]:
    def stop(*_: object) -> None:
        raise _TooLongError

    signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    except _TooLongError:
        pass
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def run_examples(recorder: Recorder, examples: Iterator[Example]) -> int:
    """Run examples one by one; what fails in them is left out. Returns how many there were."""
    number = 0
    for example in examples:
        number += 1
        recorder.place = example.place
        names: dict[str, Any] = {
            "torch": torch, "nn": nn, "np": np, **example.names, "__name__": "example",
        }  # fmt: skip
        with _at_most(_SECONDS), contextlib.redirect_stdout(io.StringIO()):
            for code in statements(example.code):
                with contextlib.suppress(Exception, SystemExit):
                    exec(code, names)
    return number


def run_tests(recorder: Recorder, folder: Path) -> None:
    """Run the tests in a folder, whatever they say."""

    class Places:
        def pytest_runtest_setup(self, item: pytest.Item) -> None:
            recorder.place = f"test {item.nodeid}"

    options = ["-q", "-x", "--maxfail=100000", f"--timeout={_SECONDS}", "-p", "no:cacheprovider"]
    options += ["--continue-on-collection-errors", "-o", "addopts=", "-W", "ignore", "-o"]
    options += ["filterwarnings=", "--tb=no", "--rootdir", str(folder), "--no-header"]
    pytest.main([*options, str(folder)], plugins=[Places()])


def run_zoo(recorder: Recorder, source: str) -> None:
    """Build and call what the tables of the zoo name of a library."""
    from nar.base.errors import NarError
    from nar.own import capture_architecture
    from nar.zoo.sources import source_of

    known = source_of(f"{source}:")
    assert known is not None, f"the zoo has no source {source}"
    specs = known.specs()
    # An import that is stopped leaves half a library behind.
    import_library(recorder.library)
    for spec in specs[:: max(1, len(specs) // _SPECS)]:
        recorder.place = f"zoo {spec}"
        with _at_most(_SECONDS), contextlib.suppress(NarError):
            capture_architecture(spec)


def main() -> None:
    """Mine one library."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("library")
    parser.add_argument("target", type=Path)
    parser.add_argument("--distribution", default="")
    parser.add_argument("--tests", type=Path, nargs="*", default=[])
    parser.add_argument("--readme", type=Path)
    parser.add_argument("--zoo", default="")
    parser.add_argument("--examples", action="store_true")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    with ready_for_libraries():
        _mine(given)


def _where_it_is(moved: Any, *_: object, **__: object) -> Any:  # noqa: ANN401
    """In place of `cuda`: an example that was written for a GPU shows the same shapes without."""
    return moved


def _mine(given: argparse.Namespace) -> None:
    torch.Tensor.cuda = nn.Module.cuda = _where_it_is  # type: ignore[method-assign,assignment]
    recorder = Recorder(given.library)
    steps: list[Callable[[], object]] = []
    if given.examples:
        name = given.distribution or given.library
        steps.append(lambda: run_examples(recorder, docstring_examples(given.library)))
        steps.append(lambda: run_examples(recorder, readme_examples(name)))
    if given.readme:
        steps.append(lambda: run_examples(recorder, page_examples(given.readme)))
    steps += [partial(run_tests, recorder, folder) for folder in given.tests]
    if given.zoo:
        steps.append(lambda: run_zoo(recorder, given.zoo))
    for step in steps:
        with recorder.recording():
            step()
        _write(given.target, recorder, [])
    # Last, for it imports all modules of a library, which takes minutes for some.
    classes = [f"{each.__module__}.{each.__qualname__}" for each in classes_of(given.library)]
    _write(given.target, recorder, classes)


def _write(target: Path, recorder: Recorder, classes: list[str]) -> None:
    found = [asdict(each) for every in recorder.found.values() for each in every]
    content = {"classes": classes, "found": found, "without_text": recorder.without_text}
    target.write_text(json.dumps(content, indent=1))


if __name__ == "__main__":
    main()
