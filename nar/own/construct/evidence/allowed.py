"""Which calls of an expression may be evaluated, and which names it takes from around it."""

import ast
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

# Calls that read data, start work or ask the machine.
_READING = re.compile(
    r"load|open|read|download|Dataset|DataLoader|glob|listdir|system|subprocess|requests|urlopen|"
    r"input$|exec|eval$|train|compile|\.to$|\.cuda$",
)
_PLAIN_CALLS: Final = frozenset({
    "abs", "all", "any", "bool", "dict", "divmod", "enumerate", "float", "frozenset", "getattr",
    "hasattr", "int", "isinstance", "len", "list", "map", "max", "min", "pow", "range", "reversed",
    "round", "set", "sorted", "str", "sum", "tuple", "type", "zip",
})  # fmt: skip


def free_names(node: ast.expr) -> Iterator[ast.Name]:
    """The names of an expression that it does not bind itself and that are no builtins."""
    bound = {
        name.id
        for each in ast.walk(node)
        if isinstance(each, ast.comprehension)
        for name in ast.walk(each.target)
        if isinstance(name, ast.Name)
    }
    for each in ast.walk(node):
        if isinstance(each, ast.Lambda):
            bound |= {argument.arg for argument in each.args.args}
    for each in ast.walk(node):
        if isinstance(each, ast.Name) and each.id not in bound and each.id not in _PLAIN_CALLS:
            yield each


def calls_in(node: ast.expr) -> Iterator[ast.Call]:
    """The calls that evaluating an expression makes."""
    # The body of a lambda runs only where it is called.
    waiting: list[ast.AST] = [node]
    while waiting:
        each = waiting.pop()
        if isinstance(each, ast.Call):
            yield each
        if not isinstance(each, ast.Lambda):
            waiting += ast.iter_child_nodes(each)


def is_allowed(call: ast.Call, names: Mapping[str, Any]) -> bool:
    """Whether a call computes, as far as its name tells, and is of a known name.

    Args:
        call: It.
        names: The names that are known.
    """
    text = ast.unparse(call.func)
    if _READING.search(text):
        return False
    root = call.func
    while isinstance(root, ast.Attribute | ast.Call | ast.Subscript):
        root = root.func if isinstance(root, ast.Call) else root.value
    if not isinstance(root, ast.Name):
        return True  # a method of a literal, such as "a b".split()
    return root.id in names or root.id in _PLAIN_CALLS
