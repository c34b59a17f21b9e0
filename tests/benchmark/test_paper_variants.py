"""Variants of the paper's encoder: each differs from it in what its table varies, and no more."""

from pathlib import Path

import pytest

from benchmark.methods.paper import OURS, PRINTED, Variant
from nar.config import load_config

TABLE_5 = Path(__file__).parents[2] / "results" / "table5.yaml"


def test_what_is_printed_is_the_settings_file_that_ships():
    assert load_config(TABLE_5).pretraining == PRINTED


@pytest.mark.parametrize("settings", [OURS, PRINTED])
def test_only_the_seed_and_the_losses_differ_from_the_settings(settings):
    recipe = Variant(losses="cl", settings=settings).recipe(3)
    assert (recipe.motif.seed, recipe.graph.seed, recipe.graph.losses) == (3, 3, "cl")
    graph = recipe.graph.model_copy(update={"seed": 0, "losses": settings.graph.losses})
    assert (recipe.motif.model_copy(update={"seed": 0}), graph) == (
        settings.motif,
        settings.graph,
    )
