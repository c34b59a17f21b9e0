"""Asking without inputs: what is drawn, what is asked, and the page that says what came of it."""

from collections import Counter
from pathlib import Path

import pytest
import torch
from torch import nn
from typer.testing import CliRunner

from benchmark.asked.asking import Asked, Question, ask
from benchmark.asked.classes import asked_libraries
from benchmark.asked.commands import app
from benchmark.asked.drawing import CLASSES, halves
from benchmark.asked.page import PAGE, as_markdown
from benchmark.asked.recording import Recorder
from benchmark.asked.repositories import Answer, repositories
from benchmark.asked.shares import seconds, shares
from benchmark.asked.spelling import NoTextError, Spelling
from benchmark.asked.stored import Measured, read, write
from benchmark.asked.written import written_networks

RESULTS = Path(__file__).parents[2] / "results"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ([1, (2.5,), {"a": None}], "[1, (2.5,), {'a': None}]"),
        (torch.float16, "torch.float16"),
        (torch.zeros(2, 3), "torch.zeros((2, 3))"),
        (torch.tensor([[0, 4]]), "torch.tensor([[0, 4]], dtype=torch.int64)"),
        (torch.full((3,), 7), "torch.full((3,), 7, dtype=torch.int64)"),
        (nn.Linear, "Linear"),
    ],
)
def test_a_value_is_written_as_the_python_that_makes_it(value, text):
    assert Spelling().value(value) == text


def test_a_long_tensor_of_numbers_keeps_its_shape_its_type_and_its_bounds():
    values = torch.arange(200).view(2, 100) + 5
    again = eval(Spelling().value(values), {"torch": torch})
    assert (again.shape, again.dtype) == (values.shape, values.dtype)
    assert (again.min(), again.max()) == (5, 204)


def test_what_has_no_text_is_refused():
    with pytest.raises(NoTextError, match="cannot be imported"):
        Spelling().value(lambda x: x)


def test_the_outermost_call_is_recorded_with_how_its_module_was_made():
    recorder = Recorder("torch.nn.modules")
    recorder.place = "an example"
    with recorder.recording():
        nn.Sequential(nn.Linear(4, 2, bias=False))(torch.zeros(3, 4))
    (evidence,) = (each for calls in recorder.found.values() for each in calls)
    assert evidence.made == "Sequential(Linear(4, 2, bias=False))"
    assert evidence.inputs == "((torch.zeros((3, 4)),), {})"
    assert nn.Linear(4, 2)(torch.zeros(3, 4)).shape == (3, 2)


CODE = "from torch import nn\n\n\ndef make():\n    return nn.{}\n"


@pytest.mark.parametrize(
    ("made", "inputs", "verdict"),
    [
        ("Linear(4, 2)", "((torch.zeros(3, 4),), {})", "right"),
        ("Linear(4, 2)", "((torch.zeros(3, 5),), {})", "no truth"),
        ("ReLU()", "((torch.zeros(3, 5),), {})", "no truth"),
    ],
)
def test_a_question_is_compared_with_its_true_inputs(tmp_path, made, inputs, verdict):
    question = Question("it", CODE.format(made), "make", inputs)
    assert ask(question, tmp_path).verdict == verdict


MASKED = """import torch
from torch import nn


class Scores(nn.Module):
    def __init__(self):
        super().__init__()
        self.inward = nn.Linear(48, 8)

    def forward(self, x, mask=None):
        x = self.inward(x)
        return x if mask is None else x.masked_fill(mask[..., None], 0.0)


def make():
    return Scores()
"""


@pytest.mark.parametrize(
    ("inputs", "guess"),
    [
        ("((torch.zeros(1, 9, 48),), {})", "right"),
        ("((torch.zeros(1, 9, 48),), {'mask': torch.ones(1, 9, dtype=torch.bool)})", "wrong"),
    ],
)
def test_of_a_refusal_it_is_kept_what_the_call_that_was_found_would_have_been(
    tmp_path, inputs, guess
):
    asked = ask(Question("it", MASKED, "make", inputs), tmp_path)
    assert (asked.verdict, asked.guess) == ("refused", guess)
    assert "nothing says which call is meant" in asked.reason


def test_the_file_that_is_asked_lies_far_from_the_true_inputs(tmp_path):
    question = Question("it", CODE.format("Linear(4, 2)"), "make", "((torch.zeros(3, 4),), {})")
    ask(question, tmp_path)
    assert [path.name for path in (tmp_path / "alone").glob("*.py")] == ["model.py"]
    assert "zeros" not in (tmp_path / "alone" / "model.py").read_text()


