"""Modules as people hold them: each is captured, with its operators and its parameters."""

import warnings

import held_modules
import pytest
import torch

from nar.base.errors import CaptureError
from nar.capture import capture_module
from nar.graphs.assumed import Count
from nar.zoo.libraries import ready_for_libraries

# Module -> its number of operators, and of parameters.
RIGHT = {
    "item_branch": (4, 8_417),
    "dict_in": (5, 1_668),
    "dict_in_bare": (5, 1_668),
    "packed": (3, 23_317),
    "unpacked": (3, 23_317),
    "packed_in": (2, 3_024),
    "categorical": (6, 4_192),
    "categorical_sample": (10, 4_192),
    "plain": (6, 330),
    "compiled": (6, 330),
    "dataparallel": (6, 330),
    "averaged": (6, 330),
    "scripted": (6, 330),
    "traced": (6, 330),
    "fxed": (6, 330),
    "channels_last": (6, 330),
    "half": (6, 330),
    "hooked": (6, 330),
    "ckpt": (6, 330),
    "compiled_fn": (6, 330),
    "autograd_fn": (5, 2_112),
    "numpy_mid": (1, 1_188),
    "numpy_const": (3, 132),
    "fnet": (9, 4_256),
    "rot_complex": (6, 2_112),
    "wn_old": (4, 320),
    "wn_new": (4, 320),
    "wn_none": (4, 304),
    "sn": (4, 304),
    "orth": (4, 340),
    "lazy": (5, 3_130),
    "tied": (2, 1_600),
    "moe": (44, 16_900),
    "moe_hit": (42, 16_900),
    "mamba": (51, 2_736),
    "custom_op_nometa": (4, 2_112),
    "custom_op_meta": (4, 2_112),
    "cuda_mod": (7, 330),
    "sparse_gcn": (7, 195),
    "dyn_quant": (4, 2_632),
    "int8_weightonly": (4, 2_632),
    "int8_ref": (4, 2_632),
    "lora_vit": (81, 52_864),
    "nolora_vit": (49, 50_816),
    "kv_cache": (4, 2_112),
    "act_loop": (9, 4_225),
    "dyn_res": (31, 13_120),
    "script_fn": (7, 2_112),
    "einops_net": (7, 5_824),
    "multi": (8, 549),
    "flex": (5, 3_168),
    "lstmcell_loop": (3, 4_132),
    "dist_allreduce": (2, 1_056),
    "sdpa_transformer": (37, 25_632),
    "nms_det": (12, 140),
    "list_in": (6, 224),
    "asserts": (2, 20),
    "vq": (8, 680),
    "cuda_call": (6, 330),
    "cuda_if": (7, 330),
    "numpy_tail": (1, 6_532),
    "tolist_mid": (1, 2_372),
    "yolo_like": (47, 80_720),
}
OF_LIBRARIES = {
    "pyg_sage": (14, 371),
    "pyg_data": (25, 106),
    "resnet_softmax": (70, 11_689_512),
    "resnet_norm_in": (72, 11_689_512),
    "resnet_dp_amp": (69, 11_689_512),
    "resnet_argmax": (70, 11_689_512),
    "resnet_10cls": (69, 11_181_642),
    "resnet_mlp_head": (71, 11_310_410),
    "peftlike_bert": (89, 181_568),
    "bert_plain": (57, 177_472),
}
# What is said of a module of which not everything was read.
UNREAD = {
    "numpy_mid": (("numpy",), 1_056),
    "numpy_tail": (("numpy",), 6_272),
    "tolist_mid": (("tolist",), 2_112),
    "item_branch": (("item",), 4_225),
}
# A module in any wrapper, of any type, and on any device, is one network.
WRAPPED = (
    "averaged", "channels_last", "ckpt", "compiled", "compiled_fn", "cuda_call", "dataparallel",
    "fxed", "half", "hooked", "plain", "scripted", "traced",
)  # fmt: skip


def captured(name):
    with ready_for_libraries(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of torch, of what these modules do
        torch.manual_seed(0)
        module, inputs = getattr(held_modules, name)()
        return capture_module(module, inputs, name=name)


@pytest.mark.parametrize("name", RIGHT)
def test_a_module_is_captured(name):
    graph = captured(name).graph
    assert (graph.nodes, graph.parameters) == RIGHT[name]


@pytest.mark.slow
@pytest.mark.parametrize("name", OF_LIBRARIES)
def test_a_module_of_a_library_is_captured(name):
    graph = captured(name).graph
    assert (graph.nodes, graph.parameters) == OF_LIBRARIES[name]


@pytest.mark.slow
@pytest.mark.parametrize("name", UNREAD)
def test_what_was_lost_of_a_module_is_counted(name):
    unread = captured(name).unread
    assert (tuple(each.name for each in unread.cut), unread.lost) == UNREAD[name]
    assert not unread.has_verdict


@pytest.mark.parametrize("name", ["custom_op_meta", "custom_op_nometa"])
def test_an_operator_of_the_users_own_is_counted(name):
    unread = captured(name).unread
    assert unread.unknown == (Count(f"wild::fused_{'meta' if 'nometa' not in name else 'act'}", 1),)
    assert (unread.operators, unread.has_verdict) == (4, True)


@pytest.mark.parametrize("name", WRAPPED)
def test_a_module_in_any_wrapper_is_the_module(name):
    came = captured(name)
    assert came.graph == captured("plain").graph
    assert came.unread is None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("packed", "unpacked"),
        ("dyn_quant", "int8_ref"),
        ("int8_weightonly", "int8_ref"),
        ("dict_in", "dict_in_bare"),
    ],
)
def test_two_spellings_are_one_design(one, other):
    assert captured(one).network.topology == captured(other).network.topology


@pytest.mark.skipif(torch.cuda.is_available(), reason="a machine without CUDA")
def test_a_kernel_that_wants_cuda_is_named_with_its_line():
    with pytest.raises(CaptureError, match=r"held_modules.py:\d+: RuntimeError: kernel"):
        captured("cuda_only")
