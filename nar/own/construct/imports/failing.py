"""Where running a file fails: a mend for each error, and at last what the file defines alone."""

import ast
import re
import sys
from collections.abc import Callable, Iterator
from functools import partial
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from pathlib import Path
from traceback import extract_tb
from types import FrameType, ModuleType
from typing import Any

from nar.base.errors import RefusedError
from nar.own.construct.findings import Findings
from nar.own.construct.imports.finder import MissingFinder
from nar.own.construct.imports.removed_names import of_python_2, put_back
from nar.own.construct.imports.stand_ins import StandIn, defining
from nar.own.guard import is_new_at_home, is_of_library, lend_home

# From an error, the findings and the finder to whether something was put right.
_Mend = Callable[[BaseException, Findings, MissingFinder], bool]

_NO_NAME = re.compile(r"cannot import name '(\w+)' from '([\w.]+)'")
_NO_SPEC = re.compile(r"([\w.]+)\.__spec__ is (?:not set|None)")
_INSTALLING = re.compile(r"\b(pip3?|conda|apt(-get)?|install)\b")


def mend(error: BaseException, findings: Findings, finder: MissingFinder) -> bool:
    """Put right what an error tells of; whether it is worth to run the code again."""
    return any(each(error, findings, finder) for each in _MENDS)


def give_specs(names: set[str]) -> None:
    """Give modules that a user's code put into ``sys.modules`` by hand the spec that they lack."""
    for name in names & set(sys.modules):
        module: Any = sys.modules[name]
        if not isinstance(getattr(module, "__spec__", None), ModuleSpec) and name != "__main__":
            try:
                module.__spec__ = ModuleSpec(name, None)
            except (AttributeError, TypeError):  # it lets nothing be set
                continue


def _removed_import(error: BaseException, findings: Findings, finder: MissingFinder) -> bool:
    found = _NO_NAME.search(str(error)) if isinstance(error, ImportError) else None
    module = sys.modules.get(found[2]) if found else None
    if found is None or module is None or hasattr(module, found[1]):
        return False
    if "site-packages" not in str(getattr(module, "__file__", "")):
        return False
    put_back(module, found[1], findings)
    finder.added.append((module, found[1]))
    return True


def _without_spec(error: BaseException, _: Findings, __: MissingFinder) -> bool:
    found = _NO_SPEC.search(str(error)) if isinstance(error, ValueError) else None
    if found is None:
        return False
    give_specs({found[1]})
    return True


def _installer(error: BaseException, _: Findings, finder: MissingFinder) -> bool:
    """An import that was tried, and whose failure starts an installer: a stand-in is better."""
    is_refusal = "refused" in str(error) and bool(_INSTALLING.search(str(error)))
    if not is_refusal or finder.ignores_tries:
        return False
    finder.ignores_tries = True
    return True


def _python_2(error: BaseException, findings: Findings, _: MissingFinder) -> bool:
    return of_python_2(error, findings)


def _failing_neighbour(error: BaseException, findings: Findings, finder: MissingFinder) -> bool:
    """Another file of the repository that fails when it is imported: its definitions are enough.

    It reads data that no clone has, or asks for a device.
    """
    frame = _innermost_module(error)
    if frame is None or isinstance(error, ImportError | SyntaxError):
        return False
    name, path = str(frame.f_globals.get("__name__")), Path(frame.f_code.co_filename)
    if name.startswith("nar_file_") or not finder.is_beside(path):
        return False
    why = f"{type(error).__name__}: {error}"[:120]
    return finder.failing.add(name, partial(_DefinitionsOnly, finder, findings, why))


def _innermost_module(error: BaseException) -> FrameType | None:
    """The frame of the file whose import an error ended, the innermost of several."""
    found, trace = None, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_name == "<module>":
            found = trace.tb_frame
        trace = trace.tb_next
    return found


def _settings_at_home(error: BaseException, _: Findings, __: MissingFinder) -> bool:
    """A library that makes a folder at home for its settings: it gets another home."""
    files = [frame.filename for frame in reversed(extract_tb(error.__traceback__))]
    is_settings = isinstance(error, RefusedError) and any(map(is_new_at_home, error.paths))
    return is_settings and is_of_library(files) and lend_home()


