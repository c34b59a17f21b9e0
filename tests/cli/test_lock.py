"""`nar lock` and `nar check`: what changed in a model has one kind, and a lock is readable."""

from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from graphs import graph_of
from typer.main import get_command
from typer.testing import CliRunner

from nar.answers.change_kinds import MEANING, ChangeKind
from nar.answers.lock import change, locked, read_lock, write_lock
from nar.base.errors import InvalidInputError
from nar.cli.app import app
from nar.graphs.architecture import Labels, architecture
from nar.graphs.ops import ATTRIBUTES
from nar.views.difference import change_lines

ROOT = Path(__file__).parents[2]
LABELS = Labels("mine.py:factory", "file", "-", "-", "-")
BLOCKS = "input; conv 0; relu 1; conv 2; relu 3; linear 4"
MODEL = """
import torch


def factory():
    layers = [torch.nn.Conv2d(3, WIDTH, 3), torch.nn.ReLU()]
    return torch.nn.Sequential(*layers), torch.zeros(1, 3, 8, 8)
"""


def drawn(text, parameters=100, flops=0, **attributes):
    graph = graph_of(text)
    for name, value in attributes.items():
        graph.attributes[1, ATTRIBUTES.index(name)] = value
    return locked(architecture(LABELS, replace(graph, parameters=parameters, flops=flops)))


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def model(tmp_path):
    """Writes the file of a model of some width, and gives its spec."""
    path = tmp_path / "mine.py"

    def write(width):
        path.write_text(MODEL.replace("WIDTH", str(width)))
        return f"{path}:factory"

    return write


@pytest.mark.parametrize(
    ("now", "kind"),
    [
        (drawn(BLOCKS), None),
        (drawn(BLOCKS, parameters=200), ChangeKind.WEIGHTS),
        (drawn(BLOCKS, parameters=200, flops=9), ChangeKind.WIDTH),
        (drawn(BLOCKS, parameters=200, channel_ratio=8), ChangeKind.WIDTH),
        (drawn(BLOCKS, kernel=5), ChangeKind.ATTRIBUTES),
        (
            drawn("input; conv 0; relu 1; conv 2; relu 3; conv 4; relu 5; linear 6"),
            ChangeKind.DEPTH,
        ),
        (drawn("input; conv 0; gelu 1; conv 2; gelu 3; linear 4"), ChangeKind.DESIGN),
    ],
)
def test_a_change_has_one_kind(now, kind):
    changed = change(drawn(BLOCKS), now)
    assert (changed and changed.kind) == kind


def test_a_head_that_no_longer_shares_the_table_is_no_other_width():
    text = "embedding; layer_norm 0; linear 1"
    tied, untied = (drawn(text, parameters, channel_ratio=8) for parameters in (100, 150))
    assert change(tied, untied).kind == ChangeKind.WEIGHTS
    # A lock of before has no graph, and knows no better.
    assert change(tied.model_copy(update={"graph": ""}), untied).kind == ChangeKind.WIDTH


def test_a_change_is_said_in_words(tmp_path):
    before, now = drawn(BLOCKS), drawn(BLOCKS.replace("relu", "gelu"), kernel=5)
    path = tmp_path / "nar.lock"
    write_lock(path, {"mine": before})
    told = change(read_lock(path).models["mine"], now)
    assert told.motifs.edits.text == "gelu for relu (2 times); conv 5 for conv"
    assert told.motifs.edits.text in "\n".join(map(str, change_lines("mine", told, ())))


def test_a_damaged_graph_is_an_error():
    before = drawn(BLOCKS).model_copy(update={"graph": "bm9uZQ=="})
    with pytest.raises(InvalidInputError, match="writes it anew"):
        change(before, drawn(BLOCKS, parameters=7))


def test_a_folded_batch_norm_is_the_same_network_at_inference():
    plain = drawn("input; conv 0; relu 1; linear 2")
    changed = change(drawn("input; conv 0; batch_norm 1; relu 2; linear 3"), plain)
    assert changed.kind == ChangeKind.INFERENCE


