"""A call on meta tensors that is made again gives what it gave the first time."""

import pytest
import torch

from nar.capture.forward import recorder
from nar.capture.forward.recorder import run

ATEN = torch.ops.aten
TENSORS = {
    "whole": lambda: torch.empty(2, 8, 4, 4),
    "channels last": lambda: torch.empty(2, 8, 4, 4).to(memory_format=torch.channels_last),
    "turned": lambda: torch.empty(2, 8, 4, 4).permute(0, 2, 3, 1),
    "part": lambda: torch.empty(2, 8, 4, 6)[..., :4],
    "half": lambda: torch.empty(2, 8, 4, 4, dtype=torch.float16),
    "places": lambda: torch.empty(2, 8, 1, 1),
    "row": lambda: torch.empty(4),
    "counts": lambda: torch.empty(2, 8, 4, 4, dtype=torch.int64),
    "number": lambda: 2.0,
    "whole number": lambda: 2,
}
NUMBERS = {"number", "whole number"}


@pytest.fixture(autouse=True)
def on_meta(monkeypatch):
    monkeypatch.setattr(recorder, "_forms", {})
    with torch.device("meta"):
        yield


def form(result):
    if isinstance(result, tuple):
        return tuple(map(form, result))
    return result.shape, result.stride(), result.dtype, result.device.type


def same_twice(function, *args, **kwargs):
    computed = form(function(*args, **kwargs))
    assert [form(run(function, args, kwargs)) for _ in range(2)] == [computed, computed]


@pytest.mark.parametrize("first", sorted(TENSORS.keys() - NUMBERS))
@pytest.mark.parametrize("second", TENSORS)
@pytest.mark.parametrize("function", [ATEN.add.Tensor, ATEN.mul.Tensor, ATEN.div.Tensor])
def test_arithmetic(function, first, second):
    args = TENSORS[first](), TENSORS[second]()
    try:
        function(*args)
    except RuntimeError:
        for _ in range(2):
            with pytest.raises(RuntimeError, match="broadcast"):
                run(function, args, {})
    else:
        same_twice(function, *args)


@pytest.mark.parametrize("name", sorted(TENSORS.keys() - NUMBERS - {"counts"}))
@pytest.mark.parametrize("function", [ATEN.relu.default, ATEN.hardswish.default, ATEN.mean.default])
def test_one_operand(function, name):
    same_twice(function, TENSORS[name]())


def test_several_results_and_options():
    image = TENSORS["channels last"]()
    same_twice(ATEN.native_group_norm.default, image, None, None, 2, 8, 16, 4, 1e-5)
    same_twice(ATEN.upsample_bilinear2d.default, image, [8, 8], False)
    same_twice(ATEN.mean.dim, image, [2, 3], True, dtype=torch.float64)
    same_twice(ATEN.cat.default, [image, TENSORS["whole"]()], 1)


def test_a_call_is_computed_once(monkeypatch):
    image = TENSORS["whole"]()
    run(ATEN.hardswish.default, (image,), {})
    monkeypatch.setattr(recorder, "_forms_of", lambda result: pytest.fail("computed again"))
    run(ATEN.hardswish.default, (image,), {})


def test_calls_that_differ_in_a_number_are_told_apart():
    counts = torch.empty(4, dtype=torch.int64)
    results = [run(ATEN.mul.Tensor, (counts, factor), {}).dtype for factor in (2, 2.0, True)]
    assert results == [torch.int64, torch.float32, torch.int64]


def test_writing_gives_the_tensor_that_was_written():
    for _ in range(2):
        tensor = torch.empty(4)
        assert run(ATEN.hardswish_.default, (tensor,), {}) is tensor


def test_writing_that_changes_a_form_is_always_done():
    for _ in range(2):
        tensor = torch.empty(4)
        assert run(ATEN.unsqueeze_.default, (tensor, 0), {}).shape == (1, 4)


def test_a_view_shares_the_memory_of_its_tensor():
    tensor = torch.empty(4, 2)
    for _ in range(2):
        view = run(ATEN.view.default, (tensor, [8]), {})
        assert view.untyped_storage()._cdata == tensor.untyped_storage()._cdata


def test_values_are_computed():
    ones = torch.ones(3, device="cpu")
    assert [run(ATEN.add.Tensor, (ones, 1), {}).tolist() for _ in range(2)] == [[2.0] * 3] * 2


def test_the_oldest_calls_make_room(monkeypatch):
    monkeypatch.setattr(recorder, "CALLS", 2)
    for length in range(1, 6):
        run(ATEN.relu.default, (torch.empty(length),), {})
        assert len(recorder._forms) <= 2


def test_a_number_may_stand_first(captured):
    def forward(self, x):
        return torch.ops.aten.add.Tensor(2.0, x)

    assert captured(forward, (2, 8)).graph.nodes == 2
