"""A user's Python file, run as if it were imported from the place where it lies.

The file is only ever run on the explicit request of the person whose machine it is.
"""

import ast
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field
from importlib import import_module
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from nar.base.errors import InvalidInputError
from nar.zoo.libraries import ready_for_libraries


@dataclass(frozen=True, slots=True)
class Arguments:
    """What a factory is called with.

    Attributes:
        by_position: In their order.
        by_name: The others.
    """

    by_position: tuple[Any, ...] = ()
    by_name: Mapping[str, Any] = field(default_factory=dict)


def read_arguments(text: str) -> Arguments:
    """The arguments in a pair of brackets; an empty text has none.

    Raises:
        InvalidInputError: They are no values of Python.

    Example:
        >>> read_arguments("(64, deep=True)")
        Arguments(by_position=(64,), by_name={'deep': True})
    """
    try:
        call = ast.parse(f"f{text or '()'}", mode="eval").body
        assert isinstance(call, ast.Call)
        by_name = {each.arg: ast.literal_eval(each.value) for each in call.keywords}
        values = tuple(ast.literal_eval(each) for each in call.args)
    except (SyntaxError, ValueError, AssertionError) as error:
        raise InvalidInputError(
            text, "wanted arguments that are values of Python, such as (64, deep=True)"
        ) from error
    if None in by_name:
        raise InvalidInputError(text, "wanted each argument by itself, came **")
    return Arguments(values, {str(name): value for name, value in by_name.items()})


@contextmanager
def as_at_home(path: Path) -> Iterator[None]:
    """Let a file and what it defines run as the file's owner runs it.

    Its neighbours and its package can be imported, model libraries too; ``sys.argv`` is the file
    alone; what it prints goes to stderr. Modules that lie beside it are forgotten afterwards, for
    modules beside another file may have the same names.
    """
    root = _root(path)
    before = set(sys.modules), sys.path.copy(), sys.argv
    beside = str(path.parent.resolve())
    # A file that is no part of a package is a script: what lies beside it comes first.
    sys.path[:] = (
        [str(root), *before[1], beside] if root != path.parent.resolve() else [beside, *before[1]]
    )
    sys.argv = [str(path)]
    try:
        with redirect_stdout(sys.stderr), ready_for_libraries():
            yield
    finally:
        sys.path[:], sys.argv = before[1:]
        for name in set(sys.modules) - before[0]:
            if not name.startswith("nar.") and _lies_below(sys.modules[name], root):
                del sys.modules[name]


def run_file(path: Path) -> ModuleType:
    """Run a file once: as a module of its package if it lies in one, else by itself."""
    root, whole = _root(path), path.resolve()
    parts = whole.relative_to(root).with_suffix("").parts
    if len(parts) > 1:
        return import_module(".".join(parts))
    loader = _Script(f"nar_file_{path.stem}", str(whole))
    file_spec = spec_from_loader(loader.name, loader)
    assert file_spec is not None, "a file that has a loader has a spec"
    module = module_from_spec(file_spec)
    sys.modules[file_spec.name] = module
    loader.exec_module(module)
    return module


class _Script(SourceFileLoader):
    """Runs the text of a file as it is now, without the bytecode that Python keeps beside it.

    Bytecode knows its file by size and whole seconds: a file that was changed twice in one second
    would run in its old form.
    """

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)


def _root(path: Path) -> Path:
    """The directory that the outermost package of a file lies in, or the file itself."""
    folder = path.resolve().parent
    levels = _relative_levels(path)
    while (folder / "__init__.py").exists() or levels > 0:
        folder, levels = folder.parent, levels - 1
    return folder


def _relative_levels(path: Path) -> int:
    """How many folders up the relative imports of a file reach; 0 where it has none."""
    try:
        tree = ast.parse(path.read_bytes())
    except SyntaxError:  # running the file raises it again, and reports it
        return 0
    return max((n.level for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)), default=0)


def _lies_below(module: ModuleType, root: Path) -> bool:
    origin = getattr(module, "__file__", None)
    return (
        origin is not None and Path(origin).is_relative_to(root) and "site-packages" not in origin
    )
