"""What one parameter of a forward holds: parts that its lines take apart, states to begin from."""

import ast
import inspect
import textwrap
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

from nar.own.inputs.layers import read_attribute

# Methods that compute where the forward is empty; what takes a decision shows the whole of it.
_INSTEAD_OF_FORWARD = (
    "act", "get_action", "select_action", "sample", "predict", "inference", "infer", "generate",
    "evaluate", "evaluate_actions", "encode", "reconstruct", "calculate_loss", "loss",
)  # fmt: skip
_NO_FORWARD = "_forward_unimplemented"  # the name of torch's own
_HANDED_ON = 3  # chosen: a model, its branch, a block in that
# Methods that make the states of a recurrent module, with the size of a batch.
_STATE_MAKERS = (
    "init_hidden", "initHidden", "init_state", "init_states", "initial_state", "zero_state",
    "get_initial_state", "init_hidden_state",
)  # fmt: skip


def parts_of(module: nn.Module, parameter: str, *, is_starred: bool = False) -> tuple[str, ...]:
    """The names of the parts of a parameter; none, where the forward does not take it apart.

    ``text, lengths = inputs`` gives both names, and so do ``text = inputs[0]`` beside
    ``lengths = inputs[1]``. What has an attribute that is read, such as a shape, is one thing.

    Args:
        module: Its forward is read, not run.
        parameter: Of the forward.
        is_starred: It is ``*parameter``; then a branch may take it apart, and the way with most
            parts counts.
    """
    function = _function_of(module)
    if function is None or (not is_starred and _is_one_thing(function, parameter)):
        return ()
    nodes = list(ast.walk(function)) if is_starred else function.body
    assigned = [node for node in nodes if isinstance(node, ast.Assign)]
    return max([*_unpacked(assigned, parameter), _picked(assigned, parameter)], key=len)


def is_switch(module: nn.Module, parameter: inspect.Parameter) -> bool:
    """Whether a parameter is true or false: by its type, or because conditions alone read it.

    A module that hands it on reads it by the conditions of its parts.

    Args:
        module: Its forward is read, not run.
        parameter: Of the forward.
    """
    if parameter.annotation in (bool, "bool"):
        return True
    return _is_asked_only(module, parameter.name, _HANDED_ON)


def _is_asked_only(module: nn.Module, name: str, depth: int) -> bool:
    function = _function_of(module)
    if function is None or depth < 0:
        return False
    reads = {
        id(node)
        for node in ast.walk(function)
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)
    }
    left = reads - {id(each) for test in _tests(function) for each in _asked(test)}
    for call in (node for node in ast.walk(function) if isinstance(node, ast.Call)):
        given = [(place, each) for place, each in enumerate(call.args) if id(each) in left]
        named = [(key.arg, key.value) for key in call.keywords if id(key.value) in left]
        part = _part_called(module, call) if given or named else None
        for place, each in (*given, *named):
            if part is not None and _is_asked_only(part, _parameter_at(part, place), depth - 1):
                left.discard(id(each))
    return bool(reads) and not left


def _part_called(module: nn.Module, call: ast.Call) -> nn.Module | None:
    """The part of a module that ``self.part(...)`` calls."""
    called = call.func
    if not isinstance(called, ast.Attribute) or not _is_named(called.value, "self"):
        return None
    part = read_attribute(module, called.attr)
    return part if isinstance(part, nn.Module) else None


def _parameter_at(module: nn.Module, place: int | str | None) -> str:
    """The name of a parameter of a forward by its place; empty where it has none there."""
    if isinstance(place, str):
        return place
    names = list(inspect.signature(module.forward).parameters)
    return names[place] if place is not None and place < len(names) else ""


def _tests(function: ast.FunctionDef) -> Iterator[ast.expr]:
    """The conditions of a function, those within expressions too."""
    for node in ast.walk(function):
        if isinstance(node, ast.If | ast.IfExp | ast.While):
            yield node.test


def _asked(test: ast.expr) -> Iterator[ast.expr]:
    """The parts of a condition that have to be true or false."""
    if isinstance(test, ast.BoolOp):
        for part in test.values:
            yield from _asked(part)
    elif isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        yield from _asked(test.operand)
    elif isinstance(test, ast.Compare) and len(test.comparators) == 1:
        other = test.comparators[0]
        if isinstance(other, ast.Constant) and type(other.value) is bool:
            yield test.left
    else:
        yield test


