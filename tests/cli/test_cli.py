"""The `nar` command as a user types it, on a small real workspace without Ray."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from corpora import corpus
from typer.testing import CliRunner

from nar.base.workspace import version
from nar.cli.app import app
from nar.corpus.manifest import Failure
from nar.encoding.embed import save_checkpoint
from nar.encoding.paper.encoder import paper_encoder
from nar.encoding.paper.recipe import PaperConfig
from nar.index.architecture_index import ArchitectureIndex
from nar.index.publishing import WRITTEN, mark
from nar.index.settings import IndexConfig
from nar.motifs.config import MotifConfig
from nar.own import capture_architecture
from nar.zoo.selections import select

SMALL = PaperConfig(motifs=MotifConfig(), motif_dim=8, motif_layers=2, dim=8, layers=2)
MODEL = """
import torch


def factory():
    layers = [torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU(), torch.nn.Conv2d(8, 8, 3), torch.nn.ReLU()]
    return torch.nn.Sequential(*layers), torch.zeros(1, 3, 64, 64)
"""


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def answer(*arguments):
    done = run(*arguments, "--json")
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def names():
    return select("darts:20").names


@pytest.fixture(scope="module")
def work(tmp_path_factory, names):
    """Twenty DARTS networks, an untrained encoder, and the index that `nar index build` makes."""
    root = tmp_path_factory.mktemp("work")
    items = [capture_architecture(name).architecture for name in names]
    failures = (Failure(name="timm:broken", operator="aten::add", reason="sizes differ"),)
    corpus(root / "corpus", items, failures)
    torch.manual_seed(0)
    save_checkpoint(root / "checkpoint", paper_encoder(SMALL))
    assert answer("index", "build", "--work", root)["rows"] == 20
    return root


@pytest.fixture
def model(tmp_path):
    (tmp_path / "model.py").write_text(MODEL)
    return f"{tmp_path / 'model.py'}:factory"


@pytest.mark.slow
def test_it_says_its_version_and_its_help_in_short():
    assert run("--version").stdout == f"nar {version()}\n"
    for command in ((), ("search",), ("index", "build")):
        assert run(*command, "-h").stdout == run(*command, "--help").stdout


@pytest.mark.slow
def test_a_shell_completes_commands():
    asked = {"_NAR_COMPLETE": "complete_bash", "COMP_WORDS": "nar sea", "COMP_CWORD": "1"}
    command = Path(sys.executable).with_name("nar")
    assert subprocess.check_output([command], env=os.environ | asked, text=True) == "search\n"


@pytest.mark.slow
def test_capture_of_my_own_file(model):
    told = answer("capture", model)
    assert told["operators"] == {"conv": 2, "relu": 2, "input": 1}
    assert told["parameters"] == 3 * 8 * 9 + 8 + 8 * 8 * 9 + 8
    assert told["unknown_operators"] == {}


@pytest.mark.slow
def test_capture_prints_every_node_on_request(model):
    lines = run("capture", model, "--graph").stdout.splitlines()
    assert lines[0].startswith("5 nodes, 4 edges")
    assert lines[2].startswith("%1 = conv(%0)")


@pytest.mark.slow
def test_motifs_of_my_own_file(model):
    told = answer("motifs", model)["motifs"]
    assert [(motif["times"], motif["operators"]) for motif in told] == [
        (1, ["input"]),
        (2, ["conv", "relu"]),
    ]
    assert "conv relu" in run("motifs", model).stdout


@pytest.mark.slow
def test_search_says_how_new_a_network_is(work, names):
    known, other = (
        answer("search", name, "--work", work)["novelty"] for name in (names[0], "timm:test_vit")
    )
    assert known == 0
    assert 0 <= other <= 100


@pytest.mark.slow
def test_search_finds_a_known_network_and_says_so(work, names):
    told = answer("search", names[3], "--work", work, "--top-k", 5)
    assert told["hits"][0]["name"] == names[3]
    assert told["same_network"] == [names[3]]
    assert len(told["hits"]) == 5
    assert "already known as" in run("search", names[3], "--work", work).stdout


@pytest.mark.slow
def test_an_explanation_names_the_motifs_of_query_and_hit(work, names):
    told = answer("search", names[3], "--work", work, "--top-k", 4, "--explain")
    reasons = told["explanations"]
    assert [reason["name"] for reason in reasons] == [hit["name"] for hit in told["hits"][:3]]
    itself, other = reasons[0], reasons[2]
    assert itself["other_motifs"] == []
    assert itself["in_shared_motifs"] == {"first": 1, "second": 1}
    assert all(motif["first"] == motif["second"] > 0 for motif in itself["shared_motifs"])
    assert all(min(motif["first"], motif["second"]) == 0 for motif in other["other_motifs"])
    told = run("search", names[3], "--work", work, "--top-k", 1, "--explain").stdout
    assert "Motifs that" in told


@pytest.mark.slow
def test_search_names_whose_body_it_is_and_explains_what_differs():
    told = answer("search", "timm:convnext_tiny", "--top-k", 4, "--explain")
    bodies = {each["name"]: each["differs"] for each in told["evidence"]["bodies"]}
    assert bodies["transformers:convnext/ConvNextModel"] == ["head"]
    differs = {each["name"]: each["differs"] for each in told["explanations"]}
    assert ["head"] in differs.values()
    text = run("search", "timm:convnext_tiny", "--top-k", 4, "--explain").stdout
    assert "differs in the head alone." in text


@pytest.mark.slow
def test_search_says_what_its_hits_speak_for(work, names):
    told = answer("search", names[3], "--work", work)["evidence"]
    assert told["family"]["name"] is None  # cells of a search space lie near one another
    assert told["family"]["of"] == sum(each["hits"] for each in told["family"]["counts"]) == 10
    assert (told["trunk"], told["part_of"]) == (None, [])
    assert "Family: none stands out" in run("search", names[3], "--work", work).stdout


@pytest.mark.slow
def test_search_answers_where_the_corpus_is_gone(work, names, tmp_path):
    shutil.copytree(work, tmp_path / "work", ignore=shutil.ignore_patterns("corpus"))
    done = run("search", names[3], "--work", tmp_path / "work")
    assert done.exit_code == 0
    assert "already known as" in done.stdout
    assert "were not compared node by node" in done.stderr


@pytest.mark.slow
def test_filters_hold(work, names):
    family = answer("search", names[0], "--work", work)["hits"][-1]["family"]
    hits = answer("search", names[0], "--work", work, "--family", family)["hits"]
    assert {hit["family"] for hit in hits} == {family}


@pytest.mark.slow
def test_counts_are_written_as_people_write_them(work, names):
    told = [
        answer("search", names[0], "--work", work, "--max-parameters", count)["hits"]
        for count in ("3M", "3_000_000", "0.003B")
    ]
    assert told[0] == told[1] == told[2] != []
    assert all(hit["parameters"] <= 3_000_000 for hit in told[0])
    refused = run("search", names[0], "--work", work, "--max-parameters", "many")
    assert refused.exit_code == 2
    assert "wanted a count such as" in refused.stderr


@pytest.mark.slow
def test_a_new_design_is_called_new(work, model):
    assert "No architecture in the index" in run("search", model, "--work", work).stdout


@pytest.mark.slow
def test_the_corpus_shows_its_sizes_and_failures(work, names):
    stats = answer("corpus", "stats", "--work", work)
    assert stats["sources"]["darts"]["raw"] == 20
    assert "sizes differ" in run("corpus", "stats", "--work", work).stdout
    listed = answer("corpus", "list", "--work", work)["architectures"]
    assert sorted(item["name"] for item in listed) == sorted(names)


@pytest.mark.slow
def test_index_info(work):
    assert answer("index", "info", "--work", work)["rows"] == 20


@pytest.mark.slow
def test_an_index_is_saved_and_restored(work, tmp_path):
    taken = answer("index", "snapshot", tmp_path / "saved", "--work", work)
    assert taken["rows"] == 20
    again = run("index", "snapshot", tmp_path / "saved", "--work", work)
    assert (again.exit_code, "is there already" in again.stderr) == (1, True)
    (tmp_path / "new").mkdir()
    restored = answer("index", "restore", tmp_path / "saved", "--work", tmp_path / "new")
    assert restored == taken
    assert answer("index", "info", "--work", tmp_path / "new")["rows"] == 20
    assert "20" in run("index", "restore", tmp_path / "saved", "--work", tmp_path / "new").stdout
    (tmp_path / "saved" / "manifest.json").write_text("{")
    bad = run("index", "restore", tmp_path / "saved", "--work", tmp_path / "new")
    assert (bad.exit_code, "manifest.json is damaged" in bad.stderr) == (1, True)


@pytest.mark.slow
def test_what_killed_builds_have_left_is_listed_and_dropped(tmp_path):
    uri = str(tmp_path / "index.db")
    with (
        ArchitectureIndex(IndexConfig(uri=uri)) as index,
        index.build("e" * 64, 8, job="killed") as build,
    ):
        left = build.staging.name
        mark(build.staging, {WRITTEN: "1"})
    listed = answer("index", "orphans", "--work", tmp_path)
    assert list(listed) == [left]
    assert listed[left].startswith("build killed, ")
    assert left in run("index", "orphans", "--work", tmp_path).stdout.replace("\n", "")
    assert list(answer("index", "orphans", "--drop", "--work", tmp_path)) == [left]
    assert answer("index", "orphans", "--work", tmp_path) == {}
    for asked in (["orphans"], ["orphans", "--drop"]):
        said = run("index", *asked, "--work", tmp_path).stdout
        assert f"none in the index at {uri}" in said


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["search", "timm:no_such_model"], "no such architecture"),
        (["capture", "nonsense"], "neither a known architecture nor a file"),
        (["corpus", "stats", "--work", "nowhere"], "make one with `python -m cluster.extract`"),
        (["serve", "--work", "nowhere"], "nowhere"),
        (["search", "darts:x"], "a genotype reads"),
    ],
)
def test_mistakes_are_one_line_with_the_way_out(arguments, message):
    done = run(*arguments)
    assert done.exit_code == 1
    assert message in done.stderr
    assert "Traceback" not in done.output


@pytest.mark.slow
@pytest.mark.parametrize("verbose", [False, True])
def test_a_fault_of_the_users_code_is_told_with_its_line(tmp_path, verbose):
    path = tmp_path / "model.py"
    path.write_text("def make():\n    print('building')\n    return {}['hidden']\n")
    done = run("capture", f"{path}:make", "--json", *(["--verbose"] if verbose else []))
    assert done.exit_code == 1
    assert "model.py:3: KeyError: 'hidden'" in done.stderr
    assert ("Traceback" in done.stderr) == verbose
    assert done.stdout == ""
