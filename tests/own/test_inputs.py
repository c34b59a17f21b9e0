"""Inputs that are found from a module alone."""

import gc
import random
import sys
import threading
import time

import pytest
import torch
import unannounced as modules
from torch import nn

from nar.base.errors import CaptureError
from nar.own.calling import ModuleCaller
from nar.own.clock import Deadline, OutOfTimeError
from nar.own.given import read_inputs
from nar.own.inputs import NoInputsError, infer_inputs
from nar.own.inputs.search import Budget, InputSearch
from nar.own.inputs.slots import Kind, resized, slot

FLOAT, IDS = torch.float32, torch.int64
ANY = None  # any extent

WANTED = {
    modules.LeNet: [(FLOAT, (1, 1, 32, 32))],
    modules.TextCNN: [(IDS, (1, ANY))],
    modules.Sensor: [(FLOAT, (1, ANY, 9))],
    modules.TimeFirst: [(FLOAT, (ANY, 1, 40))],
    modules.Volume: [(FLOAT, (1, 1, 32, 32, 32))],
    modules.Tabular: [(IDS, (1, 3)), (FLOAT, (1, 5))],
    modules.Learned: [(IDS, (1, 50))],
    modules.Positions: [(IDS, (1, 32))],
    modules.Denoiser: [(FLOAT, (1, 4, ANY, ANY)), (FLOAT, (1,)), (IDS, (1,))],
    modules.TwoOptional: [(FLOAT, (1, 3, ANY, ANY)), (IDS, (1, ANY))],
    modules.Graph: [(FLOAT, (ANY, 16)), (IDS, (2, ANY))],
    modules.Points: [(FLOAT, (1, 6, ANY))],
    modules.DenseGraph: [(FLOAT, (ANY, 32)), (FLOAT, (ANY, ANY))],
}


def found(module, *texts):
    return infer_inputs("module", module, read_inputs(texts))


def tensors(inferred):
    return [*inferred.inputs.args, *inferred.inputs.kwargs.values()]


def fits(tensor, dtype, extents):
    pairs = zip(tensor.shape, extents, strict=True)
    return tensor.dtype is dtype and all(want in (ANY, got) for got, want in pairs)


@pytest.mark.parametrize("kind", WANTED, ids=lambda kind: kind.__name__)
def test_the_inputs_of_a_module_are_found(kind):
    inferred = found(kind())
    assert inferred.weights_reached == 1.0
    assert inferred.is_sure
    assert len(tensors(inferred)) == len(WANTED[kind])
    for tensor, wanted in zip(tensors(inferred), WANTED[kind], strict=True):
        assert fits(tensor, *wanted), inferred.texts


def test_what_nobody_can_guess_is_refused_with_what_was_tried():
    with pytest.raises(NoInputsError) as caught:
        found(modules.Hopeless())
    assert "has no attribute 'nodes'" in caught.value.reason
    assert "tried batch=1x" in caught.value.reason
    assert caught.value.reason.endswith("state them: --input batch=1x64:float32")


