"""What is said of a query beside its hits, in words and as plain data."""

from io import StringIO

from rich.console import Console
from test_verdict import hits

from nar.answers.bodies import SharedBody
from nar.answers.evidence import Evidence
from nar.answers.part_of import PartOf, Whole
from nar.answers.query import Answer
from nar.answers.verdict import UNLIKE, FamilyCount, FamilyVerdict
from nar.views import evidence_display

BART = FamilyVerdict(10, (FamilyCount("bart", 8, 0.971, 0.9), FamilyCount("t5", 2, 0.9, 0.1)))
SPLIT = FamilyVerdict(10, (FamilyCount("t5", 4, 0.9, 0.5), FamilyCount("bart", 6, 0.89, 0.5)))
FAR = FamilyVerdict(10, (FamilyCount("vgg", 10, 0.4, 1.0),))
RESNET = FamilyVerdict(10, (FamilyCount("resnet", 9, 0.99, 0.95),))
GPT2 = SharedBody("transformers:gpt2/GPT2Model", ("head",))
HALF = Whole("transformers:bart/BartModel", PartOf(0.97, 0.512, "the end"))


def said(told):
    console = Console(file=StringIO(), width=200)
    console.print(evidence_display.view(told))
    return [line.strip() for line in console.file.getvalue().splitlines()]


def test_a_family_is_said_with_its_evidence():
    assert said(Evidence(BART)) == ["Family: bart (8 of the first 10 hits, the nearest at 0.971)."]


def test_where_none_stands_out_the_candidates_are_said():
    assert said(Evidence(SPLIT)) == [
        "Family: none stands out among the first 10 hits (t5 4, at 0.900; bart 6, at 0.890)."
    ]
    assert said(Evidence(FAR)) == [
        "Family: none stands out among the first 10 hits (vgg 10, at 0.400)."
    ]
    assert said(Evidence(FamilyVerdict(0, ()))) == ["Family: there are no hits."]


def test_a_composed_model_has_two():
    assert said(Evidence(BART, RESNET)) == [
        "Family, by what it is for: bart (8 of the first 10 hits, the nearest at 0.971).",
        "Family of its trunk: resnet (9 of the first 10 hits, the nearest at 0.990).",
    ]


def test_a_part_is_said_to_be_one_and_where_it_is():
    line = (
        "This is 97% contained in transformers:bart/BartModel: the end of it, 51% of its operators."
    )
    assert said(Evidence(BART, None, (HALF,)))[1:] == [line]
    assert said(Evidence(BART, None, (HALF, HALF, HALF)))[1:] == [
        f"{line} And in 2 more of the hits."
    ]


def test_before_the_table_stands_what_it_is_like_and_whose_body_it_has():
    lines = [str(line) for line in evidence_display.said(Answer(()), UNLIKE, (GPT2, GPT2, GPT2))]
    assert lines == [
        "Nothing like it is known.",
        "It has the body of transformers:gpt2/GPT2Model, widths aside, with another head. "
        "2 more of the hits have it.",
    ]
    assert len(evidence_display.said(Answer(()), UNLIKE, ())) == 1


def test_of_what_is_known_nothing_weaker_is_said():
    known = Answer((), same_at_inference=tuple(hits(("gpt2", 1.0))))
    assert evidence_display.said(known, UNLIKE, (GPT2,)) == []


def test_a_program_gets_all_of_it():
    told = evidence_display.report(Evidence(SPLIT, RESNET, (HALF,), (GPT2,)))
    assert told["bodies"] == [{"name": "transformers:gpt2/GPT2Model", "differs": ("head",)}]
    assert told["family"]["name"] is None
    assert told["family"]["counts"][0] == {"family": "t5", "hits": 4, "score": 0.9, "vote": 0.5}
    assert told["trunk"]["name"] == "resnet"
    assert told["part_of"] == [
        {
            "name": "transformers:bart/BartModel",
            "share": 0.97,
            "of_whole": 0.512,
            "where": "the end",
        }
    ]
    assert evidence_display.report(Evidence(BART))["trunk"] is None
