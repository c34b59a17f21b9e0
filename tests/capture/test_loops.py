"""Loops that ran unrolled become one step, however long they ran; stacks of layers stay."""

import pytest
import torch
from torch import nn

from nar.capture.graphs import MIN_STEPS, fold_steps
from nar.capture.trace import Operation, Trace


def recurrent(steps):
    def forward(self, x):
        state = torch.zeros(2, 8, device="meta")
        seen = []
        for step in range(steps):
            gate = (x[:, step] @ self.matrix).sigmoid()
            state = state * gate + (x[:, step] * self.w).tanh()
            seen.append(state)
        return torch.stack(seen, dim=1)

    return forward


def by_chunks(self, x, steps):
    rows = (x @ self.matrix).clone()
    for step in range(1, steps):
        rows[:, step] = (rows[:, step] * rows[:, :step].sum(1)).exp()
    return rows


def test_a_recurrence_becomes_its_first_step_and_one_more(drawn):
    graph = drawn(recurrent(9), (2, 9, 8))
    assert graph.count("linear") == 2
    assert graph.count("tanh") == 2


@pytest.mark.parametrize("steps", [7, 12, 40])
def test_the_length_of_the_example_leaves_no_trace(drawn, steps):
    assert drawn(recurrent(steps), (2, steps, 8)) == drawn(recurrent(6), (2, 6, 8))


def test_steps_that_write_in_place_fold_too(drawn):
    long, short = (drawn(lambda self, x, n=n: by_chunks(self, x, n), (2, n, 8)) for n in (24, 9))
    assert long == short


def test_a_few_steps_are_a_design(drawn):
    graph = drawn(recurrent(MIN_STEPS - 1), (2, MIN_STEPS - 1, 8))
    assert graph.count("tanh") == MIN_STEPS - 1


def test_layers_that_look_alike_stay(drawn):
    layers = [nn.Sequential(nn.Linear(8, 8), nn.Tanh()) for _ in range(12)]
    graph = drawn(nn.Sequential(*layers).to("meta"), (4, 8))
    assert graph.count("linear") == 12


def test_one_layer_applied_again_and_again_stays(drawn):
    def forward(self, x):
        for _ in range(12):
            x = (x @ self.matrix).tanh()
        return x

    assert drawn(forward, (4, 8)).count("tanh") == 12


def test_a_trace_without_loops_is_given_back_as_it_is():
    trace = Trace((Operation("input"), Operation("relu", (0,))), (1,), 0, 0, {})
    assert fold_steps(trace) is trace
