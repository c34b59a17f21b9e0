"""Sixty written networks in ten kinds: the inputs found run the design of the true ones."""

import pytest
from written_networks import RULES, written

from nar.capture import capture_module
from nar.own.inputs import infer_inputs


@pytest.mark.slow
@pytest.mark.parametrize("kind", RULES)
def test_every_network_of_a_kind_is_called_as_it_was_written(kind):
    for network in written(kind):
        wanted = capture_module(network.module, network.inputs).network
        inferred = infer_inputs(network.name, network.module)
        came = capture_module(network.module, inferred.inputs).network
        assert came.topology == wanted.topology, (network.name, inferred.texts)
        assert inferred.is_sure, (network.name, inferred.doubts)
