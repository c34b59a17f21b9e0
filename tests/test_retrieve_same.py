"""What the answer says is the same: as it is written, or once it is deployed."""

from dataclasses import replace

import numpy as np
import pytest
from counting import KNOWN, CountOperators, graph, names, rows
from oracle import DIM

from nar.answers.novelty import Novelty
from nar.answers.retrieve import Retriever
from nar.graphs.fingerprints import fingerprinted
from nar.index.exact import ExactIndex
from nar.index.filters import Filter

FOLDABLE = "input; conv 0; batch_norm 1; relu 2; conv 3; batch_norm 4; relu 5"


@pytest.fixture(scope="module")
def retriever():
    novelty = Novelty(np.array([0.0, 0.1], dtype=np.float32))
    return Retriever(CountOperators(), ExactIndex(rows(KNOWN), dim=DIM), novelty)


def test_a_model_that_was_trained_with_batch_norms_is_known_at_inference(retriever):
    answer = retriever.search(graph(FOLDABLE, 100))
    assert names(answer.same_at_inference) == ["timm:plain", "torchvision:plain"]
    assert answer.same_network == answer.same_design == ()
    assert answer.novelty == 0


def test_another_size_is_another_network_at_inference(retriever):
    drawn = graph(FOLDABLE, 100)
    assert retriever.search(drawn).same_at_inference
    for total in (50, 200):
        assert not retriever.search(replace(drawn, parameters=total)).same_at_inference
    near = retriever.search(replace(drawn, parameters=115))
    assert len(near.same_at_inference) == 2


def test_what_is_the_same_network_is_not_said_to_be_so_at_inference_again(retriever):
    answer = retriever.search(graph(KNOWN["timm:plain"][2], 100))
    assert names(answer.same_network)
    assert names(answer.same_design) == ["timm:wide"]
    assert answer.same_at_inference == ()


def test_a_head_for_other_classes_is_another_width_and_not_a_fold(retriever):
    wider = replace(graph(KNOWN["timm:plain"][2], 100), parameters=110)
    answer = retriever.search(wider)
    assert answer.same_network == answer.same_at_inference == ()
    assert len(answer.same_design) == 3


def test_who_is_asked_for_by_name_is_not_what_it_is_at_inference_itself():
    known = {"timm:plain": KNOWN["timm:plain"], "timm:trained": ("resnet", 100, FOLDABLE)}
    retriever = Retriever(CountOperators(), ExactIndex(rows(known), dim=DIM))
    assert names(retriever.search("timm:plain").same_at_inference) == ["timm:trained"]
    assert names(retriever.search("timm:trained").same_at_inference) == ["timm:plain"]


def test_filters_do_not_hide_what_a_network_is_at_inference(retriever):
    answer = retriever.search(graph(FOLDABLE, 100), wanted=Filter(families=("mixer",)))
    assert names(answer.hits) == ["timm:mlp"]
    assert len(answer.same_at_inference) == 2


def test_hits_may_be_asked_for_by_what_they_are_at_inference(retriever):
    asked = fingerprinted(graph(FOLDABLE, 100))
    answer = retriever.search(asked, wanted=Filter(inferences=(asked.inference,)))
    assert set(names(answer.hits)) == {"timm:plain", "torchvision:plain"}