class _DefinitionsOnly(Loader):
    """Makes the module of a file of which no more than definitions are run."""

    def __init__(self, finder: MissingFinder, findings: Findings, why: str, path: Path) -> None:
        self._finder, self._findings, self._why, self._path = finder, findings, why, path

    def create_module(self, spec: ModuleSpec) -> None:
        """Leave it to Python."""

    def exec_module(self, module: ModuleType) -> None:
        """Run the definitions."""
        tree = self._finder.tree(self._path)
        run_definitions(module, tree, self._path, self._findings, self._why)


_MENDS: tuple[_Mend, ...] = (
    _removed_import,
    _without_spec,
    _installer,
    _python_2,
    _settings_at_home,
    _failing_neighbour,
)


# Calls that stand as statements and prepare definitions; all others are left out.
_PREPARING = re.compile(r"add_argument|set_defaults|register|sys\.path|seed|filterwarnings")
_TRAINING = re.compile(r"\.backward\(|optimi[sz]er\w*\.step\(|\.fit\(|\.train_step\(")
_DEFINING = (
    ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef, ast.Assign, ast.AnnAssign, ast.Try,
    ast.If,
)  # fmt: skip
_LINES_SHOWN = 6  # Chosen: a line of text holds them


def trains(tree: ast.Module) -> bool:
    """Whether running a file would train: a loop of its own, outside functions, does so."""
    loops = [node for node in _run_statements(tree) if isinstance(node, ast.For | ast.While)]
    return any(_TRAINING.search(ast.unparse(loop)) for loop in loops)


def only_defines(tree: ast.Module) -> bool:
    """Whether running a file runs no more than imports, definitions and assignments."""
    return all(
        isinstance(node, _DEFINING)
        or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
        for node in tree.body
    )


def defines(tree: ast.Module, name: str) -> bool:
    """Whether a file defines or imports a name on its outermost level."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name:
            return True
        if isinstance(node, ast.Assign) and name in ast.unparse(node).partition("=")[0].split():
            return True
    imports = (node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom))
    return any(name in {each.asname or each.name for each in node.names} for node in imports)


def run_definitions(
    module: ModuleType, tree: ast.Module, path: Path, findings: Findings, why: str
) -> None:
    """Run a file's imports, definitions and assignments in a module; record what is left out.

    What an assignment that fails would have bound is bound to a stand-in.

    Args:
        module: An empty module.
        tree: The file's syntax tree.
        path: The file.
        findings: Where it is recorded.
        why: Why it is not run whole, in words.
    """
    left: list[int] = []
    for node in tree.body:
        if _is_left_out(node):
            left.append(node.lineno)
            continue
        try:
            with defining():
                exec(compile(ast.Module([node], []), str(path), "exec"), module.__dict__)
        # A user's code can raise anything; each statement stands for itself.
        except (Exception, SystemExit) as error:
            left.append(node.lineno)
            reason = f"line {node.lineno} of {path.name} failed: {type(error).__name__}: {error}"
            for name in _bound(node):
                module.__dict__[name] = StandIn(name, findings, reason[:160])
    if left:
        lines = ", ".join(map(str, left[:_LINES_SHOWN])) + (", ..." * (len(left) > _LINES_SHOWN))
        word = "line" if len(left) == 1 else "lines"
        findings.skip(f"{path.name}: {word} {lines}: only definitions were run, for {why}")


def _is_left_out(node: ast.stmt) -> bool:
    if isinstance(node, ast.For | ast.While | ast.With | ast.AsyncFor | ast.Assert | ast.Raise):
        return True
    if isinstance(node, ast.If):
        return "__main__" in ast.unparse(node.test)
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        return not _PREPARING.search(ast.unparse(node.value.func))
    return False


def _bound(node: ast.stmt) -> Iterator[str]:
    """The names that a statement would have bound."""
    if isinstance(node, ast.Assign):
        for target in node.targets:
            yield from (each.id for each in ast.walk(target) if isinstance(each, ast.Name))
    elif isinstance(node, ast.Import | ast.ImportFrom):
        yield from (each.asname or each.name.partition(".")[0] for each in node.names)
    elif isinstance(node, ast.ClassDef | ast.FunctionDef):
        yield node.name


def _run_statements(tree: ast.Module) -> Iterator[ast.stmt]:
    """The statements that importing a file runs, those in its conditions and tries too."""
    waiting = list(tree.body)
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, ast.If) and "__main__" not in ast.unparse(node.test):
            waiting += [*node.body, *node.orelse]
        elif isinstance(node, ast.Try | ast.With):
            waiting += node.body
