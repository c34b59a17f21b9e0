"""`nar corpus` as a user types it, on a small corpus of drawn graphs."""

import json

import pytest
from corpora import corpus, item
from graphs import bert, graph_of, resnet
from typer.testing import CliRunner

from nar import choices
from nar.answers.difference import difference, node_lines
from nar.cli.app import app
from nar.corpus import Corpus
from nar.labels.lineage import TwinGroup
from nar.views import difference as difference_views
from nar.views.corpus import listed_tables, portrait

GROUP = TwinGroup("deep", "Deep", ("timm:deep", "tv:deeper", "hf:absent"), "arXiv:1", "")


@pytest.fixture(autouse=True)
def published(monkeypatch):
    monkeypatch.setattr("nar.cli.corpus_commands.twins", lambda: (GROUP,))


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    root = tmp_path_factory.mktemp("work")
    items = [
        item("timm:deep", resnet([2, 2]), family="resnet"),
        item("timm:deep_again", resnet([2, 2]), family="resnet"),
        item("tv:deep", resnet([2, 2]), family="resnet"),
        item("tv:deeper", resnet([2, 3]), family="resnet"),
        item("hf:bert", bert(2), family="bert", task="fill-mask", tier="composed"),
    ]
    corpus(root / "corpus", items)
    return root


def run(*arguments):
    return CliRunner(env={"COLUMNS": "140"}).invoke(app, ["corpus", *map(str, arguments)])


def answer(*arguments):
    done = run(*arguments, "--json")
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def sizes(motifs):
    return [(each["first"], each["second"], len(each["operators"])) for each in motifs]


@pytest.mark.slow
def test_stats_as_tables(work):
    choices._print_location.cache_clear()  # a process says it once
    done = run("stats", "--work", work)
    assert "Named and composed: 3 distinct networks of 3 distinct designs, from 5" in done.stdout
    for title in ("Sources", "Tiers", "Tasks", "Families", "Sizes", "Copies"):
        assert title in done.stdout
    assert f"reading the corpus at {work / 'corpus'}" in done.stderr.replace("\n", "")
    assert "reading" not in run("stats", "--work", work).stderr


def test_stats_for_programs(work):
    told = answer("stats", "--work", work)
    assert told["totals"]["headline"] == {"raw": 5, "exact": 3, "topology": 3}
    assert told["sources"]["timm"]["exact"] == 1
    summary = told["summary"]
    assert [(group["name"], group["raw"]) for group in summary["families"]] == [
        ("resnet", 4),
        ("bert", 1),
    ]
    exact = summary["copies"][0]
    assert (exact["distinct"], exact["groups"], exact["members"]) == (3, 1, 3)
    assert exact["across_sources"] == 1
    assert exact["largest"] == [[3, "timm:deep"]]


@pytest.mark.slow
def test_stats_draw_on_request(work, tmp_path):
    pytest.importorskip("matplotlib")
    run("stats", "--work", work, "--plots", tmp_path / "plots")
    assert (tmp_path / "plots" / "families.png").stat().st_size > 1_000


def test_a_folder_that_plots_cannot_be_written_into_is_told(work, tmp_path):
    pytest.importorskip("matplotlib")
    (tmp_path / "file").write_text("")
    done = run("stats", "--work", work, "--plots", tmp_path / "file" / "plots")
    assert done.exit_code == 1
    assert "wanted a directory to write into: Not a directory" in " ".join(done.stderr.split())


def test_a_corpus_may_be_named_itself(work, tmp_path):
    told = answer("list", "--corpus", work / "corpus", "--work", tmp_path)
    assert len(told["architectures"]) == 5