class Half(nn.Module):
    """Its second part runs with an input that nobody comes by."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(8, 8), nn.Linear(64, 64)

    def forward(self, x, deep=None):
        return self.a(x) if deep is None else self.b(self.a(x).repeat(1, 8 + deep.depth))


class Actor(nn.Module):
    """Its second part runs in training, with no input."""

    def __init__(self):
        super().__init__()
        self.actor, self.critic = nn.Linear(8, 8), nn.Linear(17, 17)

    def forward(self, x):
        return self.actor(x)


def test_what_no_input_reaches_is_said():
    assert found(Actor()).doubts == ("the inputs reach 19% of the weights",)


def test_inputs_that_are_left_out_and_without_which_half_is_not_reached_are_wanted():
    with pytest.raises(NoInputsError, match=r"x=1x8:float32, reach 2% of the weights only; state"):
        found(Half())
    # What is stated is not refused.
    assert found(Half(), "x=1x8").doubts == ("the inputs reach 2% of the weights",)


def test_what_is_stated_stays_and_the_rest_is_found():
    inferred = found(modules.Denoiser(), "x=2x4x8x8")
    assert [tuple(tensor.shape) for tensor in tensors(inferred)] == [(2, 4, 8, 8), (1,), (1,)]
    inferred = found(modules.Tabular(), "numbers=1x5:float32")
    assert inferred.inputs.kwargs["categories"].shape == (1, 3)


def test_a_stated_shape_that_does_not_fit_is_refused_by_what_the_module_says():
    with pytest.raises(NoInputsError, match="conv2d of inp wanted 4 and got 5; it was given x=1x5"):
        found(modules.Denoiser(), "x=1x5x8x8", "t=1", "y=1")


class Ruinous(nn.Module):
    """Leaves something behind in every run."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 8)
        self.seen = []
        self.count = 0
        self.register_buffer("mean", torch.zeros(8))

    def forward(self, x):
        self.count += 1
        self.seen.append(x)
        self.extra = x
        self.mean += 1
        random.random()
        return self.layer(x) + torch.rand(8)


def test_the_module_and_the_generators_are_as_before():
    module = Ruinous().train()
    states = random.getstate(), torch.get_rng_state()
    before = dict(vars(module))
    with torch.enable_grad():
        found(module)
        assert torch.is_grad_enabled()
    assert vars(module) == before
    assert module.seen == []
    assert module.training
    assert module.mean.tolist() == [0.0] * 8
    assert random.getstate() == states[0]
    assert torch.equal(torch.get_rng_state(), states[1])
    assert not module.layer._forward_pre_hooks


class Endless(nn.Module):
    def forward(self, x):
        while True:
            pass


@pytest.mark.slow
def test_a_run_that_does_not_end_is_ended(monkeypatch):
    monkeypatch.setattr("nar.own.inputs.search.MOST_SECONDS", 0.2)
    with pytest.raises(CaptureError):
        found(Endless())


class Waiting(nn.Module):
    """Waits for something that never comes, and computes nothing."""

    def forward(self, x):
        while not threading.Event().wait(0.01):
            pass


@pytest.mark.slow
def test_a_run_that_waits_is_ended(monkeypatch):
    monkeypatch.setattr("nar.own.inputs.search.MOST_SECONDS", 0.05)
    monkeypatch.setattr("nar.own.inputs.search._LEAST_SECONDS", 0.05)
    with pytest.raises(CaptureError):
        found(Waiting())


@pytest.mark.slow
def test_seconds_in_which_others_compute_do_not_count(monkeypatch):
    monkeypatch.setattr("nar.own.clock._WAITING", 1e6)
    deadline = Deadline(0.5)
    other = threading.Thread(target=computes, args=(0.6,))
    other.start()
    other.join()
    deadline.check()
    computes(0.6)
    with pytest.raises(OutOfTimeError):
        deadline.check()


def computes(seconds: float) -> None:
    """Keep the processor busy for a thread."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def test_sizes_that_run_other_operators_are_told_from_those_that_do_not():
    class Windows(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Conv2d(3, 8, 3)

        def forward(self, x):
            x = self.layer(x)
            return x.relu() if x.shape[-1] > 300 else x

    assert found(Windows()).sizes_matter is True
    assert found(nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU())).sizes_matter is False
    assert found(modules.LeNet()).sizes_matter is None


class Aligned(nn.Module):
    """Ids of three axes: nothing but its assertion tells."""

    def __init__(self):
        super().__init__()
        self.table, self.out = nn.Embedding(30, 16), nn.Linear(16, 4)

    def forward(self, tokens):
        assert tokens.ndim == 3
        return self.out(self.table(tokens).mean(1))


class Guarded(nn.Module):
    """A side that no layer fixes, and that a condition compares."""

    def __init__(self):
        super().__init__()
        self.side, self.layer = 40, nn.Conv2d(3, 8, 3)

    def forward(self, x):
        _, _, height, width = x.shape
        if height != self.side or width != self.side:
            raise ValueError("wrong")
        return self.layer(x)


class Checked(nn.Module):
    """Two sizes that are compared one after the other, with one sentence."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(24, 8)

    def forward(self, x):
        for axis, wanted in ((1, 1), (2, 24), (3, 24)):
            self.check(x, axis, wanted)
        return self.layer(x)

    def check(self, x, axis, wanted):
        came = x.shape[axis]
        message = f"shape mismatch at dimension {axis}: expected {wanted}, got {came}"
        if came - wanted:
            raise ValueError(message)


