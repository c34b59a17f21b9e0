"""A user's Python file, run as if it were imported from the place where it lies.

The file is only ever run on the explicit request of the person whose machine it is.
"""

import ast
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, redirect_stdout
from importlib import import_module
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import CodeType, ModuleType
from unittest.mock import patch

from nar.capture.forward.machine import owners_machine
from nar.own.construct.evidence.names import packages_imported
from nar.own.construct.evidence.repository import Repository
from nar.own.construct.findings import Findings
from nar.own.construct.imports.failing import (
    defines,
    give_specs,
    mend,
    only_defines,
    run_definitions,
    trains,
)
from nar.own.construct.imports.finder import MissingFinder, stand_ins_for_missing
from nar.own.construct.imports.removed_names import put_back_for, removed_names
from nar.own.construct.imports.stand_ins import defining
from nar.own.construct.imports.weights import without_weights_from_elsewhere
from nar.own.construct.root import import_folders
from nar.zoo.libraries import ready_for_libraries

_MOST_MENDS = 12  # an old repository wanted four; the same error twice ends it before


class UserCode:
    """A user's file in its repository, of which no file runs before it is asked for.

    Attributes:
        path: The file.
        repository: The repository that it lies in.
        findings: What running and building it tells.
    """

    def __init__(self, path: Path, finder: MissingFinder, repository: Repository) -> None:
        self.path = path.resolve()
        self.repository = repository
        self.findings = finder.findings
        self._finder = finder
        self._module: ModuleType | None = None

    def module(self, name: str) -> ModuleType:
        """The file's module, run once: whole, or its definitions where running it fails.

        Args:
            name: What is wanted of it; a file that fails and does not define it fails.

        Raises:
            BaseException: Whatever running the file raises.
        """
        if self._module is None:
            tree = self.repository.tree(self.path)
            put_back_for(self.repository.nodes(self.path), self.findings)
            if trains(tree):
                self._module = self._definitions_of(self.path, "it trains when it is run")
            else:
                self._module = self._run(tree, name)
        return self._module

    def definitions(self, path: Path) -> ModuleType:
        """The module of a file of the repository, of which no more than definitions are run.

        Raises:
            BaseException: Whatever importing what it imports raises.
        """
        if path == self.path and self._module is not None:
            return self._module
        for module in list(sys.modules.values()):
            if getattr(module, "__file__", None) == str(path):
                return module
        if not only_defines(self.repository.tree(path)):
            return self._definitions_of(path, "other statements do more")
        before, last = set(sys.modules), ""
        for _ in range(_MOST_MENDS):
            try:
                with defining(), _first_on_path(_root(path)):
                    return run_file(path, self._aliases(path))
            except (Exception, SystemExit) as error:
                is_new, last = str(error) != last, str(error)
                if not is_new or not mend(error, self.findings, self._finder):
                    raise
                _forget(before, self.repository.root)
        raise ImportError(last)

    def _run(self, tree: ast.Module, name: str) -> ModuleType:
        before, last = set(sys.modules), ""
        for _ in range(_MOST_MENDS):
            try:
                with defining():
                    return run_file(self.path, self._aliases(self.path))
            except (Exception, SystemExit) as error:
                is_new = str(error) != last
                last = str(error)
                if is_new and mend(error, self.findings, self._finder):
                    _forget(before, self.repository.root)
                    continue
                if not _is_raised_by(self.path, error) or not defines(tree, name):
                    raise
                why = f"{type(error).__name__}: {error}"[:120]
                return self._definitions_of(self.path, why)
            finally:
                give_specs(set(sys.modules) - before)
        raise ImportError(last)

    def _definitions_of(self, path: Path, why: str) -> ModuleType:
        name = _dotted_name(path)
        module = ModuleType(name)
        module.__file__ = str(path)
        module.__package__ = name.rpartition(".")[0]
        if module.__package__:
            import_module(module.__package__)
        for each in (name, *self._aliases(path)):
            sys.modules[each] = module
        run_definitions(module, self.repository.tree(path), path, self.findings, why)
        return module

    def _aliases(self, path: Path) -> list[str]:
        """Other names by which files of the repository import a file: they get the same classes."""
        root = self.repository.root
        parts = path.relative_to(root).with_suffix("").parts if path.is_relative_to(root) else ()
        names = {path.stem, ".".join(parts)} - sys.modules.keys() - sys.stdlib_module_names
        # A file that has the name of the package that it lies in is not what that name means, and
        # neither is a file that imports parts of a package of its own name.
        names -= set(parts[:-1])
        if path.stem in packages_imported(self.repository.tree(path)):
            names.discard(path.stem)
        return [name for name in names if name and name != _dotted_name(path)]


