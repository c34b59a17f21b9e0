"""What a person sees of an answer, in terminals of any width."""

from io import StringIO

import pytest
from rich.console import Console

from nar.answers.query import Answer
from nar.index.rows import Hit, architecture_id
from nar.views.answer import answer_view

LONG = "transformers:convnext/ConvNextForImageClassification@published"


def hit(name: str, library: str) -> Hit:
    return Hit(
        id=architecture_id(name),
        name=name,
        source="-",
        library=library,
        family="convnext",
        block="-",
        task="image-classification",
        tier="named",
        parameters=28_600_000,
        flops=1,
        nodes=1,
        topology="-",
        exact="-",
        inference="-",
        score=0.991,
    )


def shown(*hits: Hit, width: int, **same: tuple[Hit, ...]) -> list[str]:
    console = Console(file=StringIO(), width=width)
    console.print(answer_view("mine", Answer(hits, **same)))
    return [line for line in console.file.getvalue().splitlines() if line.strip()]


def table(*hits: Hit, width: int) -> list[str]:
    lines = shown(*hits, width=width)
    return lines[lines.index(next(line for line in lines if line.startswith("Relatives"))) :]


@pytest.mark.parametrize("width", [80, 120])
def test_a_name_is_never_cut(width):
    lines = table(hit("timm:convnext_tiny", "timm 1.0"), hit(LONG, "transformers 5.0"), width=width)
    first = lines[3].index("timm:")
    column = lines[1].index("family") - first
    assert "".join(line[first : first + column].strip() for line in lines[4:]).startswith(LONG)
    assert all(" 0.991" in line and " 28.6M " in line for line in lines[3:5])


@pytest.mark.parametrize(("width", "is_whole"), [(70, False), (80, True), (100, True), (120, True)])
def test_a_task_is_whole_where_there_is_room(width, is_whole):
    lines = table(hit("timm:resnet18", "timm 1.0"), width=width)
    assert ("image-classification" in lines[3]) is is_whole
    assert ("image-classif…" in lines[3]) is not is_whole


def test_libraries_are_shown_where_a_name_does_not_begin_with_its_own():
    named = hit("timm:convnext_tiny", "timm 1.0")
    assert not any("library" in line for line in table(named, width=100))
    lines = table(named, hit("our-net", "inhouse 3"), width=100)
    assert "library" in lines[1]
    assert " timm " in lines[3]
    assert " inhouse " in lines[4]


def test_where_nothing_is_what_was_asked_for_it_says_so():
    lines = " ".join(shown(width=100))
    assert "No architecture in the index has what the options ask for" in lines
    assert "Relatives" not in lines


NET, FOLDED, WIDE = (hit(f"timm:{name}", "timm 1") for name in ("net", "folded", "wide"))


@pytest.mark.parametrize(
    ("same", "said"),
    [
        (
            {"same_network": (NET,), "same_design": (WIDE,)},
            "This network is already known as timm:net.",
        ),
        (
            {"same_at_inference": (FOLDED,), "same_design": (WIDE,)},
            "At inference this is the same network as timm:folded: a batch norm folded, "
            "branches or adapters merged.",
        ),
        (
            {"same_network": (NET,), "same_at_inference": (FOLDED,)},
            "This network is already known as timm:net. At inference this is the same network as "
            "timm:folded: a batch norm folded, branches or adapters merged.",
        ),
        (
            {"same_design": (WIDE,)},
            "This design is already known, in other widths or other settings, as timm:wide.",
        ),
        ({}, "No architecture in the index has this exact design."),
    ],
)
def test_the_most_that_is_known_of_a_query_is_said(same, said):
    lines = " ".join(shown(NET, width=200, **same))
    assert " ".join(lines.split()).startswith(f"{said} Relatives of mine")
