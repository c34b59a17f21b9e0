"""What an assistant gets: four tools that read, over a real connection."""

import sys
from pathlib import Path

import anyio
import pytest
from mcp import Client, StdioServerParameters, stdio_client

from nar.mcp_server import mcp_server

NAR = Path(sys.executable).with_name("nar")


def called(tool, **arguments):
    """What a tool gives, and whether that is an error."""

    async def call():
        async with Client(mcp_server()) as client:
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
        "model", "top_k", "by", "max_parameters",
    }  # fmt: skip


def test_a_search_answers_with_relatives():
    told, is_error, _ = called("search", model="resnet50", top_k=3, max_parameters=12_000_000)
    assert not is_error
    assert len(told["hits"]) == 3
    assert max(hit["parameters"] for hit in told["hits"]) <= 12_000_000
    assert "timm:resnet50" in told["same_network"]
    assert isinstance(told["bodies"], list)


def test_two_models_are_compared():
    told, is_error, _ = called("diff", first="timm:resnet50", second="timm:resnet101")
    assert not is_error
    assert "resnet101" in told["text"]
    assert told["motifs"]


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
        ("describe", {"model": "evil.py:factory"}, "a Python file would be run"),
        ("search", {"model": "resnet50", "top_k": 0}, "greater than or equal to 1"),
        ("search", {"model": "resnet50", "max_parameters": -1}, "parameters"),
    ],
)
def test_errors_say_the_way_out(tool, arguments, reason):
    _, is_error, said = called(tool, **arguments)
    assert is_error
    assert reason in said


@pytest.mark.slow
def test_an_assistant_starts_it_and_asks():
    async def ask():
        command = StdioServerParameters(command=str(NAR), args=["mcp"])
        async with Client(stdio_client(command)) as client:
            return await client.call_tool("search", {"model": "timm:resnet18", "top_k": 1})

    assert anyio.run(ask).structured_content["hits"][0]["family"] == "resnet"
