"""Figures: files that open, the same for the same numbers, and maps that keep who is near whom."""

import sys

import numpy as np
import pytest

from benchmark.cells import Cell, CellResult
from benchmark.reporting import figures
from benchmark.reporting.figures import Panel, difficulty_curve, neighbourhood_map, tsne
from benchmark.scoring.evaluate import Scored
from benchmark.tasks.datasets import NAS
from nar.base.errors import InvalidInputError, MissingLibraryError

image = pytest.importorskip("matplotlib.image")


def result(data, method, seed, values):
    scored = Scored(("a", "b", "c"), ("x", "x", "y"), 7, {"map@20": np.array(values)})
    return CellResult(Cell(data, "paper", method, seed), scored, 0, 8, 1.0)


def curve(heights):
    """Cells of two seeds, at every distance."""
    return [
        result(data, method, seed, [height, height / 2, height / distance])
        for method, height in heights.items()
        for data, distance in NAS.items()
        for seed in (0, 1)
    ]


def groups(classes, size=12, dim=6):
    """Vectors around as many axes as there are classes, or between them, and the class of each."""
    rng = np.random.default_rng(1)
    centres = rng.normal(size=(classes, dim))
    vectors = np.repeat(centres, size, axis=0) + 0.05 * rng.normal(size=(classes * size, dim))
    names = tuple(f"class-{number // size}" for number in range(classes * size))
    return vectors.astype(np.float32), names


def pixels(path, *colour):
    """How many pixels of a picture have a colour."""
    return np.all((255 * image.imread(path)[..., :3]).round() == colour, axis=2).sum()


@pytest.fixture(autouse=True)
def plain_maps(request, monkeypatch):
    """Maps need not be good where only the drawing is tested."""
    if "tsne" not in request.node.name:
        monkeypatch.setattr(figures, "tsne", lambda vectors: vectors[:, :2])


def test_a_curve_is_a_picture_and_the_same_again(tmp_path):
    cells = curve({"operators": 0.5, "paper": 0.9})
    for name in ("one.png", "two.png"):
        difficulty_curve(tmp_path / "new" / name, cells)
    one, two = (tmp_path / "new" / name for name in ("one.png", "two.png"))
    assert one.read_bytes().startswith(b"\x89PNG")
    assert one.read_bytes() == two.read_bytes()
    assert pixels(one, 31, 119, 180) > 100 < pixels(one, 255, 127, 14)  # a colour a method


def test_other_numbers_make_another_curve(tmp_path):
    difficulty_curve(tmp_path / "low.png", curve({"paper": 0.5}))
    difficulty_curve(tmp_path / "high.png", curve({"paper": 0.9}))
    assert (tmp_path / "low.png").read_bytes() != (tmp_path / "high.png").read_bytes()


@pytest.mark.parametrize(
    ("cells", "came"), [([], "none"), ([result("real", "paper", 0, [1.0, 1.0, 1.0])], "real")]
)
def test_a_curve_is_of_nas_cells(tmp_path, cells, came):
    with pytest.raises(InvalidInputError, match=came):
        difficulty_curve(tmp_path / "curve.png", cells)


def test_ten_classes_have_a_colour_and_the_rest_is_grey(tmp_path):
    for classes in (10, 12):
        panel = Panel("a", *groups(classes))
        neighbourhood_map(tmp_path / f"{classes}.png", [panel])
    ten, twelve = (pixels(tmp_path / f"{classes}.png", 211, 211, 211) for classes in (10, 12))
    assert ten < 20 < 100 < twelve  # the edges of letters are grey, too


@pytest.mark.slow
def test_six_maps_are_one_picture_and_the_same_again(tmp_path):
    vectors, classes = groups(4)
    panels = [Panel(f"map {number}", vectors * number, classes) for number in range(1, 7)]
    for name in ("one.png", "two.png"):
        neighbourhood_map(tmp_path / name, panels)
    assert (tmp_path / "one.png").read_bytes() == (tmp_path / "two.png").read_bytes()
    height, width, _ = image.imread(tmp_path / "one.png").shape
    neighbourhood_map(tmp_path / "row.png", panels[:3])
    assert image.imread(tmp_path / "row.png").shape[:2] == (height // 2, width)


@pytest.mark.slow
def test_tsne_keeps_who_is_near_whom():
    vectors, classes = groups(5)
    points = tsne(vectors)
    assert points.shape == (60, 2)
    apart = np.linalg.norm(points[:, None] - points, axis=2)
    np.fill_diagonal(apart, np.inf)
    nearest = apart.argmin(axis=1)
    assert [classes[item] for item in nearest] == list(classes)


def test_tsne_looks_at_directions_and_draws_no_lots():
    vectors, _ = groups(3)
    lengths = 2.0 ** (np.arange(len(vectors), dtype=np.float32)[:, None] % 3)
    assert np.array_equal(tsne(vectors), tsne(vectors * lengths))


@pytest.mark.parametrize(
    "vectors", [np.zeros((4, 3)), np.ones((2, 2)), np.repeat(np.eye(3), 40, axis=0)]
)
def test_tsne_bears_vectors_that_are_alike(vectors):
    assert np.isfinite(tsne(vectors.astype(np.float32))).all()


@pytest.mark.parametrize("shape", [(3, 4), (1, 4), (2, 1), (2,)])
def test_a_panel_has_a_class_for_each_vector(shape):
    classes = ("a",) if shape[0] == 1 else ("a", "b")
    with pytest.raises(InvalidInputError, match="at least 2"):
        Panel("odd", np.zeros(shape, dtype=np.float32), classes)


def test_no_panel_is_no_picture(tmp_path):
    with pytest.raises(InvalidInputError, match="at least one"):
        neighbourhood_map(tmp_path / "map.png", [])


def test_without_the_library_the_error_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingLibraryError, match=r"pip install '\.\[plots\]'"):
        difficulty_curve(tmp_path / "curve.png", curve({"paper": 0.5}))
