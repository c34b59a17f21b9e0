"""Modules as people hold them, after public reports: what each is called with stands beside it."""

import builtins

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils import parametrizations as P
from torch.nn.utils import rnn as R
from torch.nn.utils import spectral_norm, weight_norm
from torch.utils.checkpoint import checkpoint

L = nn.Linear


def mlp(d=32):
    return nn.Sequential(L(d, 2 * d), nn.ReLU(), L(2 * d, d))


# 1 data-dependent branch + .item()
class ItemBranch(nn.Module):
    def __init__(s):
        super().__init__()
        s.a = mlp()
        s.b = mlp()
        s.g = L(32, 1)

    def forward(s, x):
        score = s.g(x).mean().item()
        return s.a(x) if score > 0.5 else s.b(x)


def item_branch():
    return ItemBranch(), torch.randn(2, 32)


# 2 dict input + None + flags
class DictIn(nn.Module):
    def __init__(s):
        super().__init__()
        s.e = nn.Embedding(100, 16)
        s.l = L(16, 4)

    def forward(s, batch, extra=None, return_dict=True):
        h = s.e(batch["ids"]) * batch["mask"][..., None]
        if extra is not None:
            h = h + extra
        o = s.l(h.mean(1))
        return {"logits": o, "hidden": h} if return_dict else o


def dict_in():
    return DictIn(), ({"ids": torch.zeros(2, 7, dtype=torch.long), "mask": torch.ones(2, 7)},)


def dict_in_bare():
    return DictIn(), {
        "batch": {"ids": torch.zeros(2, 7, dtype=torch.long), "mask": torch.ones(2, 7)},
        "extra": None,
    }


# 3 packed sequences, bidirectional 2-layer
class Packed(nn.Module):
    def __init__(s):
        super().__init__()
        s.e = nn.Embedding(50, 16)
        s.r = nn.LSTM(16, 24, 2, batch_first=True, bidirectional=True)
        s.o = L(48, 5)

    def forward(s, x, n):
        p = R.pack_padded_sequence(s.e(x), n, batch_first=True, enforce_sorted=False)
        y, _ = s.r(p)
        y, _ = R.pad_packed_sequence(y, batch_first=True)
        return s.o(y)


def packed():
    return Packed(), (torch.zeros(3, 9, dtype=torch.long), torch.tensor([9, 4, 6]))


class Unpacked(Packed):
    def forward(s, x, n):
        return s.o(s.r(s.e(x))[0])


def unpacked():
    return Unpacked(), (torch.zeros(3, 9, dtype=torch.long), torch.tensor([9, 4, 6]))


class PackedIn(nn.Module):
    def __init__(s):
        super().__init__()
        s.r = nn.GRU(16, 24)

    def forward(s, p):
        return s.r(p)[1]


def packed_in():
    return PackedIn(), (R.pack_padded_sequence(torch.randn(9, 3, 16), torch.tensor([9, 6, 4])),)


# 4 Categorical output
class Cat(nn.Module):
    def __init__(s):
        super().__init__()
        s.l = mlp()

    def forward(s, x):
        return torch.distributions.Categorical(logits=s.l(x))


def categorical():
    return Cat(), torch.randn(2, 32)


class CatS(Cat):
    def forward(s, x):
        d = super().forward(x)
        a = d.sample()
        return a, d.log_prob(a)


def categorical_sample():
    return CatS(), torch.randn(2, 32)


# 5 compiled / DataParallel / AveragedModel / checkpoint
class Net(nn.Module):
    def __init__(s):
        super().__init__()
        s.c = nn.Conv2d(3, 8, 3, padding=1)
        s.b = nn.BatchNorm2d(8)
        s.f = L(8, 10)

    def forward(s, x):
        return s.f(F.relu(s.b(s.c(x))).mean((2, 3)))


def plain():
    return Net(), torch.randn(1, 3, 16, 16)


def compiled():
    return torch.compile(Net()), torch.randn(1, 3, 16, 16)


def dataparallel():
    return nn.DataParallel(Net()), torch.randn(1, 3, 16, 16)


def averaged():
    return torch.optim.swa_utils.AveragedModel(Net()), torch.randn(1, 3, 16, 16)


