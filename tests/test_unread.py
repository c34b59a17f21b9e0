"""Records of what capture could not read of a model."""

import json
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO

import numpy as np
import onnx
import pytest
import torch
from torch import nn

from nar.answers.words import unread_texts
from nar.ask import asked_of, search
from nar.base.errors import InvalidQueryError
from nar.capture import capture_module
from nar.capture.onnx.file import capture_onnx
from nar.graphs.assumed import DEPENDENCE, Count, Unread
from nar.v1 import retrieval_pb2 as wire
from nar.wire.assumed import MAX_TEXTS, decode_unread, encode_unread

WHOLE = Unread(
    unknown=(Count("my::a", 3), Count("my::b", 1)),
    operators=8,
    cut=(Count("numpy", 1), Count("item", 2)),
    lost=1_056,
    parameters=4_188,
    facts=(Count("shape of onnx::Loop", 1),),
    without=("the derivative of net.py:9",),
)


class Leaves(nn.Module):
    """Two layers, between which values leave the tensors."""

    def __init__(self, leave):
        super().__init__()
        self.first, self.last = nn.Linear(8, 8), nn.Linear(8, 2)
        self.leave = leave

    def forward(self, x):
        return self.last(self.leave(self.first(x)))


def numpy_of(x):
    return torch.from_numpy(x.detach().cpu().numpy())


def test_one_sentence_has_all_of_it():
    [text] = unread_texts(WHOLE)
    assert text == (
        "4 of 8 operators are not known to NAR: my::a (3), my::b; values left the tensors by "
        "numpy, item (2) and are not followed; 1,056 of 4,188 parameters reach no result; "
        "not worked out: shape of onnx::Loop; captured without the derivative of net.py:9; "
        "the answer is about the rest."
    )
    assert list(unread_texts(None)) == list(unread_texts(Unread(operators=8))) == []


def test_long_lists_are_cut_in_words_alone():
    many = Unread(tuple(Count(f"my::{letter}", 1) for letter in "abcdefgh"), operators=20)
    [text] = unread_texts(many)
    assert "my::f and 2 more; the answer" in text
    assert json.loads(json.dumps(many.to_plain()))["unknown"][7] == {"name": "my::h", "times": 1}


@pytest.mark.parametrize(
    ("unread", "has_verdict"),
    [
        (Unread((Count("my::a", 4),), 8), True),
        (Unread((Count("my::a", 5),), 8), False),
        (Unread(lost=9, parameters=10), True),  # a teacher beside its student
        (Unread(lost=9, parameters=10, cut=(Count("numpy", 1),)), False),
        (Unread(lost=5, parameters=10, cut=(Count("numpy", 1),)), True),
    ],
)
def test_less_than_half_of_a_model_gets_no_verdict(unread, has_verdict):
    assert unread.has_verdict is has_verdict
    [text] = unread_texts(unread)
    assert text.endswith("the answer is about the rest.") is has_verdict
    assert text.endswith("there is no verdict.") is not has_verdict


@pytest.mark.parametrize("unread", [WHOLE, Unread()])
def test_it_comes_over_the_wire(unread):
    assert decode_unread(encode_unread(unread)) == unread


@pytest.mark.parametrize(
    ("message", "field"),
    [
        (wire.Unread(unknown=[{"name": "y" * 5_000}]), r"unknown\[0\].name"),
        (wire.Unread(without=["x", "y" * 5_000]), r"without\[1\]"),
        (wire.Unread(cut=[{"name": "x"}] * (MAX_TEXTS + 1)), "1000 texts, came 1001"),
    ],
)
def test_a_query_brings_no_more_than_an_answer_says_again(message, field):
    with pytest.raises(InvalidQueryError, match=field):
        decode_unread(message)


