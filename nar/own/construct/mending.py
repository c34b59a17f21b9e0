"""Where building a module fails: a mend for each kind of error, after which it is built again."""

import ast
import inspect
import re
import textwrap
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any, Final

from nar.own.construct.findings import Findings
from nar.own.construct.imports.removed_names import of_python_2
from nar.own.construct.imports.weights import is_any_left_out, skips_loading

# From an error, the folder of the repository and the findings to whether something was put right.
_Mend = Callable[[BaseException, Path, Findings], bool]
_REFUSED: Final = re.compile(
    r"(\w+?)(?:\.__init__)?\(\) got an unexpected keyword argument '(\w+)'"
)
_COPYING: Final = re.compile(r"state_dict|\.copy_\(|\.data\b|\.weight\b|\.bias\b|pretrain")
_LEFT_OUT: Final = "_nar_left_out"  # the attribute with the lines that a function does without
_DROPPED: Final = "_nar_dropped"  # the attribute with the arguments that a replacement drops


def mends(error: BaseException, root: Path, findings: Findings) -> bool:
    """Put right what building failed at; whether it is worth to build again.

    Args:
        error: What was raised.
        root: The folder of the repository.
        findings: Where what was left out or put back is recorded.
    """
    return any(each(error, root, findings) for each in _MENDS)


def _names_of_python_2(error: BaseException, _: Path, findings: Findings) -> bool:
    return of_python_2(error, findings)


def _without_removed_argument(error: BaseException, root: Path, findings: Findings) -> bool:
    """Do without an argument that an installed library takes no more, where it is None.

    A library that had the argument took None for its own choice, which is what it does without.
    """
    found = _REFUSED.search(str(error)) if isinstance(error, TypeError) else None
    frame, line = _innermost(error)
    if found is None or frame is None or not _is_below(frame, root):
        return False
    name, argument = found[1], found[2]
    bound, real = next(
        (
            (key, each)
            for key, each in frame.f_globals.items()
            if getattr(each, "__name__", "") == name and _is_of_library(each)
        ),
        ("", None),
    )
    if real is None or argument in getattr(real, _DROPPED, ()):
        return False
    library = str(getattr(real, "__module__", "")).partition(".")[0]
    what = f"the {name} of the installed {library} takes no {argument}: None is not passed"
    note = f"{Path(frame.f_code.co_filename).name}:{line}: {what}"
    frame.f_globals[bound] = _dropping(real, argument, lambda: findings.skip(note))
    return True


def _dropping(real: Any, argument: str, note: Callable[[], None]) -> Any:  # noqa: ANN401
    """A class or function that is not given an argument where it is None."""

    def rest(given: dict[str, Any]) -> dict[str, Any]:
        if argument not in given or given[argument] is not None:
            return given
        note()
        return {name: value for name, value in given.items() if name != argument}

    dropped = {*getattr(real, _DROPPED, ()), argument}
    if not inspect.isclass(real):

        def call(*args: Any, **given: Any) -> Any:  # noqa: ANN401
            return real(*args, **rest(given))

        call.__name__, call.__module__ = real.__name__, real.__module__
        setattr(call, _DROPPED, dropped)
        return call

    def initialise(self: Any, *args: Any, **given: Any) -> None:  # noqa: ANN401
        real.__init__(self, *args, **rest(given))

    own = {"__init__": initialise, "__module__": real.__module__, _DROPPED: dropped}
    made: Any = type(real)
    return made(real.__name__, (real,), own)


def _without_copying(error: BaseException, root: Path, findings: Findings) -> bool:
    """Leave a statement out that fails at copying weights which are not loaded."""
    if not is_any_left_out(findings):
        return False
    frame, line = _innermost(error)
    if frame is None or not _is_below(frame, root):
        return False
    function, owner = _function_of(frame)
    if function is None:
        return False
    before: frozenset[int] = getattr(function, _LEFT_OUT, frozenset())
    code = None if line in before else _code_without(function, owner, before | {line})
    if code is None:
        return False
    name = Path(frame.f_code.co_filename).name
    findings.skip(f"{name}:{line}: it copies weights that are not loaded: it is left out")
    function.__code__ = code
    setattr(function, _LEFT_OUT, before | {line})
    return True


def _code_without(function: FunctionType, owner: str, left_out: frozenset[int]) -> CodeType | None:
    """The code of a function without the loops, or the statements, that copy weights.

    Args:
        function: It.
        owner: The name of its class; empty where it has none.
        left_out: Their lines in its file.

    Returns:
        None where what stands there copies none, or the function has no lines.
    """
    try:
        lines, first = inspect.getsourcelines(function)
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except (OSError, TypeError, SyntaxError):
        return None
    ast.increment_lineno(tree, first - 1)
    for line in left_out:
        around = [
            node
            for node in ast.walk(tree.body[0])
            if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or 0)
        ]
        loops = [node for node in around if isinstance(node, ast.For | ast.While)]
        wanted = (loops or around)[-1] if around else None
        if isinstance(wanted, ast.Pass):  # it went with another line
            continue
        if wanted is None or wanted is tree.body[0] or not _COPYING.search(ast.unparse(wanted)):
            return None
        tree = _Without(wanted).visit(tree)
    made = tree.body[0]
    if not isinstance(made, ast.FunctionDef):
        return None
    made.decorator_list = []
    if owner:  # its private names are those of its class
        tree.body = [ast.copy_location(ast.ClassDef(owner, [], [], [made], []), made)]
    code = compile(ast.fix_missing_locations(tree), function.__code__.co_filename, "exec")
    for name in (owner, made.name) if owner else (made.name,):
        code = next(
            each for each in code.co_consts if isinstance(each, CodeType) and each.co_name == name
        )
    return code if code.co_freevars == function.__code__.co_freevars else None


class _Without(ast.NodeTransformer):
    """Puts ``pass`` in the place of a statement."""

    def __init__(self, wanted: ast.stmt) -> None:
        self._wanted = wanted

    def visit(self, node: ast.AST) -> Any:  # noqa: ANN401
        if node is self._wanted:
            return ast.copy_location(ast.Pass(), node)
        return self.generic_visit(node)


_MENDS: Final[tuple[_Mend, ...]] = (
    skips_loading,
    _names_of_python_2,
    _without_removed_argument,
    _without_copying,
)


def _innermost(error: BaseException) -> tuple[FrameType | None, int]:
    """The frame that raised an error, and its line; those of replacements are passed over."""
    found: tuple[FrameType | None, int] = (None, 0)
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename != __file__:
            found = trace.tb_frame, trace.tb_lineno
        trace = trace.tb_next
    return found


def _is_below(frame: FrameType, root: Path) -> bool:
    name = frame.f_code.co_filename
    return Path(name).is_relative_to(root) and "site-packages" not in name


def _is_of_library(held: object) -> bool:
    if not inspect.isclass(held) and not inspect.isfunction(held):
        return False
    try:
        file = inspect.getfile(held)
    except (TypeError, OSError):
        return False
    return "site-packages" in file or hasattr(held, _DROPPED)


def _function_of(frame: FrameType) -> tuple[FunctionType | None, str]:
    """The function that a frame runs, and the name of its class if it is a method."""
    name = frame.f_code.co_name
    for cls in type(frame.f_locals.get("self")).__mro__:
        held = vars(cls).get(name)
        if inspect.isfunction(held) and held.__code__ is frame.f_code:
            return held, cls.__name__
    held = frame.f_globals.get(name)
    return (held, "") if inspect.isfunction(held) and held.__code__ is frame.f_code else (None, "")