class Many(nn.Module):
    """A mapping of more keys than a search has repairs in a row."""

    def __init__(self):
        super().__init__()
        self.tables = nn.ModuleDict({f"c{i}": nn.Embedding(9, 4) for i in range(20)})
        self.head = nn.Linear(80, 1)

    def forward(self, x):
        return self.head(torch.cat([table(x[key]) for key, table in self.tables.items()], -1))


class Clip(nn.Module):
    """A pooling of eight frames at the end: with sixteen it would leave two."""

    def __init__(self):
        super().__init__()
        self.stem, self.head = nn.Conv3d(3, 8, (1, 3, 3), (1, 16, 16), (0, 1, 1)), nn.Linear(8, 2)
        self.pool = nn.AvgPool3d((8, 7, 7), 1)

    def forward(self, x):
        return self.head(self.pool(self.stem(x)).permute(0, 2, 3, 4, 1))


class Squeezed(nn.Module):
    """Of one sample too much is squeezed."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(12, 5), nn.Linear(5, 1)

    def forward(self, x):
        _batch, _ = self.a(x).squeeze().shape
        return self.b(self.a(x))


@pytest.mark.parametrize(
    ("kind", "wanted"),
    [
        (Aligned, (IDS, (1, ANY, ANY))),
        (Guarded, (FLOAT, (1, 3, 40, 40))),
        (Checked, (FLOAT, (1, 1, 24, 24))),
        (Clip, (FLOAT, (1, 3, 8, 112, 112))),
        (Squeezed, (FLOAT, (2, 12))),
    ],
    ids=lambda kind: getattr(kind, "__name__", ""),
)
def test_what_no_layer_tells_is_read_from_the_code_that_fails(kind, wanted):
    inferred = found(kind())
    assert fits(tensors(inferred)[0], *wanted), inferred.texts


@pytest.mark.slow
def test_a_mapping_gets_as_many_keys_as_it_is_asked_for():
    (mapping,) = found(Many()).inputs.args
    assert len(mapping) == 20
    assert {tensor.dtype for tensor in mapping.values()} == {IDS}


def test_a_list_of_mappings_is_found():
    (samples,) = found(modules.OfDicts()).inputs.args
    assert [tuple(sample["image"].shape) for sample in samples] == [(3, 224, 224)]


class Slow(nn.Module):
    """A large image takes it for ever."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Conv2d(3, 8, 3)

    def forward(self, x):
        while x.shape[-1] > 200:
            pass
        return self.layer(x)


@pytest.mark.slow
def test_a_run_that_takes_too_long_is_tried_smaller(monkeypatch):
    monkeypatch.setattr("nar.own.inputs.search._LONGEST", 0.1)
    assert tensors(found(Slow()))[0].shape == (1, 3, 56, 56)


@pytest.mark.slow
def test_python_can_be_traced_after_a_search():
    """Sending nothing to a thread left Python waiting for it, and tracing then went round."""
    found(modules.LeNet())
    calls = []
    before = sys.getprofile()
    sys.setprofile(lambda *_: calls.append(None))
    try:
        found(modules.Tabular())
    finally:
        sys.setprofile(before)
    assert calls


