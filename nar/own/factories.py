"""A program of a user's: it is run, and the graph of its module captured."""

import os
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import Final
from zipfile import BadZipFile, ZipFile

import torch
from torch import nn

from nar.base.asking import Asking
from nar.base.errors import CaptureError, InvalidInputError, one_line
from nar.capture import Capture
from nar.capture.forward.opaque import keep_whole
from nar.own.calling import ModuleCaller, traced
from nar.own.construct.arguments import Arguments
from nar.own.construct.evidence.sources import stated_by_parsers
from nar.own.given import stated_of, zeros_of
from nar.own.inputs import NoInputsError, UndecidedError
from nar.own.making import Made, maker_of, with_findings
from nar.own.user_code import as_at_home
from nar.zoo.building import UninitialisedOnMeta, lightly
from nar.zoo.sources.transformers.known_values import known_values

# Ways to make a module that are tried until inputs are found. Chosen: a search for inputs that
# finds none takes ten seconds, and a fourth way is a guess.
_MOST_WAYS: Final = 3
_Surroundings = Callable[[], AbstractContextManager[object]]

_GB = 10**9  # bytes in a gigabyte, for messages
# Two ways to build and call a module without weights: contexts around both, around the building,
# and around the call. The second keeps constants on the meta device too, where no size is too
# large, so their values have to be known from where they are made.
_WITHOUT_WEIGHTS: tuple[tuple[_Surroundings, _Surroundings, _Surroundings], ...] = (
    (nullcontext, lightly, known_values),
    (known_values, UninitialisedOnMeta, nullcontext),
)


def capture_factory(
    path: Path,
    factory: str,
    arguments: Arguments,
    asking: Asking,
    *,
    name: str,
) -> Capture:
    """The graph of a module that a file makes: without weights if that works, else with them.

    The file is run once, its factory again for each way of building the module that fails: without
    weights, without any data, and for real. Real weights may take half of the machine's memory, for
    what the forward makes lies there as well.

    Args:
        path: The file. It may import its neighbours, and lie in a package.
        factory: What makes the module: a function, a class, or the module itself.
        arguments: What the factory is called with.
        asking: What the user states; inputs go before those that the module brings.
        name: Name of the model, for errors.

    Raises:
        UnknownArchitectureError: The file has no such factory.
        CaptureError: The user's code failed or made no module; or no inputs were found that the
            module runs on; or it has to be built with weights, and these are too large.
    """
    with as_at_home(path) as code:
        given = stated_of(asking)
        stated = partial(stated_by_parsers, code.repository)
        maker = maker_of(name, code, factory, arguments)
        failure: CaptureError | None = None
        for _ in range(_MOST_WAYS):
            try:
                capture = _attempts(maker.make, ModuleCaller(name, given, stated), name)
            except CaptureError as error:
                # That the first way leads nowhere is what its owner has to know.
                failure = failure or error
                if isinstance(error, UndecidedError) or not maker.another():
                    break
            else:
                return with_findings(capture, code.findings)
        assert failure is not None, "each way that did not return failed"
        raise failure


def capture_scripted(path: Path, asking: Asking, *, name: str) -> Capture:
    """The graph of a TorchScript program, which torch's own interpreter runs.

    Args:
        path: A file of ``torch.jit.save``.
        asking: States every input: the file states none. A type that is left open is float32.
        name: Name of the model, for errors.

    Raises:
        InvalidInputError: No inputs are stated.
        CaptureError: It is no such file, its weights are too large, or it did not run.
    """
    try:
        with ZipFile(path) as archive:
            size = sum(entry.file_size for entry in archive.infolist())
        _check_size(name, size, "it is run with its weights")
        with warnings.catch_warnings():
            # It is deprecated, and files of it are held.
            warnings.simplefilter("ignore", DeprecationWarning)
            module = torch.jit.load(path, map_location="cpu")  # type: ignore[no-untyped-call]
        keep_whole(module)
    except (BadZipFile, RuntimeError, ValueError, OSError) as error:
        raise CaptureError(name, "-", one_line(error)) from error
    if not hasattr(module, "forward"):
        raise CaptureError(name, "-", "wanted a program with a forward, came one without")
    names = [each.name for each in module.forward.schema.arguments if each.name != "self"]
    given = stated_of(asking)
    if not given:
        shown = " ".join(f"--input {each}=SIZES[:TYPE]" for each in names)
        raise InvalidInputError(name, f"a TorchScript file states no inputs: wanted {shown}")
    # The interpreter takes arguments by position: names of a traced program are torch's own.
    strange = [each for each in given.kwargs if each not in names]
    if strange:
        wanted = f"wanted an input of the program: {', '.join(names)}"
        raise InvalidInputError(f"--input {strange[0]}=", wanted)
    return traced(name, module, zeros_of(given))


def _attempts(make: Callable[[], Made], caller: ModuleCaller, name: str) -> Capture:
    """The first capture for which a module can be built and called."""
    module, failure = None, None
    for around, building, calling in _WITHOUT_WEIGHTS:
        try:
            with around():
                with building():
                    module, inputs = make()
                with calling():
                    return caller.capture(module, inputs)
        except NoInputsError:
            raise
        except CaptureError as error:
            failure = failure or error
    if module is not None and failure is not None:
        _check_weights(name, module, failure)
    # Values may decide what runs, so the weights are the same each time.
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        made = make()
    return caller.capture(*made)


def _check_weights(name: str, module: nn.Module, without: CaptureError) -> None:
    """Refuse a module whose weights this machine has no memory for.

    Raises:
        CaptureError: They are too large; the reason also says why they were needed.
    """
    size = sum(weight.numel() * weight.element_size() for weight in module.parameters())
    try:
        _check_size(name, size, f"{without.reason}; with real weights it may pass")
    except CaptureError as error:
        raise CaptureError(name, without.operator, error.reason) from without


def _check_size(name: str, size: int, why: str) -> None:
    """Refuse weights that take more than half of the memory.

    Raises:
        CaptureError: They do.
    """
    limit = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    if size > limit:
        reason = (
            f"{why}, but those may take {limit / _GB:.1f} GB here and take {size / _GB:.1f} GB: "
            "make it of smaller layers"
        )
        raise CaptureError(name, "-", reason)
