"""Every change: edits of the module, parts of the module, parts of the graph."""

from benchmark.editing.attention import grouped_queries, rotary_positions
from benchmark.editing.blocks import half_depth, layer_scale, squeeze_excitation
from benchmark.editing.change import Change, by_surgery
from benchmark.editing.ends import features_only, mlp_head, pre_convolution, stem_of_two
from benchmark.editing.functions import both, other_activation, other_norm
from benchmark.editing.layers import attention_in_last_stage, gated_mlp, large_windows
from benchmark.editing.parts import graph_parts, module_parts
from benchmark.tasks.asking import EDITS
from nar.base.errors import UnknownArchitectureError
from nar.zoo.building import Surgery

_EDITS: dict[str, Surgery] = {
    "activation": other_activation,
    "norm": other_norm,
    "activation_and_norm": both,
    "layer_scale": layer_scale,
    "squeeze_excitation": squeeze_excitation,
    "half_depth": half_depth,
    "stem_of_two": stem_of_two,
    "pre_convolution": pre_convolution,
    "mlp_head": mlp_head,
    "features_only": features_only,
    "attention_in_last_stage": attention_in_last_stage,
    "large_windows": large_windows,
    "grouped_queries": grouped_queries,
    "rotary_positions": rotary_positions,
    "gated_mlp": gated_mlp,
}


def changes() -> tuple[Change, ...]:
    """Every edit, then every part."""
    edits = (by_surgery(name, EDITS, surgery) for name, surgery in _EDITS.items())
    return (*edits, *module_parts(), *graph_parts())


def chosen_changes(kinds: list[str]) -> list[Change]:
    """Changes by name, all of them where none is named.

    Raises:
        UnknownArchitectureError: No such change.
    """
    known = {change.name: change for change in changes()}
    unknown = [kind for kind in kinds if kind not in known]
    if unknown:
        wanted = ", ".join(known)
        raise UnknownArchitectureError(f"{unknown[0]}: no such change; wanted one of {wanted}")
    return [known[kind] for kind in kinds or known]
