"""What a user states of inputs: texts and trees, and back."""

import pytest
import torch
from hypothesis import given as over
from hypothesis import strategies as st

from nar.base.asking import Asking
from nar.base.errors import InvalidInputError
from nar.capture import CaptureInputs
from nar.own.given import Given, Sizes, read_inputs, read_tree, stated_of, written


@pytest.mark.parametrize(
    ("texts", "args", "kwargs"),
    [
        (["1x3x224x224"], (Sizes((1, 3, 224, 224)),), {}),
        (["x=1x8"], (), {"x": Sizes((1, 8))}),
        (["ids=1x128:int64"], (), {"ids": Sizes((1, 128), torch.int64)}),
        (["mask=none"], (), {"mask": None}),
        (["m=1x4:bool:zeros"], (), {"m": Sizes((1, 4), torch.bool, is_zero=True)}),
        (["t=scalar:float32"], (), {"t": Sizes((), torch.float32)}),
        (["train:=False", "scale:=0.5"], (), {"train": False, "scale": 0.5}),
        (
            ["1x8", "none", ":=3", "y=1"],
            (Sizes((1, 8)), None, 3),
            {"y": Sizes((1,))},
        ),
        (
            ["batch.image=1x3x8x8", "batch.ids=1x4:int64"],
            (),
            {"batch": {"image": Sizes((1, 3, 8, 8)), "ids": Sizes((1, 4), torch.int64)}},
        ),
        (["x.0=3x8", "x.1=3x9"], (), {"x": [Sizes((3, 8)), Sizes((3, 9))]}),
        (["0.x=1x8"], ({"x": Sizes((1, 8))},), {}),
        (['batch."a key"=2'], (), {"batch": {"a key": Sizes((2,))}}),
    ],
)
def test_texts_state_a_call(texts, args, kwargs):
    assert read_inputs(texts) == Given(args, kwargs)


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (["x=1,3"], "wanted NAME=SIZES"),
        (["x="], "wanted NAME=SIZES"),
        (["x=1x8:int65"], "wanted a type of torch, such as int64, came int65"),
        (["x=1", "x=2"], "wanted each input once"),
        (["x=1", "x.y=2"], "came both"),
        (["x.y=1", "x=2"], "wanted each input once"),
        (["x.1=2"], "wanted the entries 0, 1, 2 and so on, came 1"),
        (["x:=open('a')"], "wanted NAME=SIZES"),
    ],
)
def test_a_text_that_states_nothing_says_what_is_wanted(texts, said):
    with pytest.raises(InvalidInputError, match=said):
        read_inputs(texts)


def test_a_tree_of_shapes_states_a_call():
    shape = Sizes((1, 3, 8, 8))
    assert read_tree((1, 3, 8, 8)) == Given((shape,))
    assert read_tree(torch.Size([1, 3, 8, 8])) == Given((shape,))
    assert read_tree([(1, 3, 8, 8), (1,)]) == Given((shape, Sizes((1,))))
    assert read_tree({"x": (1, 3, 8, 8), "deep": True}) == Given((), {"x": shape, "deep": True})
    assert read_tree("x=1x3x8x8") == Given((), {"x": shape})


def test_tensors_of_a_tree_stay():
    tensor = torch.zeros(2, device="meta")
    assert read_tree(tensor).args[0] is tensor
    assert read_tree((tensor, [tensor])).args[1][0] is tensor
    assert read_tree(CaptureInputs((), {"x": tensor})).kwargs["x"] is tensor


DTYPES = st.sampled_from([torch.float32, torch.int64, torch.bool, torch.bfloat16])
TENSORS = st.builds(
    lambda extents, dtype: torch.zeros(tuple(extents), dtype=dtype),
    st.lists(st.integers(0, 4), max_size=5),
    DTYPES,
)
VALUES = st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=5))
LEAVES = st.one_of(TENSORS, VALUES)
TREES = st.recursive(
    LEAVES,
    lambda parts: st.one_of(
        st.lists(parts, min_size=1, max_size=3),
        st.dictionaries(st.text(min_size=1, max_size=5), parts, min_size=1, max_size=3),
    ),
    max_leaves=6,
)
NAMES = st.from_regex(r"[a-z_]\w{0,5}", fullmatch=True).filter(str.isascii)


@pytest.mark.slow
@over(st.lists(TREES, max_size=3), st.dictionaries(NAMES, TREES, max_size=3))
def test_a_written_call_is_read_as_it_was(args, kwargs):
    """Tensors by shape and type; all else as it is."""
    texts = written(CaptureInputs(tuple(args), kwargs))
    assert read_inputs(texts) == Given(tuple(map(sizes, args)), sizes(kwargs))


def sizes(value):
    if isinstance(value, torch.Tensor):
        is_zero = value.dtype is torch.bool and not value.any()
        return Sizes(tuple(value.shape), value.dtype, bool(is_zero))
    if isinstance(value, dict):
        return {key: sizes(part) for key, part in value.items()}
    return [sizes(part) for part in value] if isinstance(value, list) else value


def test_arguments_by_position_are_written_with_their_names_if_all_have_one():
    call = CaptureInputs((torch.zeros(1, 8), torch.ones(1)), {"y": None})
    assert written(call, ["x", "t"]) == ("x=1x8:float32", "t=1:float32", "y=none")
    assert written(call, ["x"]) == ("1x8:float32", "1:float32", "y=none")


def test_a_user_states_texts_or_a_tree():
    shape = (1, 3, 8, 8)
    of_texts, of_tree = stated_of(Asking(("x=1x3x8x8",))), stated_of(Asking(example={"x": shape}))
    assert of_texts.kwargs == of_tree.kwargs == {"x": Sizes(shape)}
    assert not stated_of(Asking())
