"""The names that a constructor reads of a configuration, through what it hands it to."""

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator
from typing import Any

from nar.capture.forward.dispatch import is_own_code

_DEPTH = 5  # Chosen: a model, its encoder, a layer, its attention, one more
_METHODS = frozenset(
    [
        "get",
        "items",
        "keys",
        "values",
        "update",
        "pop",
        "copy",
        "clone",
        "freeze",
        "defrost",
        "to_dict",
    ]
)


def names_read(target: Any, parameter: str) -> tuple[str, ...]:  # noqa: ANN401
    """The names that are read of one parameter, in the order of their appearance.

    Names that are asked for with a default, by ``get`` or ``getattr``, are not needed and left out.

    Args:
        target: A class, whose constructor is meant, or a function.
        parameter: Its name.
    """
    return tuple(_reads(target, parameter))


def is_read_by_keys(target: Any, parameter: str) -> bool:  # noqa: ANN401
    """Whether all that is read of one parameter is ``parameter["name"]``, as of a dictionary."""
    reads = _reads(target, parameter)
    return bool(reads) and all(reads.values())


def _reads(target: Any, parameter: str) -> dict[str, bool]:  # noqa: ANN401
    """The names that are read of one parameter, and of each whether it is read as a key."""
    target = getattr(target, "func", target)  # of what is called with some arguments already
    owner = target if inspect.isclass(target) else None
    function = constructor_of(target) if owner is not None else target
    return _read(function, parameter, owner, 0, set())


def constructor_of(cls: type) -> Callable[..., Any]:
    """The ``__init__`` that a class runs first."""
    constructor: Callable[..., Any] = inspect.unwrap(vars(cls).get("__init__", cls.__init__))  # type: ignore[misc]
    return constructor


def _read(
    function: Any,  # noqa: ANN401
    parameter: str,
    owner: type | None,
    depth: int,
    seen: set[tuple[object, str]],
) -> dict[str, bool]:
    tree = _tree_of(function)
    if tree is None or depth > _DEPTH or (function, parameter) in seen:
        return {}
    seen.add((function, parameter))
    aliases = {parameter, *_aliases(tree, parameter)}
    found = dict(_own_reads(tree, aliases))
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        if ast.unparse(call.func) == "super().__init__" and owner is not None:
            # What a base keeps of it, methods of the whole class read.
            above = _next_constructor(owner, function)
            for name in _names_given(call, above, aliases):
                found |= _read(above, name, owner, depth + 1, seen)
            continue
        called = _called(call, function, owner)
        for callee, of, name in _handed_to(call, called, aliases, owner):
            found |= _read(callee, name, of, depth + 1, seen)
    kept = [alias for alias in aliases if alias.startswith("self.")]
    for method in _methods(owner) if kept else ():
        method_tree = _tree_of(method)
        if method_tree is not None:
            found |= dict(_own_reads(method_tree, set(kept)))
    return found


def _own_reads(tree: ast.AST, aliases: set[str]) -> Iterator[tuple[str, bool]]:
    # What is called is a method of the object, no setting.
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            is_private = node.attr.startswith("_") or node.attr in _METHODS
            is_setting = not is_private and id(node) not in called
            if is_setting and _is_one_of(node.value, aliases):
                yield node.attr, False
        elif isinstance(node, ast.Subscript) and _is_one_of(node.value, aliases):
            key = node.slice.value if isinstance(node.slice, ast.Constant) else None
            if isinstance(key, str):
                yield key, True


def _aliases(tree: ast.AST, parameter: str) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and _is_one_of(node.value, {parameter}):
            yield from (ast.unparse(target) for target in node.targets)


def _is_one_of(node: ast.expr, aliases: set[str]) -> bool:
    return isinstance(node, ast.Name | ast.Attribute) and ast.unparse(node) in aliases


def _called(call: ast.Call, function: Any, owner: type | None) -> Any:  # noqa: ANN401
    """What a call calls, as far as names of the module tell; None where they do not."""
    first, *rest = ast.unparse(call.func).split(".")
    found: Any = getattr(function, "__globals__", {}).get(first)
    if first == "self" and owner is not None:
        found = owner
    for part in rest:
        found = getattr(found, part, None)
    return found


def _handed_to(
    call: ast.Call, called: object, aliases: set[str], owner: type | None
) -> Iterator[tuple[Any, type | None, str]]:
    """The functions that a call hands the configuration to, their class, and the parameter."""
    cls = called if inspect.isclass(called) else None
    callee = constructor_of(cls) if cls is not None else called
    is_method = cls is not None or ast.unparse(call.func).startswith("self.")
    for name in _names_given(call, callee, aliases, is_method=is_method):
        yield callee, cls or owner, name


def _names_given(
    call: ast.Call, callee: object, aliases: set[str], *, is_method: bool = True
) -> Iterator[str]:
    """The parameters of a function of the user's that a call gives the configuration."""
    if not inspect.isfunction(callee) or not is_own_code(callee.__code__.co_filename):
        return
    names = list(inspect.signature(callee).parameters)[int(is_method) :]
    given = [*zip(names, call.args, strict=False)]
    given += [(key.arg, key.value) for key in call.keywords if key.arg]
    yield from (name for name, node in given if _is_one_of(node, aliases))


def _next_constructor(owner: type, function: object) -> object:
    """The constructor that a class runs after another of its own."""
    own = [vars(cls)["__init__"] for cls in owner.__mro__ if "__init__" in vars(cls)]
    plain = [inspect.unwrap(each) for each in own]
    place = plain.index(function) if function in plain else -1
    return plain[place + 1] if 0 <= place < len(plain) - 1 else None


def _methods(owner: type | None) -> Iterator[Any]:
    """The methods of a class and of its bases but for constructors."""
    for cls in owner.__mro__ if owner is not None else ():
        for name, each in vars(cls).items():
            is_method = inspect.isfunction(each) and name != "__init__"
            if is_method and is_own_code(each.__code__.co_filename):
                yield each


def _tree_of(function: Any) -> ast.AST | None:  # noqa: ANN401
    try:
        return ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError, ValueError):
        return None
