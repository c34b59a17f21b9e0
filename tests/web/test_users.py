"""Who contains a block: how many are counted, how many are named, and by whom it is said."""

import json
import shutil
from dataclasses import replace

import pytest
from corpora import item
from graphs import graph_of
from live_server import live_server
from typer.testing import CliRunner
from web_asking import ask

from nar.answers.atlas import read_atlas
from nar.answers.blocks import users_of_blocks
from nar.answers.uses import corpus_uses, uses_of, write_uses
from nar.cli.app import app
from nar.index.reader import Reader
from nar.index.rows import index_entry
from nar.index.settings import IndexConfig
from nar.web.pages import atlas_extras, page_of
from nar.wire.settings import ServerConfig

CODE = 7


def test_families_are_counted_and_one_of_them_is_chosen():
    graph = graph_of("input; conv 0")
    names = [f"timm:{number:03d}" for number in range(10)]
    rare = {"timm:002", "timm:009"}
    entries = [
        index_entry(item(name, graph, family="rare" if name in rare else "often")) for name in names
    ]
    uses = uses_of({CODE: 1 if name in rare else 2} for name in names)
    users = users_of_blocks([CODE], uses, entries)
    assert users.families == {"often": 8, "rare": 2}
    assert len(users.of_family("")) == 10
    assert [user.family for user in users.users] == ["often"] * 8 + ["rare"] * 2
    assert [user.name for user in users.of_family("rare")] == sorted(rare)
    # A row that the index lacks is counted nowhere.
    users = users_of_blocks([CODE], uses, [None, *entries[1:]])
    assert users.families == {"often": 7, "rare": 2}
    assert users.blocks[0].architectures == 9


@pytest.fixture(scope="module")
def counted_atlas(small_atlas, tmp_path_factory):
    """An atlas whose blocks are counted."""
    directory = shutil.copytree(small_atlas.directory, tmp_path_factory.mktemp("counted") / "atlas")
    atlas = replace(small_atlas, directory=directory)
    write_uses(atlas, corpus_uses(atlas.corpus))
    return atlas


@pytest.fixture(scope="module")
def page_server(counted_atlas):
    """The page over that atlas, as `nar web` shows it."""
    content = read_atlas(counted_atlas)
    names = tuple(content.index.values("name"))
    page = page_of(ServerConfig(), None, atlas_extras(counted_atlas, names))
    with (
        Reader(None, IndexConfig(), content.index) as index,
        live_server(content.embedder, index, page=page, web_port=0) as live,
    ):
        yield live


@pytest.mark.slow
def test_the_command_and_the_page_say_the_same_of_every_block(
    counted_atlas, page_server, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("nar.cli.model_commands.shipped_atlas", lambda: counted_atlas)
    uses = corpus_uses(counted_atlas.corpus)
    for code in {f"{code:016x}" for code in uses.codes[:3].tolist() + uses.codes[-3:].tolist()}:
        asked = ["search", "--motif", code, "--top-k", "100", "--json"]
        command = json.loads(CliRunner().invoke(app, asked).stdout)
        _, _, page = ask(page_server, "/page/users", json.dumps({"code": code}))
        assert page["users"] == command["users"]
        assert page["total"] == command["architectures"]
        assert dict(page["families"]) == command["families"]
