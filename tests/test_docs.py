"""README and docs: every block of commands runs here, or says why it does not; the site builds.

A block that does not run has a line before it: ``<!-- not run: why -->``. Its commands and their
options exist all the same. A block of Python or YAML that begins with the name of a file, such as
``# examples.py``, is that file for all blocks. A block of ``console`` shows a terminal of 100
columns; a line ``...`` stands for any lines. What begins with ``error`` is what a failing command
says.
"""

import re
import runpy
import shlex
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
import typer
import yaml
from server_process import ATLAS, process_of
from test_layering import FLOORS
from typer.testing import CliRunner

import nar
from nar.answers.atlas import shipped_atlas
from nar.answers.uses import read_uses
from nar.base.own_zoo import ZooFile
from nar.base.workspace import version
from nar.cli.app import app
from nar.config import NarConfig
from nar.corpus import Corpus, shipped_corpus
from nar.serve.scopes import ScopedToken
from nar.wire.settings import ServerConfig
from nar.zoo.libraries import import_library
from nar.zoo.selections import select

ROOT = Path(__file__).parents[1]
PAGES = (
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    *sorted((ROOT / "deploy").glob("*.md")),
    *sorted((ROOT / "docs").glob("*.md")),
)
FENCE = re.compile(
    r"(?:^ *<!-- not run: (?P<reason>[^\n]+) -->\n)?^ *```(?P<language>\w+)\n(?P<text>.*?)^ *```$",
    re.M | re.S,
)
COMMANDS = {"sh", "console", "python", "yaml"}
# What `python -m` runs and is no part of the project: the tool that builds a release.
FOREIGN = {"build"}
FILE = re.compile(r"# ([\w.-]+\.(?:py|yaml))\b")
# Where the pages say that a server runs.
ADDRESS = "127.0.0.1:50051"
# Its collection in the cache would be made beside, which takes a core for a while.
SERVER = ATLAS.replace("is_named=is_named", "is_named=is_named, files_alone=True")
TERMINAL = {"FORCE_COLOR": "1", "NO_COLOR": "1", "COLUMNS": "100"}
COLOURS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    page: Path
    line: int
    language: str
    text: str
    reason: str | None

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"

    @property
    def file(self) -> str:
        """The file that it is; empty if it is none."""
        named = FILE.match(self.text)
        return named[1] if named else ""

    def commands(self) -> list[list[str]]:
        """Words of each command of a shell."""
        if self.language not in {"sh", "console"}:
            return []
        lines = self.text.replace("\\\n", " ").splitlines()
        if self.language == "console":
            lines = [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
        return [words for line in lines if (words := split(line))]


def split(line: str) -> list[str]:
    """Words of a command without its comment; ``timm:resnet50#2`` is a word."""
    return shlex.split(re.sub(r"(^|\s)#\s.*", "", line))


def blocks_of(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    return [
        Block(
            page,
            text.count("\n", 0, found.start()) + 1,
            found["language"],
            found["text"],
            found["reason"],
        )
        for found in FENCE.finditer(text)
        if found["language"] in COMMANDS
    ]


BLOCKS = [block for page in PAGES for block in blocks_of(page)]
RUN = [page for page in PAGES if any(block.reason is None for block in blocks_of(page))]


def test_every_block_of_commands_is_run_or_says_why_not():
    fences = re.compile(rf"^ *```(?:{'|'.join(COMMANDS)})\b", re.M)
    for page in PAGES:
        assert len(fences.findall(page.read_text(encoding="utf-8"))) == len(blocks_of(page)), page


@pytest.fixture(scope="module")
def server():
    """Address of a server of the atlas, as `nar serve` starts one, on free ports."""
    ports = ServerConfig(port=0, metrics_port=0)
    config = NarConfig(server=ports).model_dump_json(exclude={"server": {"token"}})
    with process_of(SERVER, config, "unnamed") as running:
        yield running.target


@pytest.fixture
def workspace(tmp_path, monkeypatch):
    """An empty folder with the files of the pages."""
    for block in BLOCKS:
        if block.file:
            (tmp_path / block.file).write_text(block.text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run_command(words: list[str], address: str, env: dict[str, str], *, fails: bool = False) -> str:
    """What a command of `nar` prints; of one that should fail, its error."""
    program, *arguments = (word.replace(ADDRESS, address) for word in words)
    assert program == "nar", "this test runs `nar` alone: mark the block, and say why"
    done = CliRunner(env=env).invoke(app, arguments, catch_exceptions=False)
    assert done.exit_code == int(fails), f"{words}: {done.stderr}"
    return done.stderr if fails else done.stdout


def run_shown(block: Block, address: str) -> None:
    """Run the commands of a block, and compare what it shows of their output."""
    for part in re.split(r"^\$ ", block.text, flags=re.M)[1:]:
        command, _, shown = part.partition("\n")
        fails = shown.startswith("error ")
        printed = COLOURS.sub("", run_command(split(command), address, TERMINAL, fails=fails))
        lines = re.split(r"^\.\.\.\n", plain(shown), flags=re.M)
        pattern = r"(?:.*\n)*".join(map(re.escape, lines))
        assert re.fullmatch(pattern, plain(printed)), f"{block}: {command}\n{printed}"


def plain(text: str) -> str:
    """Lines without blanks at their ends, and no empty lines at the end of them."""
    return "\n".join(line.rstrip() for line in text.splitlines()).rstrip("\n") + "\n"


def run_block(block: Block, address: str) -> None:
    if block.language == "console":
        run_shown(block, address)
    elif block.language == "sh":
        for words in block.commands():
            run_command(words, address, {})
    elif block.language == "yaml":
        stated = yaml.safe_load(block.text)
        if isinstance(stated, list):
            assert [ScopedToken.model_validate(each) for each in stated]
        else:
            (ZooFile if "models" in stated else NarConfig).model_validate(stated)
    else:
        if re.search(r"^import timm$", block.text, re.M):
            # A torchvision whose operators are of another torch is imported by NAR alone.
            import_library("timm")
        exec(
            compile(block.text.replace(ADDRESS, address), str(block), "exec"), {"__name__": "block"}
        )


@pytest.mark.slow
@pytest.mark.parametrize("page", RUN, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_blocks_of_a_page_run(page, workspace, server):
    for block in blocks_of(page):
        if block.reason is None:
            run_block(block, server)


def options_of(words: list[str]) -> set[str]:
    """Options of a command of `nar`, `python -m benchmark` or `python -m cluster.JOB`."""
    if words[0] == "nar":
        command, path = typer.main.get_command(app), words[1:]
    else:
        module = f"{words[2]}.__main__" if words[2] == "benchmark" else words[2]
        command, path = typer.main.get_command(import_module(module).app), words[3:]
    for word in path:
        if not hasattr(command, "commands") or word.startswith("-"):
            break
        command = command.commands[word]
    return {option for parameter in command.params for option in parameter.opts}


def own_commands(block: Block) -> list[list[str]]:
    """Commands of the project in a block that does not run, as words."""
    ours = []
    for words in block.commands():
        words = words[: words.index("|")] if "|" in words else words
        words = words[words.index("python") :] if "python" in words else words
        is_module = words[:2] == ["python", "-m"] and words[2] not in FOREIGN
        if words[0] == "nar" or is_module:
            ours.append(words)
    return ours


MARKED = [block for block in BLOCKS if block.reason and own_commands(block)]


@pytest.mark.parametrize("block", MARKED, ids=str)
def test_commands_that_do_not_run_here_exist(block):
    for words in own_commands(block):
        asked = {word.partition("=")[0] for word in words if word.startswith("--")}
        assert asked <= options_of(words) | {"--help"}, words


def test_targets_of_make_that_the_pages_name_exist():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([\w%-]+):", makefile, re.M))
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    named = set(re.findall(r"(?:^|`)make ([a-z][a-z-]*)", text, re.M))
    assert {name for name in named - targets if "campaign-" not in name} == set()


def test_files_that_the_pages_name_exist():
    text = "\n".join(block_free(page) for page in PAGES)
    folders = "nar|cluster|benchmark|tests|deploy|docs|proto|results"
    named = set(re.findall(rf"`((?:{folders})/[\w./-]*)`", text))
    named |= set(re.findall(rf"(?<![\w./-])((?:{folders})/[\w./-]*\w\.(?:py|md|yaml))\b", text))
    assert {name for name in named if not (ROOT / name).exists()} == set()


def test_the_map_has_every_room_on_its_floor_and_what_to_read_first_exists():
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+) \| `(\w+/?(\w*)(?:/|\.py))` \|[^|]*\| ([^|]*) \|$", page, re.M)
    floors = [line.split() for line in FLOORS.strip().splitlines()]
    on = {room or path.strip("/"): int(floor) for floor, path, room, _ in rows}
    # What is generated, and the names of `import nar`, are no rooms to work in.
    expected = {room: floor for floor, rooms in enumerate(floors, 1) for room in rooms}
    assert on == {room: floor for room, floor in expected.items() if room not in {"v1", "nar"}}
    for _, path, _, first in rows:
        for file in re.findall(r"`([\w./]+)`", first):
            assert (ROOT / path / file).exists(), f"{path}{file}"


def block_free(page: Path) -> str:
    """Text of a page, with the reasons of its blocks and without the blocks."""
    return FENCE.sub(lambda found: found["reason"] or "", page.read_text(encoding="utf-8"))


def test_extras_that_the_pages_name_exist():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    named = {name for found in re.findall(r"\.\[([\w,]+)\]", text) for name in found.split(",")}
    search = (ROOT / "docs" / "searching.md").read_text(encoding="utf-8")
    [listed] = re.findall(r"an error names the extra that is missing:(.*?)\. `nar", search, re.S)
    named |= set(re.findall(r"`(\w+)`", listed))
    assert named - project["optional-dependencies"].keys() == set()


def test_the_front_page_is_read_in_a_minute():
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(page.split()) <= 900
    # The first screen of an editor or a browser.
    assert "pip install" in "\n".join(page.splitlines()[:15])


@pytest.mark.parametrize(("name", "most"), [("CHANGELOG.md", 700), ("results/README.md", 300)])
def test_a_page_that_is_short_by_purpose_stays_short(name, most):
    assert len((ROOT / name).read_text(encoding="utf-8").split()) <= most


def figures_of_what_ships():
    """Phrases of the pages, each with the figure that files of NAR give in the place of ``#``."""
    manifest, uses = Corpus(shipped_corpus()).manifest(), read_uses(shipped_atlas())
    assert uses is not None
    stored = sum(file.stat().st_size for file in shipped_corpus().iterdir())
    totals = manifest.totals
    return {
        "# architectures": f"{totals.everything.raw:,}",
        "# captured architectures": f"{totals.everything.raw:,}",
        "# distinct networks, named by a library": f"{totals.headline.exact:,}",
        "# distinct designs": f"{totals.headline.topology:,}",
        "architectures of # sources": f"{len(manifest.sources)}",
        "captured architectures in # MB": f"{stored / 1e6:.1f}",
        "all # motif types": f"{len(np.unique(uses.codes)):,}",
        "with # real models": f"{len(select('demo').names)}",
    }


def test_figures_of_what_ships_are_those_of_its_files():
    first = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").partition("## 0.1.0")[2]
    text = " ".join("\n".join(map(block_free, PAGES)).replace(first, "").split())
    for phrase, figure in figures_of_what_ships().items():
        found = re.findall(re.escape(phrase).replace(r"\#", r"(\d[\d,.]*)"), text)
        assert set(found) == {figure}, phrase


def test_links_between_files_lead_somewhere():
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_the_table_of_sources_is_that_of_the_records():
    written = runpy.run_path(str(ROOT / "docs" / "sources.py"))
    page = (ROOT / "docs" / "corpus.md").read_text(encoding="utf-8")
    assert written["with_table"](page) == page, "run python docs/sources.py"


def test_the_reference_has_every_public_name():
    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    named = re.findall(r"^\.\. auto(?:class|function):: nar\.(\w+)$", page, re.M)
    assert sorted(named) == sorted(nar.__all__)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site, built strictly, in a process of its own, which Sphinx changes."""
    folder = tmp_path_factory.mktemp("site")
    command = [
        sys.executable,
        "-m",
        "sphinx",
        "-q",
        "-W",
        "--keep-going",
        "-b",
        "html",
        "docs",
        str(folder),
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.slow
def test_the_site_fetches_nothing(site):
    for file in site.rglob("*.html"):
        text = file.read_text(encoding="utf-8")
        fetched = re.findall(
            r"<(?:script|link|img|iframe)\b[^>]*(?:src|href)=\"(?:https?:)?//", text
        )
        assert fetched == [], file.name
    for file in site.rglob("*.css"):
        assert not re.search(r"url\([\"']?(?:https?:)?//", file.read_text(encoding="utf-8")), (
            file.name
        )


@pytest.mark.slow
def test_the_site_says_how_each_part_is_used(site):
    # Sphinx has pages of its own, such as search.html, which would replace a page of docs.
    pages = {page.stem for page in (ROOT / "docs").glob("*.md")}
    assert len(pages) >= 10
    assert pages & {"genindex", "search"} == set()
    assert {page.stem for page in site.glob("*.html")} == pages | {"genindex", "search"}
    reference = (site / "api.html").read_text(encoding="utf-8")
    assert all(f'id="nar.{name}"' in reference for name in nar.__all__)


def block(language: str, text: str) -> Block:
    return Block(ROOT / "README.md", 1, language, text, None)


@pytest.mark.parametrize(
    "wrong",
    [
        block("console", "$ nar --version\nnar 0.0\n"),
        block("console", "$ nar --version\n"),
        block("console", "$ nar --version\nerror nar: no such thing\n"),
        block("console", "$ nar search no-such-source:model\nerror of another kind\n"),
        block("sh", "nar search no-such-source:model\n"),
        block("sh", "make demo\n"),
    ],
    ids=lambda wrong: wrong.text,
)
def test_a_block_that_says_something_else_or_that_cannot_run_is_noticed(wrong, workspace):
    with pytest.raises(AssertionError):
        run_block(wrong, ADDRESS)


def test_a_line_of_dots_stands_for_any_lines(workspace):
    run_block(block("console", "$ nar --version\n...\n"), ADDRESS)
    run_block(block("console", f"$ nar --version\nnar {version()}\n"), ADDRESS)
