"""Models of the zoo and what is deployed of them are the same at inference."""

from functools import cache

import pytest

from benchmark.rewriting.attempts import attempt, chosen_rewrites
from benchmark.rewriting.rewrite import original
from nar.graphs.normal_form import inference_fingerprint, normal_form

original_of = cache(original)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "kind"),
    [
        ("timm:resnet18", "folded_batch_norm"),
        ("timm:resnet18", "onnx"),
        ("timm:mobilenetv2_100", "folded_batch_norm"),
        ("timm:efficientnet_b0", "folded_batch_norm"),
        ("timm:repvgg_a2", "folded_batch_norm"),
        ("timm:repvgg_a2", "reparameterised"),
        ("timm:mobileone_s1", "reparameterised"),
        ("timm:repghostnet_100", "reparameterised"),
        ("timm:repvit_m1", "reparameterised"),
        ("timm:fastvit_t8", "folded_batch_norm"),
        ("timm:fastvit_t8", "reparameterised"),
        ("timm:fastvit_mci0", "reparameterised"),
    ],
)
def test_what_is_deployed_is_the_same_at_inference(model, kind):
    start = original_of(model)
    done = attempt(start, chosen_rewrites([kind])[0])
    assert inference_fingerprint(done.architecture.graph) == inference_fingerprint(
        start.architecture.graph
    )


@pytest.mark.parametrize("model", ["timm:convnext_tiny", "timm:vit_tiny_patch16_224"])
def test_a_model_with_nothing_to_fold_stays(model):
    graph = original_of(model).architecture.graph
    assert normal_form(graph) is graph


@pytest.mark.slow
def test_other_models_are_not_the_same():
    names = ("timm:resnet18", "timm:mobilenetv2_100", "timm:repvgg_a2", "timm:repvit_m1")
    graphs = [original_of(name).architecture.graph for name in names]
    assert len({inference_fingerprint(graph) for graph in graphs}) == len(names)