@contextmanager
def as_at_home(path: Path) -> Iterator[UserCode]:
    """Let a file and what it defines run as the file's owner runs it.

    Its neighbours, its package and its repository can be imported, model libraries too; what is
    not installed has stand-ins, weights are not loaded, CUDA is where the weights are;
    ``sys.argv`` is the file alone; what it prints goes to stderr. Modules of the repository are
    forgotten afterwards, for modules of another may have the same names.
    """
    repository = Repository(path)
    before = set(sys.modules), sys.path.copy(), sys.argv
    root, beside = str(_root(path)), str(path.parent.resolve())
    # A file that is no part of a package is a script: what lies beside it comes first.
    first = [beside] if root == beside else [root]
    if root == beside and path.stem in path.resolve().parent.parts:
        # A package without a file of its own loses its name to any file of that name on the path.
        first = []
    own = [each for each in import_folders(repository.root, path) if each not in first]
    if root == beside:
        sys.path[:] = [*first, *(each for each in own if first or each != beside), *before[1]]
    else:
        sys.path[:] = [*first, *(each for each in own if each != beside), *before[1], beside]
    sys.argv = [str(path)]
    findings = Findings()
    try:
        with ExitStack() as stack:
            stack.enter_context(redirect_stdout(sys.stderr))
            for around in (
                ready_for_libraries(),
                without_weights_from_elsewhere(findings),
                removed_names(findings),
                parsers_without_arguments(),
                owners_machine(),
            ):
                stack.enter_context(around)
            finder = stack.enter_context(stand_ins_for_missing(repository, findings))
            yield UserCode(path, finder, repository)
    finally:
        sys.path[:], sys.argv = before[1:]
        _forget(before[0], repository.root)


@contextmanager
def _first_on_path(folder: Path) -> Iterator[None]:
    """Inside, modules of a folder are found before others of their names."""
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))


def run_file(path: Path, aliases: Iterable[str] = ()) -> ModuleType:
    """Run a file once: as a module of its package if it lies in one, else by itself.

    Args:
        path: The file.
        aliases: Names by which other files import a file that lies in no package.
    """
    name, whole = _dotted_name(path), path.resolve()
    if "." in name:
        return import_module(name)
    loader = _Script(name, str(whole))
    file_spec = spec_from_loader(loader.name, loader)
    assert file_spec is not None, "a file that has a loader has a spec"
    module = module_from_spec(file_spec)
    names = (file_spec.name, *aliases)
    sys.modules.update(dict.fromkeys(names, module))
    try:
        loader.exec_module(module)
    except BaseException:
        for each in names:
            sys.modules.pop(each, None)
        raise
    return module


class _Script(SourceFileLoader):
    """Runs the text of a file as it is now, without the bytecode that Python keeps beside it.

    Bytecode knows its file by size and whole seconds: a file that was changed twice in one second
    would run in its old form.
    """

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)


def place_of_import(path: Path) -> tuple[Path, str]:
    """The folder that has to be on the path to import a file, and the name to import it by."""
    root = _root(path)
    return root, ".".join(path.resolve().relative_to(root).with_suffix("").parts)


def _dotted_name(path: Path) -> str:
    """The name of a file's module: in its package, or a name that no other module has."""
    whole = path.resolve()
    parts = whole.relative_to(_root(path)).with_suffix("").parts
    return ".".join(parts) if len(parts) > 1 else f"nar_file_{path.stem}"


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


def _is_raised_by(path: Path, error: BaseException) -> bool:
    """Whether a statement of the file itself raised an error, and not an import of another."""
    traceback, is_own = error.__traceback__, False
    while traceback is not None:
        code = traceback.tb_frame.f_code
        is_own = is_own or (code.co_filename == str(path) and code.co_name == "<module>")
        traceback = traceback.tb_next
    return is_own and not isinstance(error, ImportError | SyntaxError)


def _forget(before: set[str], root: Path) -> None:
    """Take new modules of a repository away, and what its code put among them by hand.

    A package that was there before keeps its parts: it is the process's own, as NAR is.
    """
    # Parts first: a namespace package works its path out from the package above it.
    for name in sorted(set(sys.modules) - before, reverse=True):
        module = sys.modules[name]
        if name.partition(".")[0] in before:
            continue
        if not isinstance(module, ModuleType) or _lies_below(module, root):
            del sys.modules[name]


def _lies_below(module: ModuleType, root: Path) -> bool:
    origin = getattr(module, "__file__", None)
    places = [origin] if origin is not None else list(getattr(module, "__path__", ()))
    return any(
        Path(place).is_relative_to(root) and "site-packages" not in str(place) for place in places
    )


@contextmanager
def parsers_without_arguments() -> Iterator[None]:
    """Inside, every ``parse_args`` gives the defaults."""
    real = ArgumentParser.parse_known_args

    def known(
        self: ArgumentParser,
        args: Sequence[str] | None = None,
        namespace: Namespace | None = None,
    ) -> tuple[Namespace, list[str]]:
        for action in self._actions:
            action.required = False
            # A required positional argument is asked for by its number.
            if not action.option_strings and action.nargs is None:
                action.nargs = "?"
        return real(self, [] if args is None else args, namespace)

    def whole(
        self: ArgumentParser,
        args: Sequence[str] | None = None,
        namespace: Namespace | None = None,
    ) -> Namespace:
        return known(self, args, namespace)[0]

    with (
        patch.object(ArgumentParser, "parse_known_args", known),
        patch.object(ArgumentParser, "parse_args", whole),
    ):
        yield