@pytest.mark.parametrize(
    ("leave", "function"),
    [
        (numpy_of, "numpy"),
        (lambda x: torch.tensor(x.tolist()), "tolist"),
        (lambda x: torch.full((1, 8), x.mean().item()), "item"),
        (lambda x: torch.as_tensor(np.asarray(x.detach())), "numpy"),
        (lambda x: torch.from_dlpack(x.detach()), "dlpack"),
        (lambda x: torch.full((1, 8), float(x.mean())), "float"),
        (lambda x: torch.arange(8).roll(int(x.sum())).float()[None], "int"),
        (lambda x: torch.full((1, 8), complex(x.mean()).real), "complex"),
        (lambda x: torch.ones(1, 8) if x.sum() > 0 else torch.zeros(1, 8), "bool"),
        (lambda x: torch.ones(1, 8) * torch.equal(x, 2 * x), "equal"),
        (
            lambda x: torch.tensor(x.detach().untyped_storage().tolist()[:8]).float()[None],
            "storage",
        ),
    ],
)
def test_values_that_leave_their_tensors_are_counted(leave, function):
    unread = capture_module(Leaves(leave), torch.zeros(1, 8)).unread
    assert unread.cut == (Count(function, 1),)
    assert (unread.lost, unread.parameters, unread.facts) == (72, 90, ())
    assert not unread.has_verdict


def test_a_path_that_a_value_chose_is_said():
    module = Leaves(lambda x: torch.relu(x) if x.sum() > 0 else torch.tanh(x))
    unread = capture_module(module, torch.zeros(1, 8)).unread
    assert (unread.cut, unread.lost, unread.has_verdict) == ((Count("bool", 1),), 0, True)
    module = Leaves(lambda x: x if torch.ones(3).all() else -x)  # no value of the model
    assert capture_module(module, torch.zeros(1, 8)).unread is None


def in_a_thread(x):
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(torch.sigmoid, x).result()


def by_pickle(x):
    file = BytesIO()
    torch.save(x.detach(), file)
    file.seek(0)
    return torch.load(file)


@pytest.mark.parametrize("leave", [in_a_thread, by_pickle, lambda x: torch.zeros(1, 8)])
def test_a_result_that_depends_on_no_input_is_said(leave):
    unread = capture_module(Leaves(leave), torch.zeros(1, 8)).unread
    assert (unread.cut, unread.facts) == ((), (Count(DEPENDENCE, 1),))
    assert not unread.has_verdict
    [text] = unread_texts(unread)
    assert "not worked out: how a result depends on an input; less than half was read" in text


def test_a_model_without_inputs_lacks_nothing():
    module = nn.Embedding(4, 4)
    module.forward = lambda: module.weight * 2
    assert capture_module(module, ()).unread is None


def test_a_file_whose_result_depends_on_no_input_is_said(tmp_path):
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["": 17]> g (float[1, 8] x) => (float[1, 8] y) '
        "{ a = MatMul(x, w) y = MatMul(c, w) }"
    )
    for name, extents in {"w": (8, 8), "c": (1, 8)}.items():
        array = np.ones(extents, np.float32)
        model.graph.initializer.append(onnx.numpy_helper.from_array(array, name))
    onnx.save(model, tmp_path / "model.onnx")
    capture = capture_onnx(tmp_path / "model.onnx", name="model")
    assert capture.unread is None  # all weights reach the result
    model.graph.node[1].input[1] = "v"
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.ones((8, 4), np.float32), "v"))
    onnx.save(model, tmp_path / "model.onnx")
    unread = capture_onnx(tmp_path / "model.onnx", name="model").unread
    assert unread.facts == (Count(DEPENDENCE, 1),)
    assert (unread.lost, unread.parameters, unread.has_verdict) == (64, 104, False)


def test_sizes_that_an_input_states_are_no_loss():
    class Sizes(nn.Linear):
        def forward(self, x, sizes):
            return torch.cat([super(Sizes, self).forward(part) for part in x.split(sizes.tolist())])

    capture = capture_module(Sizes(4, 4), (torch.zeros(5, 4), torch.tensor([2, 3])))
    assert capture.unread is None
    assert capture_module(nn.Linear(4, 4), torch.zeros(1, 4)).unread is None


def test_layers_that_no_result_depends_on_are_counted():
    module = nn.Linear(4, 4)
    module.teacher = nn.Linear(4, 8)
    unread = capture_module(module, torch.zeros(1, 4)).unread
    assert (unread.lost, unread.parameters, unread.has_verdict) == (40, 60, True)


@pytest.mark.slow
def test_an_answer_says_what_was_not_read_and_gives_no_verdict():
    module = Leaves(numpy_of)
    assert asked_of(module, torch.zeros(1, 8)).unread.lost == 72
    answer = search(module, torch.zeros(1, 8), top_k=1).answer
    assert answer.unread.lost == 72
    assert answer.hits
    assert (answer.novelty, answer.resemblance, answer.family, answer.is_known) == (
        None, None, None, False,
    )  # fmt: skip
