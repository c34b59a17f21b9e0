"""What is said of a query beside its hits, in sentences."""

import pytest
from test_verdict import hits

from nar.answers.bodies import SharedBody
from nar.answers.difference import Changes
from nar.answers.edits import Edit, Edits
from nar.answers.part_of import PartOf, Whole
from nar.answers.query import Answer
from nar.answers.verdict import UNLIKE, FamilyCount, FamilyVerdict, Resemblance
from nar.answers.words import Sentence, sentences
from nar.views.answer import evidence_report

BART = FamilyVerdict(10, (FamilyCount("bart", 8, 0.971, 0.9), FamilyCount("t5", 2, 0.9, 0.1)))
SPLIT = FamilyVerdict(10, (FamilyCount("t5", 4, 0.9, 0.5), FamilyCount("bart", 6, 0.89, 0.5)))
FAR = FamilyVerdict(10, (FamilyCount("vgg", 10, 0.4, 1.0),))
RESNET = FamilyVerdict(10, (FamilyCount("resnet", 9, 0.99, 0.95),))
GPT2 = SharedBody("transformers:gpt2/GPT2Model", ("head",))
HALF = Whole("transformers:bart/BartModel", PartOf(0.97, 0.512, "the end"))
NEW = "No architecture in the index has this exact design."


def said(**parts):
    """The sentences of an answer without hits, but for that nothing is the same."""
    first, *others = [each.text for each in sentences(Answer((), **parts))]
    assert first == NEW
    return others


def test_a_family_is_said_with_its_evidence():
    assert said(family=BART) == ["Family: bart (8 of the first 10 hits, the nearest at 0.971)."]


def test_where_none_stands_out_the_candidates_are_said():
    assert said(family=SPLIT) == [
        "Family: none stands out among the first 10 hits (t5 4, at 0.900; bart 6, at 0.890)."
    ]
    assert said(family=FAR) == [
        "Family: none stands out among the first 10 hits (vgg 10, at 0.400)."
    ]
    assert said(family=FamilyVerdict(0, ())) == ["Family: there are no hits."]


def test_a_composed_model_has_two():
    assert said(family=BART, trunk=RESNET) == [
        "Family, by what it is for: bart (8 of the first 10 hits, the nearest at 0.971).",
        "Family of its trunk: resnet (9 of the first 10 hits, the nearest at 0.990).",
    ]


def test_a_part_is_said_to_be_one_and_where_it_is():
    line = (
        "This is 97% contained in transformers:bart/BartModel: the end of it, 51% of its operators."
    )
    assert said(part_of=(HALF,)) == [line]
    assert said(part_of=(HALF, HALF, HALF)) == [f"{line} And in 2 more of the hits."]
    assert said(part_of=()) == []


def test_of_what_is_new_is_said_what_it_is_like_and_whose_body_it_has():
    body = Resemblance("body", GPT2.name)
    lines = said(resemblance=body, bodies=(GPT2, GPT2, GPT2), novelty=41.6)
    assert lines == [
        "Novelty 42: so many of 100 designs of known families have a nearer relative.",
        "It has the body of transformers:gpt2/GPT2Model, widths aside, with another head. "
        "2 more of the hits have it.",
    ]
    nothing = "There is nothing in the index to compare it with."
    assert said(resemblance=UNLIKE, bodies=()) == [nothing]


def test_how_near_a_family_is_is_said_in_three_strengths():
    dit = ("transformers:dit", "dit", 8, 8, 0.66)
    told = {
        word: said(resemblance=Resemblance(word, *dit)) for word in ("family", "near", "unlike")
    }
    assert told == {
        "family": ["It is of the family dit; its nearest relative is transformers:dit."],
        "near": [
            "It has no close relative; the nearest family is dit, 8 of 8 hits, loosely (0.66), as "
            "transformers:dit."
        ],
        "unlike": ["Nothing in the index is near it; the nearest is transformers:dit (0.66)."],
    }


def test_an_exact_part_is_said_before_what_is_near_and_nothing_contradicts_it():
    part = Resemblance("part", HALF.name, "bart")
    [line] = said(resemblance=part, part_of=(HALF,))
    assert line.startswith("This is 97% contained in transformers:bart/BartModel")
    near = Resemblance("family", "timm:bit", "bit")
    assert said(resemblance=near, part_of=(HALF,))[0] == line
    # A client of another version may have one without the other.
    assert said(resemblance=part) == [
        "It is nearest to transformers:bart/BartModel, a part of which it is."
    ]


