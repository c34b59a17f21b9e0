"""`nar search --motif`: blocks by their operators, counted over a small corpus and the atlas."""

import json

import pytest
from corpora import corpus, rows
from typer.testing import CliRunner

from nar.answers.atlas import Atlas
from nar.answers.blocks import block_pattern, operators_of_blocks, users_of_blocks
from nar.answers.uses import corpus_uses, read_uses, write_uses
from nar.base.errors import InvalidInputError
from nar.cli.app import app
from nar.corpus import Corpus
from nar.index.rows import index_entry
from nar.motifs.partition import partition


@pytest.fixture(scope="module")
def atlas(tmp_path_factory):
    root = tmp_path_factory.mktemp("blocks")
    directory = corpus(root / "corpus")
    atlas = Atlas(root, directory)
    write_uses(atlas, corpus_uses(directory))
    return atlas


@pytest.mark.parametrize(
    ("pattern", "operators", "matches"),
    [
        ("conv relu", "input conv relu", True),
        ("conv relu", "conv batch_norm relu", False),
        ("conv * relu", "conv batch_norm relu", True),
        ("conv ... relu", "conv relu", True),
        ("conv ... relu", "conv batch_norm add relu", True),
        ("*norm linear", "layer_norm linear gelu", True),
        ("relu", "prelu", False),
        ("add", "add", True),
    ],
)
def test_a_pattern_finds_operators_that_follow_each_other(pattern, operators, matches):
    assert bool(block_pattern(pattern).search(operators)) is matches


@pytest.mark.parametrize("pattern", ["norm", "conv [a", "...", "conv$"])
def test_a_pattern_without_operators_is_refused(pattern):
    with pytest.raises(InvalidInputError, match="motif"):
        block_pattern(pattern)


def test_the_operators_of_every_block_are_read_and_kept(atlas, tmp_path):
    uses = read_uses(atlas)
    operators = operators_of_blocks(atlas, uses, tmp_path)
    drawn = [partition(item.graph) for item in rows()]
    assert operators == {code: tuple(cut.operators(code)) for cut in drawn for code in cut.counts()}
    assert len(list(tmp_path.iterdir())) == 1
    assert operators_of_blocks(atlas, uses, tmp_path) == operators


def test_blocks_are_read_where_nothing_can_be_kept(atlas, tmp_path):
    (tmp_path / "file").touch()
    assert operators_of_blocks(atlas, read_uses(atlas), tmp_path / "file" / "cache")


def test_users_are_counted_over_blocks_and_filtered(atlas, tmp_path):
    uses = read_uses(atlas)
    entries = [index_entry(card) for card in Corpus(atlas.corpus).cards()]
    operators = operators_of_blocks(atlas, uses, tmp_path)
    cut = partition(rows()[0].graph)
    users = users_of_blocks(cut.counts(), uses, entries, operators)
    assert [(user.name, user.occurrences) for user in users.users] == [
        ("timm:a", cut.motifs),
        ("timm:b", cut.motifs),
    ]
    assert users.families == {"family": 2}
    alone = users_of_blocks(
        cut.counts(), uses, [None, entries[1], *[None] * (len(entries) - 2)], operators
    )
    assert [user.name for user in alone.users] == ["timm:b"]
    assert all(block.architectures == 1 for block in alone.blocks)


def test_motifs_are_numbered_by_their_share():
    cut = partition(rows()[2].graph)
    sizes = [cut.counts()[code] * len(cut.operators(code)) for code in cut.by_share()]
    assert sizes == sorted(sizes, reverse=True)
    assert sum(sizes) == cut.graph.nodes


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    # In another directory than that of a workspace: the atlas is asked.
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: CliRunner().invoke(app, ["search", *arguments])


@pytest.mark.slow
def test_the_atlas_says_who_has_the_second_motif_of_a_model(run):
    done = run("--motif", "timm:resnet50#2", "--family", "resnet", "--json")
    told = json.loads(done.stdout)
    [block] = told["blocks"]
    assert set(told["families"]) == {"resnet"}
    assert block["architectures"] == told["architectures"] > 10
    assert block["operators"][-3:] == ["batch_norm", "add", "relu"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["timm:resnet50", "--motif", "conv"],
        ["--motif", "conv", "--server", "localhost:1"],
        ["--motif", "conv", "--work", "elsewhere"],
        ["--motif", "timm:resnet50#99"],
    ],
)
def test_a_question_that_is_none_is_an_error(run, arguments):
    done = run(*arguments)
    assert (done.exit_code, done.stdout) == (1, "")