def give_forward(module: nn.Module) -> str:
    """Let a module whose forward is empty run a method of its own; the method's name, if it does.

    What acts in a world is often written so: ``forward`` raises, ``act`` and ``evaluate`` compute.
    """
    if not _is_empty(type(module)):
        return ""
    own = {
        name: each
        for cls in reversed(type(module).__mro__)
        if cls.__module__.partition(".")[0] != "torch"
        for name, each in vars(cls).items()
        if inspect.isfunction(each) and not name.startswith("_")
    }
    taking = [name for name in own if name != "forward" and _required(getattr(module, name))]
    named = [name for name in _INSTEAD_OF_FORWARD if name in taking]
    # What sets something is no computation.
    others = [name for name in taking if not name.startswith(("set_", "load_", "save_", "init_"))]
    chosen = next(iter(named), None) or (others[0] if len(others) == 1 else "")
    if chosen:
        module.forward = getattr(module, chosen)
    return chosen


def _is_empty(cls: type) -> bool:
    """Whether a class has no forward, or one that does no more than raise or pass."""
    forward = inspect.unwrap(cls.forward)  # type: ignore[attr-defined]
    if forward.__module__ == nn.Module.__module__ and forward.__name__ == _NO_FORWARD:
        return True
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(forward)))
    except (OSError, TypeError, SyntaxError, ValueError):
        return False
    function = tree.body[0]
    return isinstance(function, ast.FunctionDef) and all(
        isinstance(node, ast.Raise | ast.Pass)
        or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
        for node in function.body
    )


def states_made(module: nn.Module) -> Any:  # noqa: ANN401
    """The states that a module makes for one sample, as tensors in a nest; None, if it makes none.

    A method of the user's own makes them, which may want something else.
    """
    makers = (read_attribute(module, name) for name in _STATE_MAKERS)
    make = next((each for each in makers if inspect.ismethod(each)), None)
    if make is None:
        return None
    try:
        with torch.no_grad():
            made = make(*[1] * len(_required(make)))
    # A user's method may raise anything.
    except Exception:
        return None
    return made if isinstance(made, Tensor | list | tuple) else None


def _required(method: Any) -> list[str]:  # noqa: ANN401
    parameters = inspect.signature(method).parameters.values()
    return [each.name for each in parameters if each.default is inspect.Parameter.empty]


def _function_of(module: nn.Module) -> ast.FunctionDef | None:
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(module.forward)))
    # A forward that is compiled or built on the way has no lines.
    except (OSError, TypeError, SyntaxError, ValueError):
        return None
    return next((node for node in tree.body if isinstance(node, ast.FunctionDef)), None)


def _is_one_thing(function: ast.FunctionDef, parameter: str) -> bool:
    attributes = (node for node in ast.walk(function) if isinstance(node, ast.Attribute))
    return any(_is_named(each.value, parameter) for each in attributes)


def _unpacked(assigned: list[ast.Assign], parameter: str) -> Iterator[tuple[str, ...]]:
    """The names of ``a, b = parameter``."""
    for node in assigned:
        target = node.targets[0]
        if _is_named(node.value, parameter) and isinstance(target, ast.Tuple | ast.List):
            names = tuple(each.id for each in target.elts if isinstance(each, ast.Name))
            if len(names) == len(target.elts):
                yield names


def _picked(assigned: list[ast.Assign], parameter: str) -> tuple[str, ...]:
    """The names of ``a = parameter[0]`` and ``b = parameter[1]``, where there are two or more."""
    found: dict[int, str] = {}
    for node in assigned:
        for target, value in _pairs(node):
            place = _place_in(value, parameter)
            if place is not None and isinstance(target, ast.Name):
                found.setdefault(place, target.id)
    is_whole = len(found) > 1 and sorted(found) == list(range(len(found)))
    return tuple(found[place] for place in sorted(found)) if is_whole else ()


def _pairs(node: ast.Assign) -> Iterator[tuple[ast.expr, ast.expr]]:
    target, value = node.targets[0], node.value
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        yield from zip(target.elts, value.elts, strict=False)
    else:
        yield target, value


def _place_in(node: ast.expr, parameter: str) -> int | None:
    if not isinstance(node, ast.Subscript) or not _is_named(node.value, parameter):
        return None
    place = node.slice.value if isinstance(node.slice, ast.Constant) else None
    return place if type(place) is int else None


def _is_named(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name
