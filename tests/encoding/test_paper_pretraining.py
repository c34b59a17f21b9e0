"""Both stages: they learn, they repeat, and they go on after a kill as if nothing had been."""

from functools import partial

import numpy as np
import pytest
import torch
from encoding import RECIPE, three_families, three_family_samples

from nar.base.errors import ConfigError
from nar.encoding.embed import Embedder, fingerprint
from nar.encoding.paper.pretraining import MotifGraphBatches, Networks, pretrain_paper
from nar.encoding.paper.recipe import PaperGraphRecipe, PaperMotifRecipe
from nar.encoding.training import BatchShare, Worker, load_state, save_state

SAMPLES = three_family_samples()


class Killed(Exception):
    """Stands for a process that dies."""


@pytest.fixture(autouse=True)
def one_thread():
    """Sums over several threads may be rounded in another order."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def test_every_epoch_of_both_stages_is_reported():
    reports = []
    pretrain_paper(SAMPLES, RECIPE, after_epoch=lambda report, _: reports.append(report))
    assert [(report.stage, report.epoch, report.epochs) for report in reports] == [
        ("motifs", 1, 2),
        ("motifs", 2, 2),
        ("graphs", 1, 3),
        ("graphs", 2, 3),
        ("graphs", 3, 3),
    ]


@pytest.mark.slow
def test_the_same_run_gives_the_same_encoder():
    torch.manual_seed(1)
    once = pretrain_paper(SAMPLES, RECIPE)
    torch.manual_seed(2)
    assert fingerprint(once) == fingerprint(pretrain_paper(SAMPLES, RECIPE))


@pytest.mark.slow
@pytest.mark.parametrize("stage", ["motif", "graph"])
def test_another_seed_gives_another_encoder(stage):
    other = getattr(RECIPE, stage).model_copy(update={"seed": 1})
    recipe = RECIPE.model_copy(update={stage: other})
    assert fingerprint(pretrain_paper(SAMPLES, recipe)) != fingerprint(
        pretrain_paper(SAMPLES, RECIPE)
    )


def save_then_die(directory, stage, epoch, report, state):
    if (report.stage, report.epoch) == (stage, epoch):
        save_state(directory, state)
        raise Killed


@pytest.mark.slow
@pytest.mark.parametrize(
    ("stage", "epoch"), [("motifs", 1), ("motifs", 2), ("graphs", 1), ("graphs", 3)]
)
def test_a_killed_run_goes_on_to_the_very_same_encoder(tmp_path, stage, epoch):
    with pytest.raises(Killed):
        pretrain_paper(SAMPLES, RECIPE, after_epoch=partial(save_then_die, tmp_path, stage, epoch))
    resumed = pretrain_paper(SAMPLES, RECIPE, start=load_state(tmp_path))
    assert fingerprint(resumed) == fingerprint(pretrain_paper(SAMPLES, RECIPE))


def test_training_leaves_the_global_random_state_alone():
    torch.manual_seed(0)
    expected = torch.rand(3).tolist()
    torch.manual_seed(0)
    pretrain_paper(SAMPLES, RECIPE)
    assert torch.rand(3).tolist() == expected


def longer(recipe):
    return recipe.model_copy(
        update={
            "motif": PaperMotifRecipe(epochs=15, batch_size=16, dim=32),
            "graph": PaperGraphRecipe(epochs=15, batch_size=16, dim=32, learning_rate=1e-2),
        }
    )


@pytest.mark.slow
def test_both_losses_fall():
    losses = {}

    def note(report, _):
        losses.setdefault(report.stage, []).append(report.loss)

    pretrain_paper(SAMPLES, longer(RECIPE), after_epoch=note)
    assert losses["motifs"][-1] < losses["motifs"][0] - 0.1
    assert losses["graphs"][-1] < losses["graphs"][0] - 0.5


@pytest.mark.slow
def test_families_come_together():
    def gap(encoder):
        vectors = Embedder(encoder).embed(three_families())
        scores = vectors @ vectors.T
        family = np.arange(9) // 3
        same = family[:, None] == family
        return scores[same].mean() - scores[~same].mean()

    untrained = pretrain_paper(SAMPLES, RECIPE)
    assert gap(pretrain_paper(SAMPLES, longer(RECIPE))) > gap(untrained) + 0.2


def test_the_motif_encoder_is_frozen_in_stage_2():
    motif_weights = []

    def note(report, state):
        if report.epoch == report.epochs:
            motif_weights.append(state.networks["motif.layers.0.lin.weight"].clone())

    encoder = pretrain_paper(SAMPLES, RECIPE, after_epoch=note)
    assert torch.equal(motif_weights[0], motif_weights[1])
    assert torch.equal(motif_weights[0], encoder.motif.layers[0].lin.weight)


def test_all_four_networks_start_different():
    networks = Networks(RECIPE, classes=2)
    assert not torch.equal(
        networks.motif.layers[1].lin.weight, networks.context.layers[1].lin.weight
    )
    assert networks.head.out_features == 2


def test_contexts_change_from_epoch_to_epoch_and_not_with_the_share():
    batches = MotifGraphBatches(SAMPLES, RECIPE.motif, torch.device("cpu"))
    everyone = np.arange(len(SAMPLES.motifs))
    shares = [batches(everyone, epoch).contexts.mean.values().tolist() for epoch in range(8)]
    assert shares[1:] != shares[:-1]
    assert batches(everyone, 3).contexts.mean.values().tolist() == shares[3]


def test_too_few_motifs_for_the_workers_are_refused():
    with pytest.raises(ConfigError, match="each of 5 workers, came 7 of 15"):
        pretrain_paper(SAMPLES, RECIPE, worker=Worker(BatchShare(0, 5)))


def test_a_run_that_diverges_says_so():
    steep = RECIPE.motif.model_copy(update={"learning_rate": 1e30})
    with pytest.raises(ConfigError, match=r"stage motifs .* learning_rate below"):
        pretrain_paper(SAMPLES, RECIPE.model_copy(update={"motif": steep}))
