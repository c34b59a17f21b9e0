"""What an atlas keeps for the page: its map, and what uses which block."""

from shutil import copytree

import numpy as np
import pytest
from typer.testing import CliRunner

from nar.answers.atlas import MAP, USES, Atlas, read_atlas
from nar.answers.atlas_making import lay_out
from nar.answers.map import coordinates, read_map
from nar.answers.uses import read_uses
from nar.base.errors import CorpusError
from nar.cli.app import app
from nar.corpus import read_corpus
from nar.motifs.partition import partition


@pytest.fixture(scope="module")
def atlas(small_atlas, tmp_path_factory):
    """An atlas with a map; read only."""
    drawn = Atlas(tmp_path_factory.mktemp("drawn") / "atlas", small_atlas.corpus)
    copytree(small_atlas.directory, drawn.directory)
    assert lay_out(drawn) == 20
    return drawn


@pytest.mark.slow
def test_an_atlas_may_be_without(atlas, tmp_path):
    bare = Atlas(tmp_path, atlas.corpus)
    assert read_map(bare) is None
    assert read_uses(bare) is None


@pytest.mark.slow
@pytest.mark.parametrize(("how", "is_drawn"), [([], True), (["--no-draw"], False)])
def test_an_atlas_is_packed_with_its_map(small_work, tmp_path, how, is_drawn):
    done = CliRunner().invoke(
        app, ["atlas", "pack", str(tmp_path), "--work", str(small_work), *how]
    )
    assert done.exit_code == 0, done.output
    points = read_map(Atlas(tmp_path, small_work / "corpus"))
    assert (points is not None and points.shape == (20, 2)) is is_drawn


@pytest.mark.slow
def test_what_is_drawn_reads_back(atlas):
    vectors = np.stack([row.embedding for row in read_atlas(atlas).rows])
    assert read_map(atlas) == pytest.approx(coordinates(vectors))
    uses = read_uses(atlas)
    for row, item in enumerate(read_corpus(atlas.corpus)):
        for code, count in partition(item.graph).counts().items():
            rows, counts = uses.of(code)
            assert counts[rows.tolist().index(row)] == count
            assert uses.how_many([code]) == [len(rows)]


@pytest.mark.slow
def test_equal_vectors_give_an_equal_map_and_near_ones_lie_near():
    rng = np.random.default_rng(0)
    centres = np.repeat(np.eye(4, 16), 10, axis=0)
    vectors = (centres + rng.normal(0, 0.02, centres.shape)).astype(np.float32)
    points = coordinates(vectors)
    assert np.array_equal(points, coordinates(vectors))
    apart = np.linalg.norm(points[:, None] - points[None], axis=2)
    own = np.repeat(np.arange(4), 10)
    np.fill_diagonal(apart, np.inf)
    assert (own[apart.argmin(axis=1)] == own).all()


@pytest.mark.slow
@pytest.mark.parametrize(("name", "read"), [(MAP, read_map), (USES, read_uses)])
def test_a_changed_byte_is_found(atlas, tmp_path, name, read):
    changed = Atlas(tmp_path / "atlas", atlas.corpus)
    copytree(atlas.directory, changed.directory)
    path = changed.directory / name
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(CorpusError, match="damaged"):
        read(changed)
