"""Names that libraries removed and old repositories still use, put back while their code runs."""

import ast
import builtins
import importlib
import inspect
import sys
from collections import abc, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import reduce
from types import ModuleType
from typing import Any, Final

from nar.own.construct.findings import Findings
from nar.own.construct.imports.stand_ins import StandIn

# Of a library that is imported already: name -> what stands for it now.
_OF_NUMPY: Final[Mapping[str, object]] = {
    "float": float,
    "int": int,
    "bool": bool,
    "object": object,
    "str": str,
    "complex": complex,
    "long": int,
}
_OF_COLLECTIONS: Final = {
    name: getattr(abc, name)
    for name in (
        "Callable", "Container", "Hashable", "Iterable", "Iterator", "Mapping", "MutableMapping",
        "MutableSequence", "MutableSet", "Sequence", "Set", "Sized",
    )
}  # fmt: skip
# Names that every file of Python 2 has.
_OF_PYTHON_2: Final[Mapping[str, Any]] = {
    "xrange": range,
    "unicode": str,
    "basestring": str,
    "long": int,
    "unichr": chr,
    "raw_input": input,
    "reduce": reduce,
}
_REMOVED: Final[Mapping[str, Mapping[str, object]]] = {
    "numpy": _OF_NUMPY,
    "collections": _OF_COLLECTIONS,
    "inspect": {"getargspec": inspect.getfullargspec},
}


def _of_torch_six(module: ModuleType) -> None:
    module.__dict__.update(
        string_classes=(str, bytes),
        int_classes=int,
        inf=float("inf"),
        container_abcs=abc,
        PY3=True,
        PY37=True,
    )


def _same_as(name: str) -> Callable[[ModuleType], None]:
    def fill(module: ModuleType) -> None:
        present = vars(importlib.import_module(name))
        module.__dict__.update({k: v for k, v in present.items() if not k.startswith("__")})

    return fill


# Modules that are gone -> what fills a module of that name, and the words for it.
REMOVED_MODULES: Final[Mapping[str, tuple[Callable[[ModuleType], None], str]]] = {
    "torch._six": (_of_torch_six, "the names that it had"),
    "torchvision.transforms.functional_tensor": (
        _same_as("torchvision.transforms.functional"),
        "torchvision.transforms.functional",
    ),
    "torchvision.models.utils": (_same_as("torch.hub"), "torch.hub"),
}


@contextmanager
def removed_names(findings: Findings) -> Iterator[None]:
    """Inside, names that are gone from libraries are answered; which were asked for is recorded.

    A module of a library answers them through ``__getattr__``, which asks for what it lacks only,
    so that a library that has such a name keeps its own.
    """
    before: list[tuple[ModuleType, Any]] = []
    of_every_file = set(vars(builtins))
    for library, names in _REMOVED.items():
        module = sys.modules.get(library)
        if module is not None:
            before.append((module, module.__dict__.get("__getattr__")))
            module.__dict__["__getattr__"] = _answering(module, names, findings)
    try:
        yield
    finally:
        for name in _OF_PYTHON_2.keys() - of_every_file:
            vars(builtins).pop(name, None)
        for module, former in before:
            if former is None:
                del module.__dict__["__getattr__"]
            else:
                module.__dict__["__getattr__"] = former


def of_python_2(error: BaseException, findings: Findings) -> bool:
    """Give every file a name of Python 2 that was asked for; whether it was not there before."""
    if not isinstance(error, NameError) or hasattr(builtins, error.name or ""):
        return False
    return _put_in_every_file({error.name or ""}, findings)


def put_back_for(nodes: Sequence[ast.AST], findings: Findings) -> None:
    """Give every file the names of Python 2 that a file reads and does not assign.

    Its functions may read them long after it has been run.

    Args:
        nodes: All nodes of the file's syntax tree.
        findings: Where it is recorded.
    """
    names = [node for node in nodes if isinstance(node, ast.Name)]
    assigned = {node.id for node in names if isinstance(node.ctx, ast.Store)}
    for node in nodes:
        if isinstance(node, ast.alias):
            assigned.add(node.asname or node.name)
        elif isinstance(node, ast.arg):
            assigned.add(node.arg)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            assigned.add(node.name)
    _put_in_every_file({node.id for node in names} - assigned, findings)


def _put_in_every_file(names: set[str], findings: Findings) -> bool:
    wanted = sorted(names & _OF_PYTHON_2.keys())
    for name in wanted:
        stands = _OF_PYTHON_2[name]
        vars(builtins)[name] = stands
        findings.stand_in(f"{name} (of Python 2: {stands.__name__})")
    return bool(wanted)


def _answering(
    module: ModuleType, names: Mapping[str, object], findings: Findings
) -> Callable[[str], Any]:
    former = module.__dict__.get("__getattr__")

    def answer(name: str) -> Any:  # noqa: ANN401
        if name in names and _is_asked_by_own_code():
            stands = names[name]
            what = getattr(stands, "__qualname__", name)
            findings.stand_in(f"{module.__name__}.{name} (removed from the library: {what})")
            return stands
        if former is not None:
            return former(name)
        raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")

    return answer


def _is_asked_by_own_code() -> bool:
    """Whether the asking frame is no library's: libraries test what a version has."""
    frame = sys._getframe(2)
    return "site-packages" not in frame.f_code.co_filename


def put_back(module: ModuleType, name: str, findings: Findings) -> None:
    """Give an installed library's module a name that it has no more, as old code imports it.

    Addresses of weights by the names of models were tables: nothing is loaded from them.
    """
    stands: object = StandIn(
        f"{module.__name__}.{name}", findings, f"it is gone from the installed {module.__name__}"
    )
    words = "a stand-in"
    if name.endswith("urls"):
        stands, words = defaultdict(lambda: "https://weights.invalid"), "an empty table"
    module.__dict__[name] = stands
    findings.stand_in(f"{module.__name__}.{name} (removed from the library: {words})")
