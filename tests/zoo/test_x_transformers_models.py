"""The grid of x-transformers: names spell options, and options show in the graph."""

import pytest

from nar.base.errors import UnknownArchitectureError
from nar.own import capture_architecture, resolve
from nar.zoo.sources import list_specs

PLAIN = "x_transformers:decoder/depth=6"


def test_the_grid_has_single_options_and_pairs_of_different_groups():
    names = list_specs("x_transformers")
    assert len(names) == len(set(names)) > 500
    assert f"{PLAIN},rotary_pos_emb,ff_glu" in names
    assert f"{PLAIN},rotary_pos_emb,rotary_xpos" not in names


def test_everything_is_swept_and_the_kind_names_the_task():
    decoder, encoder = (
        resolve(f"x_transformers:{kind}/depth=12") for kind in ("decoder", "encoder")
    )
    assert {decoder.labels.tier, encoder.labels.tier} == {"swept"}
    assert (decoder.labels.task, encoder.labels.task) == ("text-generation", "fill-mask")


@pytest.mark.slow
@pytest.mark.parametrize("option", ["rotary_pos_emb", "ff_glu", "use_rmsnorm", "macaron"])
def test_an_option_changes_the_topology(option):
    plain = capture_architecture(PLAIN).architecture
    changed = capture_architecture(f"{PLAIN},{option}").architecture
    assert changed.topology != plain.topology


def test_options_in_another_order_are_no_name():
    with pytest.raises(UnknownArchitectureError, match="rotary_pos_emb"):
        resolve(f"{PLAIN},ff_glu,rotary_pos_emb")
