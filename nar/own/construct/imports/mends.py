"""What an old repository meets in current libraries, put right by the error that it raises."""

import re
import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from typing import Any

from nar.own.construct.findings import Findings
from nar.own.construct.imports.finder import MissingFinder
from nar.own.construct.imports.removed_names import put_back

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


_MENDS: tuple[_Mend, ...] = (_removed_import, _without_spec, _installer)
