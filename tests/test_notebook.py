"""The notebook of the results: it runs, and says what stands in it."""

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).parents[1] / "results" / "ask.ipynb"


def said(notebook):
    """What every cell shows as text; pictures are not compared."""
    shown = [each for cell in code_of(notebook) for each in cell.outputs]
    return [each.get("data", each).get("text/plain", each.get("text")) for each in shown]


def code_of(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


@pytest.mark.slow
def test_the_notebook_shows_what_its_cells_say_today():
    kept, fresh = (nbformat.read(NOTEBOOK, as_version=4) for _ in range(2))
    NotebookClient(fresh, timeout=300, kernel_name="python3").execute()
    assert said(fresh) == said(kept)
    # Nothing but the answer of each cell, as text, as HTML, or as a picture.
    assert [len(cell.outputs) for cell in code_of(fresh)] == [0] + [1] * 7
    kinds = {kind for cell in code_of(fresh)[1:] for kind in cell.outputs[0].data}
    assert kinds == {"text/plain", "text/html", "image/png"}
    assert not any("\x1b" in text for text in said(fresh))