def test_shares_are_of_what_has_a_truth_and_intervals_of_whole_groups():
    verdicts = {"a": "right", "b": "right", "c": "wrong", "d": "refused", "e": "no truth"}
    asked = [Asked(name, verdict, seconds=1.0) for name, verdict in verdicts.items()]
    came = shares(asked, {"a": "x", "b": "x", "c": "y", "d": "y", "e": "y"})
    assert {verdict: (share.number, share.share) for verdict, share in came.items()} == {
        "right": (2, 0.5), "wrong": (1, 0.25), "refused": (1, 0.25),
    }  # fmt: skip
    assert (came["right"].low, came["right"].high) == (0, 1)
    assert seconds(asked) == (1.0, 1.0)


def test_every_other_library_tests():
    names = ["a", "b", "c", "d", "e"]
    assert Counter(halves(names).values()) == {"validation": 3, "test": 2}
    assert halves(names) == halves(reversed(names))


def test_the_frozen_table_has_300_classes_of_40_libraries_each_once():
    libraries = list(asked_libraries())
    first = [library for library in libraries if library.half in ("validation", "test")]
    paths = [each.path for library in libraries for each in library.classes]
    assert len(first) >= 40
    assert sum(len(library.classes) for library in first) == CLASSES
    assert len(paths) == len(set(paths))
    assert not {"torchvision", "timm"} & {library.name for library in libraries}


def test_what_was_not_drawn_at_first_is_of_libraries_that_test():
    rest = {library.name for library in asked_libraries("rest")}
    assert rest
    assert rest <= {library.name for library in asked_libraries("test")}


def test_twelve_networks_of_each_kind_are_written_always_the_same():
    networks = list(written_networks())
    assert set(Counter(each.kind for each in networks).values()) == {12}
    assert len({each.name for each in networks}) == 120
    assert networks == list(written_networks())
    for each in networks:
        compile(each.code, each.name, "exec")
        compile(each.inputs, each.name, "eval")


@pytest.mark.parametrize("purpose", ["last", "fresh"])
def test_twenty_repositories_were_chosen_of_as_many_subjects(purpose):
    chosen = list(repositories(purpose))
    assert len(chosen) == len({each.subject for each in chosen}) == 20
    before = {each.name for each in repositories() if each.purpose != purpose}
    assert before.isdisjoint(each.name for each in chosen)
    assert len(list(repositories("tuned"))) == 10


def test_what_is_measured_is_kept_by_part(tmp_path):
    first = Asked("a", "right", inputs=("x=1x4",))
    write(tmp_path, "written", [first])
    write(tmp_path, "test", [Asked("b", "wrong")])
    assert read(tmp_path) == Measured(test=(Asked("b", "wrong"),), written=(first,))


def test_the_shipped_page_says_what_the_shipped_answers_say():
    assert (RESULTS / PAGE).read_text() == as_markdown(read(RESULTS))


def test_a_repository_that_a_wrapper_brings_to_run_is_not_said_to_be_unable():
    page = as_markdown(read(RESULTS))
    row = next(line for line in page.splitlines() if "laiguokun/LSTNet" in line)
    assert "not without a wrapper: it divides" in row
    assert "0 of 0" not in page
    assert "Of 0 others" not in page


def test_the_shipped_answers_are_to_the_questions_of_the_tables():
    measured = read(RESULTS)
    paths = {
        half: {each.path for library in asked_libraries(half) for each in library.classes}
        for half in ("validation", "test")
    }
    assert {each.name for each in measured.test} == paths["test"]
    assert {each.name for each in measured.validation} <= paths["validation"]
    assert {each.name for each in measured.written} == {each.name for each in written_networks()}
    for part in ("earlier", "before", "since"):
        main = {each.asked for each in getattr(measured, part) if each.is_main}
        assert main == {each.main for each in repositories(part)}
    # Runs that end early keep what is there.
    for part in ("before_again", "since_again", "last", "fresh"):
        main = {each.asked for each in getattr(measured, part) if each.is_main}
        assert main <= {each.main for each in repositories(part.removesuffix("_again"))}


def test_what_failed_is_asked_at_a_second_look_alone(tmp_path):
    ended = CliRunner().invoke(app, ["repositories", "fresh", str(tmp_path), "box", "--failed"])
    assert ended.exit_code
    assert "wanted --again beside it" in " ".join(ended.output.split())


def test_asking_about_repositories_had_no_effects():
    measured = read(RESULTS)
    assert not [
        each.effects
        for part in Measured.__dataclass_fields__
        for each in getattr(measured, part)
        if isinstance(each, Answer) and each.effects
    ]