class Steps(nn.Module):
    """A cell of its own kind, step by step."""

    def __init__(self):
        super().__init__()
        self.words, self.inward = nn.Embedding(90, 24), nn.Linear(48, 24)

    def forward(self, ids):
        state = self.words.weight.new_zeros(1, 24)
        for step in self.words(ids).unbind(1):
            state = torch.tanh(self.inward(torch.cat([step, state], 1)))
        return state


def test_another_length_that_was_seen_to_differ_is_not_sought_again():
    """Twice the length has shown the loop: eight times the length would take as much again."""
    (longer,) = found(Steps()).readings
    assert longer.texts == ("ids=1x64:int64",)


class Stained(nn.Module):
    """Reads a value, so that it runs for real, and writes what it was given."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Conv2d(3, 8, 3)

    def forward(self, x):
        x[:, 0] += 1
        return self.layer(x) if x.sum() > 0 else self.layer(-x)


def test_inputs_take_no_memory_until_a_run_writes_them():
    inferred = found(Stained())
    (image,) = tensors(inferred)
    assert image.untyped_storage().nbytes() == image.element_size()
    capture = ModuleCaller("module", read_inputs(())).capture(Stained())
    assert capture.assumed.inputs == inferred.texts


@pytest.mark.slow
def test_a_search_looks_for_garbage_as_before_when_it_is_over():
    gc.unfreeze()
    found(modules.LeNet())
    with pytest.raises(NoInputsError):
        found(Unrunnable())
    assert not gc.get_freeze_count()


def test_what_a_program_has_frozen_stays_frozen():
    gc.freeze()
    try:
        found(modules.LeNet())
        assert gc.get_freeze_count()
    finally:
        gc.unfreeze()


class Unrunnable(nn.Module):
    """Takes no input at all."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x):
        raise ValueError("nothing is right")


class Windows(nn.Module):
    """Wants another side, and says so in words that may as well mean channels."""

    def __init__(self):
        super().__init__()
        self.stem, self.layer = nn.Conv2d(3, 8, 4, 4), nn.Conv2d(8, 8, 3, padding=1)

    def forward(self, x):
        x = self.stem(x).relu()
        height, width = x.shape[-2:]
        if height % 64 or width % 64:
            raise ValueError(
                f"height ({height}) or width ({width}) of feature map is not divisible by the "
                "window size (64)"
            )
        return self.layer(x)


def test_a_step_back_is_given_up_soon():
    """Other channels fail earlier; the side that is right waits behind them."""

    def repaired(_search, state, outcome):
        if state[0].extents[1] != 3:
            yield from (resized(state, 0, (1,), channels) for channels in range(12, 60))
        elif not outcome.is_ok:
            yield resized(state, 0, (1,), 11)
            yield resized(state, 0, (2, 3), 256)

    budget = Budget()
    with budget.running():
        search = InputSearch(Windows(), budget, repaired)
        (image,) = search.depth_first((slot("x", Kind.IMAGE),))
    assert image.extents == (1, 3, 256, 256)
    assert search.probes < 15


class PictureMemory(nn.Module):
    """Reads pictures by time, batch second; its inner state says their sides."""

    def __init__(self):
        super().__init__()
        self.gate, self.new = (nn.Conv2d(48, 32, 5, padding=2) for _ in range(2))

    def forward(self, inputs=None, state=None, steps=10):
        if state is None:
            state = torch.zeros(inputs.size(1), 32, 48, 48)
        for step in range(steps):
            both = torch.cat((inputs[step, ...], state), 1)
            gate = self.gate(both).sigmoid()
            state = gate * state + (1 - gate) * self.new(both).tanh()
        return state


def test_a_step_back_that_leads_further_is_not_given_up():
    """A vector reads fewer calls than an image does, and comes to five axes from there."""
    (pictures,) = tensors(found(PictureMemory()))
    assert pictures.shape[2:] == (16, 48, 48)