def scripted():
    return torch.jit.script(Net().eval()), torch.randn(1, 3, 16, 16)


def traced():
    return torch.jit.trace(Net().eval(), torch.randn(1, 3, 16, 16)), torch.randn(1, 3, 16, 16)


def fxed():
    return torch.fx.symbolic_trace(Net()), torch.randn(1, 3, 16, 16)


def channels_last():
    return Net().to(memory_format=torch.channels_last), torch.randn(1, 3, 16, 16).to(
        memory_format=torch.channels_last
    )


def half():
    return Net().half(), torch.randn(1, 3, 16, 16).half()


def hooked():
    n = Net()
    n.saved = {}
    n.c.register_forward_hook(lambda m, i, o: n.saved.__setitem__("c", o.detach().cpu().numpy()))
    return n, torch.randn(1, 3, 16, 16)


class Ckpt(Net):
    def forward(s, x):
        return s.f(checkpoint(lambda y: F.relu(s.b(s.c(y))), x, use_reentrant=False).mean((2, 3)))


def ckpt():
    return Ckpt(), torch.randn(1, 3, 16, 16)


class CompiledFn(Net):
    def __init__(s):
        super().__init__()
        s.act = torch.compile(lambda y: F.relu(y))

    def forward(s, x):
        return s.f(s.act(s.b(s.c(x))).mean((2, 3)))


def compiled_fn():
    return CompiledFn(), torch.randn(1, 3, 16, 16)


