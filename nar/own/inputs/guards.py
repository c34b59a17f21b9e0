"""What a condition in the user's code wanted: the assertion or the guarded error that stopped it.

The condition is read from the source, and its sides are worked out again from the values that the
failed frame still holds. Only names, attributes, constants, entries and ranks are worked out: no
code of the user's runs a second time.
"""

import ast
import linecache
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from types import FrameType
from typing import Any, Final

from torch import Tensor

from nar.own.inputs.calls import NOTHING, Sources, sources_of

_SAFE: Final = (
    ast.Name, ast.Attribute, ast.Constant, ast.Subscript, ast.Slice, ast.UnaryOp, ast.USub,
    ast.BinOp, ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod, ast.Tuple, ast.List, ast.Set,
    ast.Load, ast.Call,
)  # fmt: skip
# Calls of these alone are worked out: they give numbers and change nothing.
_METHODS: Final = frozenset({"dim", "size", "ndimension"})
_FUNCTIONS: Final = frozenset({"len"})
_FILES = 32  # chosen: files of one model


@dataclass(frozen=True, slots=True)
class FailedComparison:
    """Two sides of a comparison that was not as wanted.

    Attributes:
        numbers: The numbers of both sides; the sides of a set are numbers each.
        rank_of: The inputs that a tensor comes from whose rank is compared; none, where it is no
            rank.
    """

    numbers: tuple[int, ...]
    rank_of: Sources = NOTHING


def conditions(error: BaseException | None) -> tuple[FailedComparison, ...]:
    """The comparisons in the condition that raised an error; none, where there is none."""
    frame, line = _innermost(error)
    if frame is None:
        return ()
    test = _test(frame.f_code.co_filename, line)
    if test is None:
        return ()
    found = (_condition(node, frame) for node in ast.walk(test) if isinstance(node, ast.Compare))
    return tuple(each for each in found if each is not None)


@dataclass(frozen=True, slots=True)
class Remainder:
    """A division whose remainder was not as a condition wanted.

    Attributes:
        got: The remainder.
        wanted: The one that was wanted.
        divisor: By what was divided.
    """

    got: int
    wanted: int
    divisor: int


def remainders(error: BaseException | None) -> tuple[Remainder, ...]:
    """The remainders that the condition which raised an error compares; none, where it does not."""
    frame, line = _innermost(error)
    test = _test(frame.f_code.co_filename, line) if frame is not None else None
    found = []
    for node in ast.walk(test) if test is not None else ():
        is_of_two = isinstance(node, ast.Compare) and len(node.comparators) == 1
        left = node.left if is_of_two and isinstance(node, ast.Compare) else None
        if frame is None or not isinstance(left, ast.BinOp) or not isinstance(left.op, ast.Mod):
            continue
        numbers = [_worked_out(each, frame) for each in (left, node.comparators[0], left.right)]  # type: ignore[attr-defined]
        if all(type(each) is int for each in numbers) and numbers[0] != numbers[1] and numbers[2]:
            found.append(Remainder(*numbers))
    return tuple(found)


def _innermost(error: BaseException | None) -> tuple[FrameType | None, int]:
    trace = error.__traceback__ if error is not None else None
    if trace is None:
        return None, 0
    while trace.tb_next is not None:
        trace = trace.tb_next
    return trace.tb_frame, trace.tb_lineno


@lru_cache(_FILES)
def _statements(path: str) -> tuple[ast.If | ast.Assert, ...]:
    try:
        tree = ast.parse("".join(linecache.getlines(path)))
    except SyntaxError:
        return ()
    return tuple(node for node in ast.walk(tree) if isinstance(node, ast.If | ast.Assert))


def _test(path: str, line: int) -> ast.expr | None:
    """The condition of the assertion at a line, or of the narrowest `if` that a raise stands in."""
    around = [
        node
        for node in _statements(path)
        if node.lineno <= line <= (node.end_lineno or node.lineno)
    ]
    if not around:
        return None
    node = max(around, key=lambda node: node.lineno)
    # An `if` is the condition of what it raises in its first lines, not of all that follows.
    is_raised = isinstance(node, ast.Assert) or any(
        isinstance(each, ast.Raise) and each.lineno <= line <= (each.end_lineno or line)
        for each in node.body
    )
    return node.test if is_raised else None


def _condition(node: ast.Compare, frame: FrameType) -> FailedComparison | None:
    sides = [_worked_out(each, frame) for each in (node.left, *node.comparators)]
    numbers = [number for side in sides for number in _numbers(side)]
    if len(numbers) < 2:
        return None
    tensors = (_ranked(each, frame) for each in (node.left, *node.comparators))
    sources = next((sources_of(each) for each in tensors if each is not None), NOTHING)
    return FailedComparison(tuple(numbers), sources)


def _numbers(value: object) -> Iterator[int]:
    if type(value) is int:
        yield value
    elif isinstance(value, list | tuple | set | frozenset):
        yield from (each for each in value if type(each) is int)


def _ranked(node: ast.expr, frame: FrameType) -> Tensor | None:
    """The tensor whose rank an expression is: `x.ndim`, `x.dim()`, `len(x.shape)`."""
    inner: ast.expr | None = None
    if isinstance(node, ast.Attribute) and node.attr == "ndim":
        inner = node.value
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        inner = node.func.value if node.func.attr in ("dim", "ndimension") else None
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args:
        shape = node.args[0]
        inner = shape.func if isinstance(shape, ast.Call) else shape
        inner = inner.value if isinstance(inner, ast.Attribute) else None
    value = _worked_out(inner, frame) if inner is not None else None
    return value if isinstance(value, Tensor) else None


def _worked_out(node: ast.expr, frame: FrameType) -> Any:  # noqa: ANN401
    """The value of an expression in a frame; None where it is not worked out."""
    for part in ast.walk(node):
        if not isinstance(part, _SAFE) or (isinstance(part, ast.Call) and not _is_safe(part)):
            return None
    code = compile(ast.Expression(node), frame.f_code.co_filename, "eval")
    # An attribute of the user's own may be a property that raises anything.
    try:
        return eval(code, frame.f_globals, frame.f_locals)
    except Exception:
        return None


def _is_safe(call: ast.Call) -> bool:
    if isinstance(call.func, ast.Attribute):
        return call.func.attr in _METHODS
    return isinstance(call.func, ast.Name) and call.func.id in _FUNCTIONS
