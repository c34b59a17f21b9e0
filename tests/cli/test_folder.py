"""`nar search FOLDER`: its modules in one table, and what those lack that could not be asked."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from nar.answers.naming import code_of
from nar.cli import folder_command
from nar.cli.app import app
from nar.own import capture_architecture

NETS = """
from torch import nn

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 3, 3)
    def forward(self, x):
        return self.conv(x).relu()

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.Sequential(*[Block() for _ in range(4)])
    def forward(self, x):
        return self.blocks(x)

class Wide(nn.Module):
    def __init__(self, width):
        super().__init__()
        try:
            open("written.txt", "w")
        except PermissionError:
            pass
        self.conv = nn.Conv2d(3, width, 3)
    def forward(self, x):
        return self.conv(x)

class Broken(nn.Module):
    def __init__(self):
        super().__init__()
        raise ValueError("no such width")
    def forward(self, x):
        return x
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("nets").mkdir()
    Path("nets/net.py").write_text(NETS)
    return Path("nets")


def run(*arguments):
    done = CliRunner(env={"COLUMNS": "120"}).invoke(app, ["search", *map(str, arguments)])
    assert done.exit_code == 0, done.output
    return done


@pytest.mark.slow
def test_the_models_of_a_folder_are_asked_in_one_run(folder):
    report = json.loads(run(folder, "--json", "-k", "2").stdout)
    assert report["folder"] == "nets"
    by_name = {each["name"]: each for each in report["modules"]}
    assert [each.rpartition(":")[2] for each in by_name] == ["Net", "Wide", "Broken", "Block"]
    net, wide, broken, block = by_name.values()
    assert [each["name"] for each in wide["answer"]["assumed"]["values"]] == ["width"]
    assert net["parameters"] == 4 * (3 * 3 * 9 + 3)
    assert len(net["answer"]["hits"]) == 2
    assert net["answer"]["query"] == "nets/net.py:Net"
    assert net["lacks"] is None
    assert "no such width" in broken["lacks"]
    assert broken["answer"] is None
    # A part is listed, and not asked about.
    assert (block["is_part"], block["answer"], block["lacks"]) == (True, None, None)


@pytest.mark.slow
def test_a_person_gets_a_table_and_what_is_lacking(folder):
    done = run(folder, "--html", "nets.html")
    lines = done.stdout.splitlines()
    [row] = [line for line in lines if "nets/net.py:Net" in line]
    assert " 336 " in row
    [first] = [number for number, line in enumerate(lines) if "nets/net.py:Wide" in line]
    below = [line.strip() for line in lines[first + 1 : first + 4]]
    assert below[0].startswith("x=1x3x")
    assert below[1].startswith("width = ")
    assert below[2] == "1 left out"
    assert any("nets/net.py:Broken" in line and "no such width" in line for line in lines)
    assert lines[-1] == "Not asked, as they are parts: Block; --all asks them too."
    page = Path("nets.html").read_text()
    assert "nets/net.py:Net" in page
    assert "no such width" in page
    shown = run(folder, "--all").stdout
    assert "nets/net.py:Block" in shown
    assert "Not asked" not in shown


@pytest.mark.parametrize("as_json", [(), ("--json",)], ids=["table", "json"])
def test_a_folder_of_which_nothing_could_be_asked_ends_with_status_one(tmp_path, as_json):
    broken = NETS[NETS.index("class Broken") :]
    (tmp_path / "net.py").write_text(f"from torch import nn\n{broken}")
    done = CliRunner(env={"COLUMNS": "500"}).invoke(app, ["search", str(tmp_path), *as_json])
    assert done.exit_code == 1
    assert "no such width" in done.stdout
    if not as_json:
        assert f"nar wrap {tmp_path}/net.py:Broken > ask.py" in done.stdout.replace("\n", "")


@pytest.mark.slow
def test_how_many_are_not_asked_is_said(folder, monkeypatch):
    monkeypatch.setattr(folder_command, "_MOST", 1)
    done = run(folder)
    assert done.stdout.splitlines()[-2:] == [
        "Not asked, as there are many: Wide, Broken; --all asks them too.",
        "Not asked, as they are parts: Block; --all asks them too.",
    ]


@pytest.mark.slow
def test_an_interrupted_run_shows_what_it_has(folder, monkeypatch):
    def capture(name, asking):
        if name.endswith("Net"):
            return capture_architecture(name, asking)
        raise KeyboardInterrupt

    monkeypatch.setattr(folder_command, "capture_architecture", capture)
    done = run(folder)
    assert "interrupted: the others are not asked" in done.stderr
    assert "nets/net.py:Net" in done.stdout
    assert "Not asked, as there are many: Wide, Broken" in done.stdout


@pytest.mark.slow
def test_a_module_that_hangs_does_not_hold_up_the_others(folder, monkeypatch):
    hanging = NETS.replace('raise ValueError("no such width")', "while True: pass")
    Path("nets/net.py").write_text(hanging)
    monkeypatch.setattr(folder_command, "_MOST_S", 3.0)
    by_name = {each["name"]: each for each in json.loads(run(folder, "--json").stdout)["modules"]}
    lacks = by_name["nets/net.py:Broken"]["lacks"]
    assert lacks == "it took longer than 3 s; `nar search nets/net.py:Broken` has no limit"
    assert by_name["nets/net.py:Net"]["answer"]


@pytest.mark.slow
def test_several_models_are_not_explained(folder):
    done = CliRunner().invoke(app, ["search", "nets", "--explain"])
    assert done.exit_code == 2
    assert "--explain is of one model" in done.output


@pytest.mark.parametrize("files", [{}, {"a.py": "x = 3\n"}, {"config.json": "{}"}])
def test_a_folder_without_models_is_told_so(tmp_path, files):
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    done = CliRunner().invoke(app, ["search", str(tmp_path)])
    assert done.exit_code == 1
    assert "wanted Python files that define modules" in done.stderr
    assert str(tmp_path) in done.stderr.replace("\n", "")


def test_a_configuration_of_transformers_is_the_model_of_its_folder(tmp_path):
    assert code_of(str(tmp_path)) == tmp_path
    (tmp_path / "config.json").write_text('{"width": 3}')
    assert code_of(str(tmp_path)) == tmp_path
    (tmp_path / "config.json").write_text('{"model_type": "bert"}')
    assert code_of(str(tmp_path)) is None
    assert code_of("timm:resnet18") is None


@pytest.mark.slow
def test_a_file_alone_means_its_models(folder):
    table = run("nets/net.py").stdout
    assert "Modules of nets/net.py" in table
    assert "no such width" in table
    Path("one.py").write_text(NETS.partition("class Wide")[0])
    answer = run("one.py").stdout
    assert "Relatives of one.py:Net" in answer


@pytest.mark.slow
def test_a_file_without_modules_is_told_what_it_has(tmp_path):
    path = tmp_path / "makes.py"
    path.write_text("def make(): ...\n")
    done = CliRunner().invoke(app, ["search", str(path)])
    assert done.exit_code == 1
    assert f"{path}:make" in done.stderr.replace("\n", "")