# 6 custom autograd function
class Ste(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return torch.where(x > 0, torch.ones_like(x), -torch.ones_like(x))

    @staticmethod
    def backward(ctx, g):
        return g


class Bin(nn.Module):
    def __init__(s):
        super().__init__()
        s.a = L(32, 32)
        s.b = L(32, 32)

    def forward(s, x):
        return s.b(Ste.apply(s.a(x)))


def autograd_fn():
    return Bin(), torch.randn(2, 32)


# 7 numpy in forward
class Npy(nn.Module):
    def __init__(s):
        super().__init__()
        s.a = L(32, 32)
        s.b = L(32, 4)

    def forward(s, x):
        h = s.a(x)
        k = np.tanh(h.detach().cpu().numpy())
        return s.b(torch.from_numpy(k).to(h))


def numpy_mid():
    return Npy(), torch.randn(2, 32)


class NpyConst(nn.Module):
    def __init__(s):
        super().__init__()
        s.b = L(32, 4)

    def forward(s, x):
        w = torch.as_tensor(np.hanning(32).astype("float32"))
        return s.b(x * w)


def numpy_const():
    return NpyConst(), torch.randn(2, 32)


# 8 complex / fft
class Fnet(nn.Module):
    def __init__(s):
        super().__init__()
        s.n = nn.LayerNorm(32)
        s.m = mlp()

    def forward(s, x):
        x = s.n(x + torch.fft.fft2(x, dim=(-1, -2)).real)
        return x + s.m(x)


def fnet():
    return Fnet(), torch.randn(2, 8, 32)


class RotC(nn.Module):
    def __init__(s):
        super().__init__()
        s.q = L(32, 32)
        s.k = L(32, 32)

    def forward(s, x):
        B, T, _D = x.shape
        f = torch.polar(
            torch.ones(T, 4),
            torch.outer(torch.arange(T).float(), 1 / 10000 ** (torch.arange(4) / 4)),
        )

        def r(t):
            return torch.view_as_real(
                torch.view_as_complex(t.view(B, T, 4, 4, 2)) * f[None, :, None]
            ).flatten(3)

        return F.scaled_dot_product_attention(
            r(s.q(x)).transpose(1, 2), r(s.k(x)).transpose(1, 2), x.view(B, T, 4, 8).transpose(1, 2)
        )


def rot_complex():
    return RotC(), torch.randn(2, 8, 32)


# 9 parametrize/weight norm/spectral norm
def wn_old():
    return nn.Sequential(
        weight_norm(nn.Conv1d(4, 8, 3)), nn.ReLU(), weight_norm(nn.Conv1d(8, 8, 3))
    ), torch.randn(1, 4, 20)


def wn_new():
    return nn.Sequential(
        P.weight_norm(nn.Conv1d(4, 8, 3)), nn.ReLU(), P.weight_norm(nn.Conv1d(8, 8, 3))
    ), torch.randn(1, 4, 20)


def wn_none():
    return nn.Sequential(nn.Conv1d(4, 8, 3), nn.ReLU(), nn.Conv1d(8, 8, 3)), torch.randn(1, 4, 20)


def sn():
    return nn.Sequential(
        P.spectral_norm(nn.Conv1d(4, 8, 3)), nn.ReLU(), spectral_norm(nn.Conv1d(8, 8, 3))
    ), torch.randn(1, 4, 20)


def orth():
    return nn.Sequential(P.orthogonal(L(16, 16)), nn.ReLU(), L(16, 4)), torch.randn(1, 16)


# 10 lazy
def lazy():
    return nn.Sequential(
        nn.LazyConv2d(8, 3), nn.LazyBatchNorm2d(), nn.ReLU(), nn.Flatten(), nn.LazyLinear(10)
    ), torch.randn(1, 3, 8, 8)


# 11 tying
class Tied(nn.Module):
    def __init__(s):
        super().__init__()
        s.e = nn.Embedding(100, 16)
        s.o = L(16, 100, bias=False)
        s.o.weight = s.e.weight

    def forward(s, x):
        return s.o(s.e(x))


def tied():
    return Tied(), torch.zeros(1, 5, dtype=torch.long)


# 12 MoE with where/nonzero
class MoE(nn.Module):
    def __init__(s):
        super().__init__()
        s.g = L(32, 4)
        s.x = nn.ModuleList(mlp() for _ in range(4))

    def forward(s, x):
        h = x.reshape(-1, 32)
        w, i = s.g(h).softmax(-1).topk(2, -1)
        o = torch.zeros_like(h)
        for e, ex in enumerate(s.x):
            t, k = torch.where(i == e)
            if t.numel() == 0:
                continue
            o.index_add_(0, t, ex(h[t]) * w[t, k, None])
        return o.view_as(x)


def moe():
    return MoE(), torch.randn(2, 8, 32)


class MoEHit(MoE):
    def forward(s, x):
        h = x.reshape(-1, 32)
        w, i = s.g(h).softmax(-1).topk(2, -1)
        o = torch.zeros_like(h)
        m = F.one_hot(i, 4).permute(2, 1, 0)
        for e in (m.sum((-1, -2)) > 0).nonzero():
            k, t = torch.where(m[e[0]])
            o.index_add_(0, t, s.x[e[0]](h[t]) * w[t, k, None])
        return o.view_as(x)


def moe_hit():
    return MoEHit(), torch.randn(2, 8, 32)


# 13 mamba scan loop
class Scan(nn.Module):
    def __init__(s, d=16, n=4):
        super().__init__()
        s.i = L(d, 2 * d)
        s.c = nn.Conv1d(d, d, 4, groups=d, padding=3)
        s.p = L(d, 2 * n + d)
        s.A = nn.Parameter(torch.randn(d, n))
        s.o = L(d, d)

    def forward(s, x):
        B, T, D = x.shape
        u, z = s.i(x).chunk(2, -1)
        u = F.silu(s.c(u.mT)[..., :T].mT)
        b, c, dt = s.p(u).split([4, 4, D], -1)
        dt = F.softplus(dt)
        h = x.new_zeros(B, D, 4)
        ys = []
        for t in range(T):
            h = (
                torch.exp(dt[:, t, :, None] * -torch.exp(s.A)) * h
                + dt[:, t, :, None] * b[:, t, None] * u[:, t, :, None]
            )
            ys.append((h * c[:, t, None]).sum(-1))
        return s.o(torch.stack(ys, 1) * F.silu(z))


def mamba():
    return nn.Sequential(Scan(), Scan()), torch.randn(1, 12, 16)


# 14 custom op / triton absent
try:
    lib = torch.library.Library("wild", "DEF")
    lib.define("fused_act(Tensor x) -> Tensor")
    lib.impl("fused_act", lambda x: F.silu(x), "CPU")
    lib.define("fused_meta(Tensor x) -> Tensor")
    lib.impl("fused_meta", lambda x: F.silu(x), "CPU")
    torch.library.register_fake("wild::fused_meta", lambda x: torch.empty_like(x), lib=lib)
except RuntimeError:
    pass
_keep = lib if "lib" in globals() else None
builtins._wild_lib = getattr(builtins, "_wild_lib", _keep)


class Cop(nn.Module):
    def __init__(s, w):
        super().__init__()
        s.a = L(32, 32)
        s.b = L(32, 32)
        s.w = w

    def forward(s, x):
        return s.b(getattr(torch.ops.wild, s.w)(s.a(x)))


def custom_op_nometa():
    return Cop("fused_act"), torch.randn(2, 32)


def custom_op_meta():
    return Cop("fused_meta"), torch.randn(2, 32)


def flash_missing():

    return


class Tri(nn.Module):
    def __init__(s):
        super().__init__()
        s.a = L(32, 32)

    def forward(s, x):
        h = s.a(x)
        if not h.is_cuda:
            raise RuntimeError("kernel: expected a CUDA tensor")
        return h


def cuda_only():
    return Tri(), torch.randn(2, 32)


def cuda_mod():
    m = Net()
    m.dev = "cuda"

    class W(nn.Module):
        def __init__(s):
            super().__init__()
            s.m = m

        def forward(s, x):
            return s.m(x.to("cuda")) + torch.zeros(10, device="cuda")

    return W(), torch.randn(1, 3, 16, 16)


# 15 sparse
class Gcn(nn.Module):
    def __init__(s):
        super().__init__()
        s.a = L(8, 16)
        s.b = L(16, 3)

    def forward(s, x, A):
        return torch.sparse.mm(A, s.b(torch.relu(torch.sparse.mm(A, s.a(x)))))


def sparse_gcn():
    return Gcn(), (torch.randn(5, 8), torch.eye(5).to_sparse())


# 16 pyg
def pyg_sage():
    from torch_geometric.nn import SAGEConv

    class G(nn.Module):
        def __init__(s):
            super().__init__()
            s.a = SAGEConv(8, 16)
            s.b = SAGEConv(16, 3)

        def forward(s, x, e):
            return s.b(s.a(x, e).relu(), e)

    return G(), (torch.randn(5, 8), torch.tensor([[0, 1, 2, 3], [1, 2, 3, 4]]))


def pyg_data():
    from torch_geometric.data import Data
    from torch_geometric.nn import GATConv, global_mean_pool

    class G(nn.Module):
        def __init__(s):
            super().__init__()
            s.a = GATConv(8, 4, heads=2)
            s.l = L(8, 2)

        def forward(s, d):
            return s.l(global_mean_pool(F.elu(s.a(d.x, d.edge_index)), d.batch))

    return G(), (
        Data(
            x=torch.randn(5, 8),
            edge_index=torch.tensor([[0, 1, 2, 3], [1, 2, 3, 4]]),
            batch=torch.zeros(5, dtype=torch.long),
        ),
    )


# 17 quantised
def dyn_quant():
    return torch.ao.quantization.quantize_dynamic(
        nn.Sequential(L(32, 64), nn.ReLU(), L(64, 8)), {L}, dtype=torch.qint8
    ), torch.randn(2, 32)


class Int8(nn.Module):
    def __init__(s, i, o):
        super().__init__()
        s.register_buffer("w", torch.zeros(o, i, dtype=torch.int8))
        s.register_buffer("s_", torch.ones(o))
        s.bias = nn.Parameter(torch.zeros(o))

    def forward(s, x):
        return F.linear(x, s.w.to(x.dtype) * s.s_[:, None], s.bias)


def int8_weightonly():
    return nn.Sequential(Int8(32, 64), nn.ReLU(), Int8(64, 8)), torch.randn(2, 32)


def int8_ref():
    return nn.Sequential(L(32, 64), nn.ReLU(), L(64, 8)), torch.randn(2, 32)


# 18 LoRA own
class Lora(nn.Module):
    def __init__(s, base, r=4):
        super().__init__()
        s.base_layer = base
        s.A = L(base.in_features, r, bias=False)
        s.B = L(r, base.out_features, bias=False)
        s.scale = 2.0
        s.drop = nn.Dropout(0.1)

    def forward(s, x):
        return s.base_layer(x) + s.B(s.A(s.drop(x))) * s.scale


class Blk(nn.Module):
    def __init__(s, lora):
        super().__init__()
        w = Lora if lora else (lambda z: z)
        s.n = nn.LayerNorm(32)
        s.q = w(L(32, 32))
        s.k = L(32, 32)
        s.v = w(L(32, 32))
        s.o = L(32, 32)
        s.m = nn.LayerNorm(32)
        s.f = nn.Sequential(L(32, 128), nn.GELU(), L(128, 32))

    def forward(s, x):
        h = s.n(x)

        def sp(t):
            return t.view(*t.shape[:2], 4, 8).transpose(1, 2)

        x = x + s.o(
            F.scaled_dot_product_attention(sp(s.q(h)), sp(s.k(h)), sp(s.v(h)))
            .transpose(1, 2)
            .flatten(2)
        )
        return x + s.f(s.m(x))


def lora_vit():
    return nn.Sequential(*[Blk(True) for _ in range(4)]), torch.randn(1, 9, 32)


def nolora_vit():
    return nn.Sequential(*[Blk(False) for _ in range(4)]), torch.randn(1, 9, 32)


# 19 KV cache object
class Cache:
    def __init__(s):
        s.k = None

    def update(s, k):
        s.k = k if s.k is None else torch.cat([s.k, k], 1)
        return s.k


class KV(nn.Module):
    def __init__(s):
        super().__init__()
        s.q = L(32, 32)
        s.k = L(32, 32)

    def forward(s, x, cache=None):
        k = s.k(x)
        k = cache.update(k) if cache else k
        return F.scaled_dot_product_attention(s.q(x), k, k)


def kv_cache():
    return KV(), (torch.randn(1, 3, 32), Cache())


# 20 while loop halting (ACT)
class Act(nn.Module):
    def __init__(s):
        super().__init__()
        s.f = mlp()
        s.h = L(32, 1)
        # It halts with a half at each step: after two, whatever weights are drawn.
        nn.init.zeros_(s.h.weight)
        nn.init.zeros_(s.h.bias)

    def forward(s, x):
        p = torch.zeros(x.shape[0], 1)
        n = 0
        while (p < 0.99).any() and n < 8:
            x = x + s.f(x)
            p = p + torch.sigmoid(s.h(x))
            n += 1
        return x


def act_loop():
    return Act(), torch.randn(2, 32)


# 21 dynamic resolution vision tower
class Tower(nn.Module):
    def __init__(s):
        super().__init__()
        s.p = L(12, 32)
        s.b = Blk(False)

    def forward(s, patches, grid):
        out = []
        at = 0
        for h, w in grid.tolist():
            out.append(s.b(s.p(patches[at : at + h * w])[None])[0])
            at += h * w
        return torch.cat(out)


def dyn_res():
    return Tower(), (torch.randn(10, 12), torch.tensor([[2, 2], [2, 3]]))


# 22 einops + jit.script fn + inplace
@torch.jit.script
def fused_gelu(x, b):
    return (x + b) * torch.sigmoid(1.702 * (x + b))


class Scr(nn.Module):
    def __init__(s):
        super().__init__()
        s.a = L(32, 32, bias=False)
        s.b = nn.Parameter(torch.zeros(32))
        s.c = L(32, 32)

    def forward(s, x):
        y = s.c(fused_gelu(s.a(x), s.b))
        y.add_(x).clamp_(min=0)
        y[:, 0] = 0
        return y


def script_fn():
    return Scr(), torch.randn(2, 32)


def einops_net():
    from einops.layers.torch import Rearrange, Reduce

    return nn.Sequential(
        nn.Conv2d(3, 32, 4, 4),
        Rearrange("b c h w -> b (h w) c"),
        nn.LayerNorm(32),
        mlp(),
        Reduce("b n c -> b c", "mean"),
    ), torch.randn(1, 3, 16, 16)


# 23 multi in/out nested, ModuleDict keyed routing
class Multi(nn.Module):
    def __init__(s):
        super().__init__()
        s.d = nn.ModuleDict({"img": nn.Conv2d(3, 8, 3, 2), "txt": nn.Embedding(30, 8)})
        s.h = L(16, 2)
        s.r = L(16, 3)

    def forward(s, xs):
        f = torch.cat([s.d["img"](xs["img"]).mean((2, 3)), s.d["txt"](xs["txt"]).mean(1)], 1)
        return [s.h(f), (s.r(f), {"f": f})]


def multi():
    return Multi(), (
        {"img": torch.randn(1, 3, 16, 16), "txt": torch.zeros(1, 4, dtype=torch.long)},
    )


# 24 nested tensors / flex attention / rnncell loop / dataclass in
def flex():
    from torch.nn.attention.flex_attention import flex_attention

    class X(nn.Module):
        def __init__(s):
            super().__init__()
            s.q = L(32, 96)

        def forward(s, x):
            q, k, v = s.q(x).view(1, 16, 3, 2, 16).permute(2, 0, 3, 1, 4)
            return flex_attention(q, k, v)

    return X(), torch.randn(1, 16, 32)


class CellLoop(nn.Module):
    def __init__(s):
        super().__init__()
        s.c = nn.LSTMCell(16, 24)
        s.o = L(24, 4)

    def forward(s, x):
        h = (x.new_zeros(x.shape[1], 24),) * 2
        for t in range(x.shape[0]):
            h = s.c(x[t], h)
        return s.o(h[0])


def lstmcell_loop():
    return CellLoop(), torch.randn(6, 2, 16)


class DistAll(nn.Module):
    def __init__(s):
        super().__init__()
        s.a = L(32, 32)

    def forward(s, x):
        import torch.distributed as d

        y = s.a(x)
        d.all_reduce(y)
        return y


def dist_allreduce():
    return DistAll(), torch.randn(2, 32)


def sdpa_transformer():
    return nn.TransformerEncoder(
        nn.TransformerEncoderLayer(32, 4, 64, batch_first=True), 3
    ).eval(), torch.randn(2, 7, 32)


class Det(nn.Module):
    def __init__(s):
        super().__init__()
        s.c = nn.Conv2d(3, 5, 3, padding=1)

    def forward(s, x):
        import torchvision

        y = s.c(x).flatten(2)[0].T
        b = torch.cat([y[:, :2], y[:, :2] + y[:, 2:4].abs()], 1)
        k = y[:, 4].sigmoid() > 0.5
        return b[k][torchvision.ops.nms(b[k], y[k, 4], 0.5)]


def nms_det():
    return Det(), torch.randn(1, 3, 8, 8)


class Lst(nn.Module):
    def __init__(s):
        super().__init__()
        s.c = nn.Conv2d(3, 8, 3)

    def forward(s, images):
        return [s.c(i[None]).mean() for i in images]


def list_in():
    return Lst(), ([torch.randn(3, 8, 8), torch.randn(3, 9, 9)],)


class Quiet(nn.Module):
    def __init__(s):
        super().__init__()
        s.c = L(4, 4)
        s.n = 0

    def forward(s, x):
        assert torch.isfinite(x).all(), "bad input"
        print("loss", float(x.sum()))  # noqa: T201
        s.n += 1
        return s.c(x)


def asserts():
    return Quiet(), torch.randn(1, 4)


class Vq(nn.Module):
    def __init__(s):
        super().__init__()
        s.e = L(32, 8)
        s.cb = nn.Embedding(16, 8)
        s.d = L(8, 32)

    def forward(s, x):
        z = s.e(x)
        i = torch.cdist(z, s.cb.weight).argmin(-1)
        q = s.cb(i)
        q = z + (q - z).detach()
        return s.d(q), torch.unique(i).numel()


def vq():
    return Vq(), torch.randn(4, 32)


class Cuda1(Net):
    def forward(s, x):
        return super().forward(x.cuda())


def cuda_call():
    return Cuda1(), torch.randn(1, 3, 16, 16)


class Cuda2(Net):
    def forward(s, x):
        d = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
        return super().forward(x.to(d)) + torch.zeros(10).to(d)


def cuda_if():
    return Cuda2(), torch.randn(1, 3, 16, 16)


class NpyOut(nn.Module):
    def __init__(s):
        super().__init__()
        s.a = L(32, 64)
        s.b = L(64, 64)
        s.c = L(64, 4)

    def forward(s, x):
        h = F.relu(s.b(F.relu(s.a(x))))
        keep = (h.sum(-1) > 0).cpu().numpy()
        return s.c(torch.tensor(h.detach().numpy()[keep]))


def numpy_tail():
    return NpyOut(), torch.randn(4, 32)


class Tol(nn.Module):
    def __init__(s):
        super().__init__()
        s.a = L(32, 64)
        s.c = L(64, 4)

    def forward(s, x):
        return s.c(torch.tensor(F.relu(s.a(x)).tolist()))


def tolist_mid():
    return Tol(), torch.randn(4, 32)


def resnet_softmax():
    import torchvision

    return nn.Sequential(torchvision.models.resnet18(), nn.Softmax(-1)), torch.randn(1, 3, 224, 224)


def resnet_norm_in():
    import torchvision

    class M(nn.Module):
        def __init__(s):
            super().__init__()
            s.m = torchvision.models.resnet18()
            s.register_buffer("mu", torch.zeros(1, 3, 1, 1))
            s.register_buffer("sd", torch.ones(1, 3, 1, 1))

        def forward(s, x):
            return s.m((x / 255.0 - s.mu) / s.sd)

    return M(), torch.randn(1, 3, 224, 224)


def resnet_dp_amp():
    import torchvision

    class M(nn.Module):
        def __init__(s):
            super().__init__()
            s.m = torchvision.models.resnet18()

        def forward(s, x):
            with torch.autocast("cuda", dtype=torch.float16):
                return s.m(x)

    return M(), torch.randn(1, 3, 224, 224)


def resnet_argmax():
    import torchvision

    class M(nn.Module):
        def __init__(s):
            super().__init__()
            s.m = torchvision.models.resnet18()

        def forward(s, x):
            return s.m(x).argmax(-1)

    return M(), torch.randn(1, 3, 224, 224)


def resnet_10cls():
    import torchvision

    m = torchvision.models.resnet18()
    m.fc = nn.Sequential(nn.Dropout(0.2), L(512, 10))
    return m, torch.randn(1, 3, 224, 224)


def resnet_mlp_head():
    import torchvision

    m = torchvision.models.resnet18()
    m.fc = nn.Sequential(L(512, 256), nn.ReLU(), nn.Dropout(0.2), L(256, 10))
    return m, torch.randn(1, 3, 224, 224)


def peftlike_bert():
    from transformers import BertConfig, BertModel

    m = BertModel(
        BertConfig(
            hidden_size=64,
            num_hidden_layers=4,
            num_attention_heads=4,
            intermediate_size=128,
            vocab_size=100,
        )
    )
    for layer in m.encoder.layer:
        layer.attention.self.query = Lora(layer.attention.self.query)
        layer.attention.self.value = Lora(layer.attention.self.value)
    return m, {"input_ids": torch.zeros(1, 8, dtype=torch.long)}


def bert_plain():
    from transformers import BertConfig, BertModel

    return BertModel(
        BertConfig(
            hidden_size=64,
            num_hidden_layers=4,
            num_attention_heads=4,
            intermediate_size=128,
            vocab_size=100,
        )
    ), {"input_ids": torch.zeros(1, 8, dtype=torch.long)}


def yolo_like():
    class C(nn.Module):
        def __init__(s, i, o, k=1, t=1):
            super().__init__()
            s.c = nn.Conv2d(i, o, k, t, k // 2, bias=False)
            s.b = nn.BatchNorm2d(o)

        def forward(s, x):
            return F.silu(s.b(s.c(x)))

    class C2f(nn.Module):
        def __init__(s, c, n):
            super().__init__()
            s.a = C(c, c)
            s.m = nn.ModuleList(
                nn.Sequential(C(c // 2, c // 2, 3), C(c // 2, c // 2, 3)) for _ in range(n)
            )
            s.z = C(c // 2 * (n + 2), c)

        def forward(s, x):
            y = list(s.a(x).chunk(2, 1))
            for m in s.m:
                y.append(y[-1] + m(y[-1]))
            return s.z(torch.cat(y, 1))

    return nn.Sequential(
        C(3, 16, 3, 2), C(16, 32, 3, 2), C2f(32, 1), C(32, 64, 3, 2), C2f(64, 2)
    ), torch.randn(1, 3, 64, 64)
