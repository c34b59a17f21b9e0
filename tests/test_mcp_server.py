"""What an assistant gets: four tools that read, over a real connection."""

import os
import sys
from pathlib import Path

import anyio
import pytest
from mcp import Client, StdioServerParameters, stdio_client
from typer.testing import CliRunner

from nar import mcp_server as mcp_server_module
from nar.base.asking import Allowance, Asking
from nar.cli.app import app
from nar.mcp_server import Tools, mcp_server

ROOT = Path(__file__).parents[1]
NAR = Path(sys.executable).with_name("nar")


def called(tool, code=None, **arguments):
    """What a tool gives, and whether that is an error."""

    async def call():
        async with Client(mcp_server(code)) as client:
            result = await client.call_tool(tool, arguments)
            said = " ".join(part.text for part in result.content)
            return result.structured_content, result.is_error, said

    return anyio.run(call)


def test_the_tools_say_what_they_take():
    async def listed():
        async with Client(mcp_server()) as client:
            return (await client.list_tools()).tools

    tools = {tool.name: tool for tool in anyio.run(listed)}
    assert set(tools) == {"search", "diff", "motifs", "describe"}
    assert all(tool.description and tool.annotations.read_only_hint for tool in tools.values())
    assert set(tools["search"].input_schema["properties"]) == {
        "model", "top_k", "by", "max_parameters", "inputs", "among",
    }  # fmt: skip


@pytest.mark.slow
def test_a_search_answers_with_relatives():
    told, is_error, _ = called("search", model="resnet50", top_k=3, max_parameters=12_000_000)
    assert not is_error
    assert len(told["hits"]) == 3
    assert max(hit["parameters"] for hit in told["hits"]) <= 12_000_000
    assert "timm:resnet50" in told["same_network"]
    assert isinstance(told["bodies"], list)


@pytest.mark.slow
def test_an_engine_says_the_closest_that_it_supports():
    name = "transformers:codegen/CodeGenForCausalLM"
    told, is_error, _ = called("search", model=name, top_k=1, among="vllm")
    assert not is_error
    assert [hit["name"] for hit in told["hits"]] == [told["supported"]["name"]]
    assert told["supported"]["architecture"] == "GPTJForCausalLM"


@pytest.mark.slow
def test_two_models_are_compared():
    told, is_error, _ = called("diff", first="timm:resnet50", second="timm:resnet101")
    assert not is_error
    assert "resnet101" in told["text"]
    assert told["motifs"]


@pytest.mark.slow
def test_a_model_is_described_with_its_motifs():
    told, _, _ = called("describe", model="timm:resnet50")
    assert told["family"] == "resnet"
    assert told["parameters"] == 25_557_032
    told, _, _ = called("motifs", model="timm:resnet50")
    assert sum(each["times"] for each in told["motifs"]) == 18


@pytest.mark.parametrize(
    ("tool", "arguments", "reason"),
    [
        ("search", {"model": "resnet5O"}, "did you mean timm:resnet50"),
        ("describe", {"model": "evil.py:factory"}, "this program would be run"),
        ("search", {"model": "evil.py:Net"}, "nar mcp --run-code"),
        ("search", {"model": "resnet50", "top_k": 0}, "greater than or equal to 1"),
        ("search", {"model": "resnet50", "max_parameters": -1}, "parameters"),
    ],
)
def test_errors_say_the_way_out(tool, arguments, reason):
    _, is_error, said = called(tool, **arguments)
    assert is_error
    assert reason in said


@pytest.mark.parametrize("way", ["beside", "link", "up"])
def test_files_elsewhere_are_not_read(tmp_path, monkeypatch, way):
    inside = tmp_path / "inside"
    inside.mkdir()
    secret = tmp_path / "config.json"
    secret.write_text("{}")
    (inside / "link.json").symlink_to(secret)
    monkeypatch.chdir(inside)
    name = {"beside": str(secret), "link": "link.json", "up": "../config.json"}[way]
    _, is_error, said = called("describe", model=name)
    assert (is_error, "nar mcp --root FOLDER" in said) == (True, True)


@pytest.mark.slow
def test_a_file_is_read_in_a_process_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("config.json").write_text('{"model_type": "bert", "num_hidden_layers": 2}')
    monkeypatch.setattr(Tools, "_model", None)  # it is not asked here
    told, is_error, said = called("describe", model="config.json")
    assert not is_error, said
    assert told["family"] == "bert"
    Path("broken.json").write_text("[" * 100)
    _, is_error, said = called("describe", model="broken.json")
    assert (is_error, "broken.json" in said) == (True, True)


@pytest.mark.slow
def test_a_file_that_takes_too_long_is_given_up(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("config.json").write_text('{"model_type": "bert"}')
    monkeypatch.setattr(mcp_server_module, "_MAX_S", 0.01)
    _, is_error, said = called("describe", model="config.json")
    assert (is_error, "took longer than" in said) == (True, True)


NET = """
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        print("this is no part of the protocol")
        try: open("written.txt", "w")
        except PermissionError: pass
        self.conv = nn.Conv2d(5, 8, 3)
    def forward(self, x):
        return self.conv(x)
"""


@pytest.mark.slow
def test_a_server_that_runs_code_says_what_was_assumed_and_takes_inputs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("net.py").write_text(NET)
    told, is_error, _ = called("search", Asking(), model="net.py:Net", top_k=1)
    assert not is_error
    assert told["assumed"]["inputs"][0].startswith("x=1x5x")
    assert len(told["assumed"]["skipped"]) == 1
    assert told["sentences"][-2].startswith("Assumed: --input x=1x5x")
    told, _, _ = called("describe", Asking(), model="net.py:Net", inputs=["x=1x5x9x9:float32"])
    assert told["assumed"]["inputs"] == []
    assert told["parameters"] == 5 * 8 * 9 + 8
    told, _, _ = called("diff", Asking(), first="net.py:Net", second="timm:resnet18")
    assert "net.py:Net: Assumed: --input x=1x5x" in told["text"]
    assert not Path("written.txt").exists()
    called("motifs", Asking(allowed=frozenset({Allowance.WRITES})), model="net.py:Net")
    assert Path("written.txt").exists()


def test_code_that_does_not_run_is_allowed_nothing():
    done = CliRunner().invoke(app, ["mcp", "--allow", "network"])
    assert done.exit_code == 2
    assert "--run-code" in done.output


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "model", "family"),
    [([], "timm:resnet18", "resnet"), (["--run-code"], "net.py:Net", "dncnn")],
)
def test_an_assistant_starts_it_and_asks(tmp_path, options, model, family):
    (tmp_path / "net.py").write_text(NET)

    async def ask():
        # The server of this tree, wherever `nar` was installed from.
        env = {**os.environ, "PYTHONPATH": str(ROOT)}
        command = StdioServerParameters(
            command=str(NAR), args=["mcp", *options], cwd=tmp_path, env=env
        )
        async with Client(stdio_client(command)) as client:
            return await client.call_tool("search", {"model": model, "top_k": 1})

    assert anyio.run(ask).structured_content["hits"][0]["family"] == family