def test_a_change_counts_motifs_before_and_now():
    deeper = drawn("input; conv 0; relu 1; conv 2; relu 3; conv 4; relu 5; linear 6")
    [block] = [
        motif
        for motif in change(drawn(BLOCKS), deeper).motifs.shared
        if motif.first != motif.second
    ]
    assert (block.operators, block.first, block.second) == (("conv", "relu"), 2, 3)


def test_a_lock_reads_back_and_does_not_depend_on_the_order(tmp_path):
    models = {"b": drawn(BLOCKS), "a": drawn(BLOCKS, parameters=7)}
    one, other = tmp_path / "one", tmp_path / "other"
    write_lock(one, models)
    write_lock(other, dict(reversed(models.items())))
    assert one.read_bytes() == other.read_bytes()
    assert read_lock(one).models == models


@pytest.mark.parametrize("content", ["", "{}", '{"version": "0.0", "models": {}}'])
def test_what_is_no_lock_is_refused(tmp_path, content):
    path = tmp_path / "nar.lock"
    path.write_text(content)
    with pytest.raises(InvalidInputError, match=r"nar\.lock"):
        read_lock(path)


@pytest.mark.slow
def test_a_check_ends_by_what_is_allowed(tmp_path, model):
    lock = tmp_path / "nar.lock"
    assert run("lock", model(4), "-o", lock).exit_code == 0
    assert run("check", "--lock", lock).exit_code == 0
    model(6)
    refused = run("check", "--lock", lock)
    assert (refused.exit_code, "refused" in refused.stdout) == (3, True)
    assert run("check", "--lock", lock, "--allow", "width").exit_code == 0
    assert run("check", "--lock", lock, "--allow", "depth").exit_code == 3


@pytest.mark.slow
def test_a_lock_is_renewed_without_names(tmp_path, model):
    lock = tmp_path / "nar.lock"
    run("lock", model(4), "-o", lock)
    model(6)
    assert run("lock", "-o", lock).exit_code == 0
    assert run("check", "--lock", lock).exit_code == 0


@pytest.mark.slow
def test_a_name_that_is_not_locked_is_an_error(tmp_path, model):
    lock = tmp_path / "nar.lock"
    run("lock", model(4), "-o", lock)
    done = run("check", "timm:resnet18", "--lock", lock)
    assert (done.exit_code, "timm:resnet18" in done.stderr) == (1, True)


def test_every_kind_is_explained():
    assert set(MEANING) == set(ChangeKind)


@pytest.mark.parametrize("path", [".pre-commit-hooks.yaml", "deploy/github/architectures.yml"])
def test_the_hook_and_the_workflow_call_a_command_that_exists(path):
    text = (ROOT / path).read_text()
    assert yaml.safe_load(text)
    assert "nar check" in text
    assert "check" in get_command(app).commands


@pytest.mark.slow
def test_a_short_name_is_locked_as_the_model_that_it_stands_for(tmp_path):
    path = tmp_path / "nar.lock"
    assert run("lock", "resnet18", "-o", path).exit_code == 0
    assert list(read_lock(path).models) == ["timm:resnet18"]
    for names in ([], ["resnet18"], ["timm:resnet18"]):
        assert run("check", *names, "--lock", path).exit_code == 0


@pytest.mark.slow
def test_a_misspelt_name_is_not_locked(tmp_path):
    done = run("lock", "resnet1888", "-o", tmp_path / "nar.lock")
    assert done.exit_code != 0
    assert "did you mean" in done.stderr
    assert not (tmp_path / "nar.lock").exists()


MODULE = """
import torch


def factory():
    return torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU(), torch.nn.Conv2d(4, 4, 3))
"""


@pytest.mark.slow
@pytest.mark.parametrize("command", ["motifs", "lock", "check", "diff", "export"])
def test_a_module_is_given_the_shape_that_was_told(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("net.py").write_text(MODULE)
    assert run("lock", "net.py:factory").exit_code == 0
    more = {"diff": ["net.py:factory"], "export": ["-o", "net.dot"]}.get(command, [])
    for channels, code in ((3, 0), (5, 1)):
        shape = f"1,{channels},9,9"
        done = run(command, "net.py:factory", *more, "--input-shape", shape)
        assert done.exit_code == code, done.output