def test_the_shipped_corpus_stands_in_for_the_default_workspace_only(work, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("nar.corpus.reading.shipped_corpus", lambda: work / "corpus")
    assert len(answer("list")["architectures"]) == 5
    assert "no corpus at elsewhere" in run("list", "--work", "elsewhere").stderr


def test_a_list_in_a_pipe_is_a_line_each_with_nothing_cut(work):
    head, *rows = (line.split("\t") for line in run("list", "--work", work).stdout.splitlines())
    told = answer("list", "--work", work)["architectures"]
    assert head == ["name", "library", "family", "task", "tier", "parameters", "nodes"]
    assert rows == [[str(each[name]) for name in head] for each in told]


def test_a_list_as_json_is_laid_out_as_every_answer(work):
    text = run("list", "--work", work, "--json").stdout
    assert text == json.dumps(json.loads(text), indent=2) + "\n"


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_a_list_shows_a_shard_before_it_reads_the_next(tmp_path, options):
    path = corpus(tmp_path / "corpus") / "shard-1.parquet"
    path.write_bytes(path.read_bytes()[:-1])
    done = run("list", "--work", tmp_path, *options)
    assert done.exit_code == 1
    assert "shard-1.parquet is damaged" in done.stderr.replace("\n", "")
    assert [name for name in ("timm:a", "timm:b", "hf:bert") if name in done.stdout] == [
        "timm:a",
        "timm:b",
    ]


def test_a_long_list_is_several_tables_for_a_person():
    rows = (("timm:a", "timm 1", "resnet", "task", "named", row, row) for row in range(2_500))
    assert [table.row_count for table in listed_tables(rows)] == [1_000, 1_000, 500]


def test_list_of_one_family(work):
    told = answer("list", "--work", work, "--family", "bert")["architectures"]
    assert [(row["name"], row["tier"], row["nodes"]) for row in told] == [
        ("hf:bert", "composed", 30)
    ]
    assert "timm:deep_again" in run("list", "--work", work).stdout


def test_show_tells_aliases_from_twins_and_published_twins(work):
    told = answer("show", "timm:deep", "--work", work)
    assert told["aliases"] == ["timm:deep_again", "tv:deep"]
    assert told["twins"] == ["tv:deep"]
    assert told["siblings"] == []
    assert told["published_twins"] == ["tv:deeper", "hf:absent"]
    assert sum(motif["times"] * len(motif["operators"]) for motif in told["motifs"]) == 51
    text = run("show", "timm:deep", "--work", work).stdout
    assert "timm:deep_again, tv:deep" in text
    assert "Motifs of timm:deep" in text


def test_a_misspelt_name_gets_the_nearest(work):
    done = run("show", "timm:dep", "--work", work)
    assert done.exit_code == 1
    assert "did you mean timm:deep" in done.stderr


def test_siblings_share_the_design_in_other_widths(tmp_path):
    wide = graph_of("input; conv 0; relu 1; linear 2")
    narrow = graph_of("input; conv 0; relu 1; linear 2")
    narrow.attributes[1, 0] = 3
    directory = corpus(tmp_path / "c", [item("x:wide", wide), item("x:narrow", narrow)])
    drawn = portrait(Corpus(directory).find("x:wide"))
    assert (drawn.aliases, drawn.twins, drawn.siblings) == ((), (), ("x:narrow",))


@pytest.mark.slow
def test_diff_of_two_depths(work):
    told = answer("diff", "tv:deep", "tv:deeper", "--work", work)
    assert not told["same_topology"]
    assert told["alike"] == pytest.approx(1 - 7 / 43, abs=1e-4)
    assert told["edits"]["text"] == "1 block more (conv relu conv relu conv add relu)"
    counts = {each["operator"]: (each["first"], each["second"]) for each in told["operators"]}
    assert counts["conv"] == (15, 18)
    added = [line for line in told["listing"] if line.startswith("+") and "+++" not in line]
    assert len(added) == 10
    assert sizes(told["shared_motifs"]) == [(1, 1, 5), (1, 1, 2)]
    # Two stages of two blocks repeat a stage; of two and three blocks, only the blocks.
    assert sizes(told["other_motifs"]) == [(2, 0, 22), (0, 3, 10), (0, 2, 12)]
    text = run("diff", "tv:deep", "tv:deeper", "--work", work).stdout
    assert told["differs"] == ["body"]
    said = "They are different designs, and differ in the body alone; 84% of the nodes are alike."
    assert said in text
    assert "+conv(-1)" in text


@pytest.mark.slow
def test_diff_of_the_same_network(work):
    assert "the same network" in run("diff", "timm:deep", "tv:deep", "--work", work).stdout
    assert answer("diff", "timm:deep", "tv:deep", "--work", work)["listing"] == []


@pytest.mark.slow
def test_diff_of_what_is_the_same_at_inference(tmp_path):
    trained = graph_of("input; conv 0; batch_norm 1; relu 2; linear 3")
    deployed = graph_of("input; conv 0; relu 1; linear 2")
    directory = corpus(tmp_path / "c", [item("x:trained", trained), item("x:deployed", deployed)])
    told = answer("diff", "x:trained", "x:deployed", "--corpus", directory)
    assert (told["same_exact"], told["same_topology"]) == (False, False)
    assert told["same_at_inference"]
    assert told["first"]["inference"] == told["second"]["inference"]
    text = " ".join(run("diff", "x:trained", "x:deployed", "--corpus", directory).stdout.split())
    assert "They are the same network at inference" in text


@pytest.mark.slow
def test_renew_writes_the_same_corpus(work, tmp_path):
    told = answer("renew", tmp_path / "new", "--work", work)
    assert (told["rows"], told["shards"]) == (5, 2)
    compared = answer("compare", work / "corpus", "--corpus", tmp_path / "new")
    assert (compared["equal"], compared["changed"], compared["new"]) == (5, [], [])
    assert (tmp_path / "new" / "DATASHEET.md").exists()


def test_diff_of_unlike_designs_lists_no_nodes(work):
    told = answer("diff", "hf:bert", "tv:deep", "--work", work)
    assert told["alike"] < 0.2
    assert told["listing"] == []
    assert not told["shared_motifs"]


@pytest.mark.slow
def test_diff_captures_what_the_corpus_does_not_have(work, tmp_path):
    (tmp_path / "m.py").write_text(
        "import torch\n\ndef f():\n"
        "    return torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3)), torch.zeros(1, 3, 8, 8)\n"
    )
    told = answer("diff", "tv:deep", f"{tmp_path / 'm.py'}:f", "--work", work)
    assert told["second"]["operators"] == {"conv": 1, "input": 1}


def test_pack_writes_a_corpus_with_its_datasheet(work, tmp_path):
    target = tmp_path / "packed"
    told = answer("pack", target, "--work", work)
    assert (told["rows"], told["shards"]) == (5, 3)
    assert "3 distinct networks" in (target / "DATASHEET.md").read_text()
    assert len(answer("list", "--corpus", target)["architectures"]) == 5


def test_node_lines_do_not_number_the_nodes():
    lines = node_lines(graph_of("input; conv 0; relu 1; add 2 0"))
    assert lines == ["input()", "conv(-1)", "relu(-1)", "add(-1, -3)"]


def test_a_long_listing_is_cut_and_says_so(monkeypatch):
    monkeypatch.setattr(difference_views, "_SHOWN_LINES", 4)
    compared = difference(item("x:a", resnet([2, 2])), item("x:b", resnet([2, 3])))
    shown = [str(line) for line in difference_views.difference_view(compared).renderables[-5:]]
    assert shown[-1] == f"... {len(compared.listing) - 4} more lines; --json has them all"


@pytest.mark.parametrize(
    ("family", "hint"),
    [("resnett", "did you mean resnet?"), ("zzz", "`nar corpus list` shows them")],
)
def test_a_family_that_the_corpus_lacks_is_refused_with_what_is_near(work, family, hint):
    done = run("list", "--family", "bert", "--family", family, "--work", work)
    assert done.exit_code == 1
    assert f"family: the corpus has none called '{family}'; {hint}" in done.stderr.replace(
        "\n", " "
    )
