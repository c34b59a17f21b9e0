"""Parts of a module: the encoder alone or the decoder alone, called as the model calls it."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from torch import nn

from benchmark.editing.change import Change, by_surgery
from benchmark.editing.surgery import run_once
from benchmark.protocol.asking import PARTS
from benchmark.rewriting.rewrite import NotApplicableError
from nar.capture import CaptureInputs
from nar.zoo.building import Built


def module_parts() -> tuple[Change, ...]:
    """The trunks of models that have two."""
    surgeries = {"encoder_alone": partial(_alone, 0), "decoder_alone": partial(_alone, 1)}
    return tuple(by_surgery(name, PARTS, surgery) for name, surgery in surgeries.items())


def _alone(which: int, module: nn.Module, inputs: CaptureInputs) -> Built:
    """One trunk, and its first call in a forward pass of the whole."""
    trunk = trunks(module)[which]
    calls: list[CaptureInputs] = []

    def note(_trunk: nn.Module, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        calls.append(CaptureInputs(args, dict(kwargs)))

    run_once(module, inputs, [trunk.register_forward_pre_hook(note, with_kwargs=True)])
    if not calls:
        raise NotApplicableError("the model never calls it as a whole")
    return trunk, calls[0]


def trunks(module: nn.Module) -> tuple[nn.Module, nn.Module]:
    """Encoder and decoder of a model, which are attributes of it or of one of its children.

    A backbone with a head is no such pair: the backbone alone is another model's design.

    Raises:
        NotApplicableError: It has not both.
    """
    for owner in (module, *module.children()):
        encoder, decoder = (getattr(owner, name, None) for name in ("encoder", "decoder"))
        if isinstance(encoder, nn.Module) and isinstance(decoder, nn.Module):
            return encoder, decoder
    raise NotApplicableError("it has no encoder and decoder")
