"""Exported programs: the same graph as their modules, and nothing a file brings is ever run."""

import json
import pickle
import warnings
from zipfile import ZipFile

import pytest
import torch
from torch import nn
from torch.nn import functional

from nar.base.errors import CaptureError
from nar.capture import CaptureInputs, capture_module
from nar.capture.exported import capture_exported
from nar.capture.forward.placement import inference
from nar.graphs.canonical import exact_fingerprint


class Encoder(nn.Module):
    """Tied weights, a mask, in-place writes, attention and a recurrent layer."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(10, 8)
        self.qkv = nn.Linear(8, 24)
        self.norm = nn.LayerNorm(8)
        self.steps = nn.LSTM(8, 8, batch_first=True)
        self.head = nn.Linear(8, 10, bias=False)
        self.head.weight = self.table.weight

    def forward(self, ids):
        x = self.table(ids)
        q, k, v = self.qkv(x).view(2, 5, 3, 2, 4).permute(2, 0, 3, 1, 4).unbind(0)
        mask = torch.ones(5, 5, dtype=torch.bool, device=ids.device).tril()
        x = x + functional.scaled_dot_product_attention(q, k, v, mask).transpose(1, 2).flatten(2)
        hidden, _ = self.steps(self.norm(x))
        hidden[:, :1].zero_()
        return {"logits": self.head(functional.relu_(hidden))}


def convolutions():
    return nn.Sequential(
        nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(inplace=True), nn.AdaptiveAvgPool2d(1)
    )


class Frozen(nn.Module):
    """A part without gradients, which export keeps as a graph within the graph."""

    def __init__(self):
        super().__init__()
        self.frozen, self.head = nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x):
        with torch.no_grad():
            x = self.frozen(x) + x
        return self.head(x) + x


CASES = {
    "frozen": (Frozen, lambda: torch.zeros(2, 8)),
    "convolutions": (convolutions, lambda: torch.zeros(2, 3, 8, 8)),
    "encoder": (Encoder, lambda: torch.zeros(2, 5, dtype=torch.long)),
}


def save(module, inputs, path, *, decompose=False, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch.export warns about torch's own modules
        program = torch.export.export(module.eval(), (inputs,), strict=False, **options)
        torch.export.save(program.run_decompositions() if decompose else program, path)
    return path


@pytest.fixture
def archive(tmp_path):
    return save(convolutions(), torch.zeros(2, 3, 8, 8), tmp_path / "model.pt2")


def rewritten(archive, edit):
    """The archive with its program edited."""
    hostile = archive.with_name("hostile.pt2")
    with ZipFile(archive) as source, ZipFile(hostile, "w") as target:
        for member in source.namelist():
            content = source.read(member)
            if member.endswith("models/model.json"):
                program = json.loads(content)
                edit(program)
                content = json.dumps(program).encode()
            target.writestr(member, content)
    return hostile


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_a_program_has_the_graph_of_its_module(tmp_path, case):
    build, example = CASES[case]
    module, inputs = build(), example()
    exported = capture_exported(save(module, inputs, tmp_path / "model.pt2"), name=case).graph
    recorded = capture_module(module, CaptureInputs((inputs,)), name=case).graph
    assert exported == recorded
    assert exact_fingerprint(exported) == exact_fingerprint(recorded)


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.packed = nn.Linear(8, 24)

    def forward(self, x):
        q, k, v = self.packed(x).view(2, 5, 3, 2, 4).permute(2, 0, 3, 1, 4).unbind(0)
        return functional.scaled_dot_product_attention(q, k, v)


class GPT(nn.Module):
    """Causal attention whose heads are joined by a view: export drops the copy before it."""

    def __init__(self):
        super().__init__()
        self.table, self.head = nn.Embedding(10, 8), nn.Linear(8, 10)
        self.packed = nn.ModuleList(nn.Linear(8, 24) for _ in range(2))

    def forward(self, ids):
        x = self.table(ids)
        batch, length, width = x.shape
        for packed in self.packed:
            heads = [part.view(batch, length, 2, -1) for part in packed(x).split(width, dim=2)]
            q, k, v = (part.transpose(1, 2) for part in heads)
            attended = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + attended.transpose(1, 2).contiguous().view(batch, length, width)
        return self.head(x)


@pytest.mark.slow
@pytest.mark.parametrize(
    "lengths", [None, {0: torch.export.Dim("batch"), 1: torch.export.Dim("l")}]
)
def test_heads_joined_by_a_view_are_read(tmp_path, lengths):
    module, ids = GPT(), torch.zeros(2, 5, dtype=torch.long)
    recorded = capture_module(module, CaptureInputs((ids,)), name="gpt").graph
    shapes = None if lengths is None else {"ids": lengths}
    path = save(module, ids, tmp_path / "gpt.pt2", dynamic_shapes=shapes)
    assert capture_exported(path, name="gpt").graph == recorded


@pytest.mark.slow
@pytest.mark.parametrize(("build", "shape"), [(convolutions, (2, 3, 8, 8)), (Attention, (2, 5, 8))])
def test_a_decomposed_program_keeps_its_graph(tmp_path, build, shape):
    module, inputs = build().eval(), torch.zeros(shape)
    path = save(module, inputs, tmp_path / "core.pt2", decompose=True)
    recorded = capture_module(module, CaptureInputs((inputs,)), name="module").graph
    assert capture_exported(path, name="core").graph == recorded


@pytest.mark.slow
def test_weights_without_memory_are_not_taken_for_one(tmp_path):
    module, inputs = convolutions().to("meta"), torch.zeros(2, 3, 8, 8, device="meta")
    recorded = capture_module(module, CaptureInputs((inputs,)), name="module").graph
    path = save(module, inputs, tmp_path / "model.pt2")
    assert capture_exported(path, name="model").graph == recorded


def test_free_extents_are_taken_as_exported(tmp_path, text_of):
    batch = {"input": {0: torch.export.Dim("batch")}}
    inputs, path = torch.zeros(4, 3, 8, 8), tmp_path / "free.pt2"
    save(convolutions(), inputs, path, dynamic_shapes=batch)
    graph = capture_exported(path, name="free").graph
    assert text_of(graph) == "input; conv 0; batch_norm 1; relu 2; adaptive_avg_pool 3"
    assert graph.flops == 2 * 4 * 8 * 36 * 27


class Touch:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (open, (str(self.path), "w"))


@pytest.mark.slow
def test_code_in_a_file_is_never_run(archive, tmp_path):
    touched = tmp_path / "touched"
    code = f"open({str(touched)!r}, 'w')"

    def edit(program):
        program["guards_code"] = [code]
        program["range_constraints"] = {code: {"min_val": 0, "max_val": 1}}
        program["graph_module"]["graph"]["sym_int_values"]["s0"] = {
            "as_expr": {"expr_str": code, "hint": {"as_int": 1}}
        }

    hostile = rewritten(archive, edit)
    with ZipFile(hostile, "a") as target:
        target.writestr("model/data/constants/opaque", pickle.dumps(Touch(touched)))
    assert capture_exported(hostile, name="hostile").graph.nodes == 5
    assert not touched.exists()


def set_target(target):
    def edit(program):
        program["graph_module"]["graph"]["nodes"][0]["target"] = target

    return edit


def test_an_operator_nobody_registered_is_recorded_by_name(archive):
    capture = capture_exported(
        rewritten(archive, set_target("torch.ops.mine.conv.default")), name="m"
    )
    assert capture.unknown_operators == {"mine::conv": 1}
    assert capture.graph.nodes == 5


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("os.system", "wanted an operator with tensor results, came os.system"),
        ("torch.ops.higher_order.cond", "wanted a graph without control flow, came cond"),
        ("torch.ops.aten.no_such_operator.default", "no_such_operator"),
    ],
)
def test_what_cannot_be_captured_is_named(archive, target, reason):
    with pytest.raises(CaptureError, match=reason):
        capture_exported(rewritten(archive, set_target(target)), name="m")


@pytest.mark.parametrize("content", [b"", b"no archive", b"PK\x03\x04 torn"])
def test_another_file_is_refused(tmp_path, content):
    path = tmp_path / "model.pt2"
    path.write_bytes(content)
    with pytest.raises(CaptureError, match=r"model.* wanted an archive of torch\.export\.save"):
        capture_exported(path, name="model")


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(CaptureError, match="FileNotFoundError"):
        capture_exported(tmp_path / "absent.pt2", name="model")


def test_an_archive_without_a_program_is_refused(tmp_path):
    with ZipFile(tmp_path / "empty.pt2", "w") as archive:
        archive.writestr("other/readme.txt", "nothing")
    with pytest.raises(CaptureError, match="one program, came one with 0"):
        capture_exported(tmp_path / "empty.pt2", name="model")


def test_an_exported_part_does_not_keep_what_stands_behind_it_in_training():
    part = torch.export.export(nn.Sequential(nn.Linear(4, 4), nn.ReLU()), (torch.ones(2, 4),))
    model = nn.Sequential(nn.Linear(4, 4), part.module(), nn.Dropout(0.5))
    with inference(model):
        assert not model[2].training
    assert model[2].training