def test_a_family_that_is_near_is_said_once():
    near = Resemblance("near", "lib:0", "vgg", 10, 10, 0.6)
    assert len(said(resemblance=near, family=FAR)) == 1
    assert len(said(resemblance=near, family=FAR, trunk=RESNET)) == 3


def test_families_that_vote_together_are_said_together():
    both = FamilyVerdict(10, (FamilyCount("wav2vec2", 9, 0.91, 0.95, ("hubert", "unispeech")),))
    assert said(family=both) == [
        "Family: wav2vec2, which has designs of hubert, unispeech, too (9 of the first 10 hits, "
        "the nearest at 0.910)."
    ]


def test_of_what_is_known_nothing_weaker_is_said():
    [same] = hits(("gpt2", 1.0))
    known = Answer((), same_at_inference=(same,), resemblance=UNLIKE, bodies=(GPT2,))
    assert sentences(known) == (
        Sentence(
            "same_at_inference",
            "At inference this is the same network as lib:0: a batch norm folded, branches "
            "or adapters merged.",
            ("lib:0",),
        ),
    )


def test_a_sentence_names_the_first_of_many():
    four = tuple(hits(*[("gpt2", 1.0)] * 4))
    [sentence] = sentences(Answer((), same_design=four))
    assert sentence.text.endswith(
        "in other widths or other settings, as lib:0, lib:1, lib:2 and 1 more."
    )
    assert sentence.names == ("lib:0", "lib:1", "lib:2")


def test_what_changed_is_said_of_the_first_alone():
    two = tuple(hits(("gpt2", 1.0), ("gpt2", 0.9)))
    changed = (Changes("lib:0", Edits(), "widths"),)
    [sentence] = sentences(Answer((), same_design=two, changes=changed))
    assert sentence.text.endswith("in other widths, as lib:0; lib:1 has it, too.")
    assert sentence.names == ("lib:0", "lib:1")


def test_what_has_the_same_operators_and_is_no_copy_is_wired_otherwise():
    like = Resemblance("family", "lib:0", "bit")
    told = sentences(Answer((), resemblance=like, changes=(Changes("lib:0", Edits()),)))
    assert told[-1].text == "This one has the operators of lib:0, wired or ordered otherwise."


def test_names_of_a_sentence_stand_in_it():
    like = Resemblance("family", "timm:bit", "bit")
    told = sentences(Answer((), resemblance=like, part_of=(HALF,), bodies=(GPT2,)))
    named = [each for each in told if each.names]
    assert [each.part for each in named] == ["bodies", "part_of", "resemblance"]
    assert all(name in each.text for each in named for name in each.names)
    far = Resemblance("unlike", "timm:bit")
    [_, said_far] = sentences(Answer((), resemblance=far))
    assert said_far.names == ("timm:bit",)


def test_a_program_gets_all_of_it():
    told = evidence_report(Answer((), family=SPLIT, trunk=RESNET, part_of=(HALF,), bodies=(GPT2,)))
    assert told["bodies"] == [{"name": "transformers:gpt2/GPT2Model", "differs": ("head",)}]
    assert told["family"]["name"] is None
    assert told["family"]["counts"][0] == {
        "family": "t5",
        "hits": 4,
        "score": 0.9,
        "vote": 0.5,
        "also": (),
    }
    assert told["trunk"]["name"] == "resnet"
    assert told["part_of"] == [
        {
            "name": "transformers:bart/BartModel",
            "share": 0.97,
            "of_whole": 0.512,
            "where": "the end",
        }
    ]
    assert evidence_report(Answer((), family=BART))["trunk"] is None


@pytest.mark.parametrize(
    ("design", "said"),
    [
        ("widths", "in other widths, as lib:0"),
        ("settings", "with other kernels, strides or heads, as lib:0"),
        ("sharing", "in equal widths with another sharing of weights, as lib:0"),
    ],
)
def test_in_what_a_known_design_differs(design, said):
    edits = Edits((Edit("kernel", 2, ("conv 3x3",), ("conv 7x7",)),) * (design == "settings"))
    answer = Answer(
        (), same_design=(hits(("gpt2", 1.0))), changes=(Changes("lib:0", edits, design),)
    )
    known, *others = sentences(answer)
    assert said in known.text
    texts = ["From lib:0 to this one: conv 7x7 for conv 3x3 (2 times)."] * (design == "settings")
    assert [each.text for each in others] == texts
