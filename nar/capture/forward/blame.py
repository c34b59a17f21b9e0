"""Which line of the user's own code an error came from."""

import sysconfig
import traceback
from pathlib import Path

# Frames of libraries, of this package and of code without a file are nobody's to mend.
_FOREIGN = (
    *(sysconfig.get_path(kind) for kind in ("stdlib", "platstdlib", "purelib", "platlib")),
    str(Path(__file__).parents[2]),
    "<",
)


def own_line(error: BaseException) -> str:
    """File and line of the user's own code that was running, as ``model.py:17``, or nothing."""
    if isinstance(error, SyntaxError) and error.filename and _is_own(error.filename):
        return f"{Path(error.filename).name}:{error.lineno}"
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if _is_own(frame.filename)]
    return f"{Path(own[-1].filename).name}:{own[-1].lineno}" if own else ""


def _is_own(path: str) -> bool:
    return not path.startswith(_FOREIGN) and "site-packages" not in path
