"""The call that a program makes is caught, whatever wraps the model, and no trace is left."""

import random
import subprocess
import sys
from types import MethodType

import numpy as np
import pytest
import torch
from torch import nn

from nar.capture import capture_module
from nar.own.watching import CallWatcher, Wanted, architecture_of_call, capture_call, stated_inputs


class Net(nn.Module):
    """Every kind of state that a forward pass could change: dropout, batch norm, attributes."""

    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8)
        self.drop, self.hidden, self.head = nn.Dropout(), nn.Linear(8, 8), nn.Linear(8, 4)
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        hidden = self.hidden(self.norm(self.conv(x)).relu().mean((2, 3)))
        return self.head(self.drop(hidden.relu()))


X = torch.linspace(-1, 1, 2 * 3 * 8 * 8).view(2, 3, 8, 8)
EXACT = capture_module(Net(), X).network.exact


def caught(module, run, wanted=None):
    """What a program computes that is watched, and the call that was caught."""
    calls = []

    def take(call):
        calls.append((call, capture_call(call).network.exact))

    watcher = CallWatcher(wanted or Wanted(), take)
    watcher.start()
    try:
        result = run(module)
    finally:
        watcher.stop()
    return result, calls


def seeded(make):
    torch.manual_seed(0)
    return make()


def state(module):
    values = {name: value.clone() for name, value in module.state_dict().items()}
    hooks = [len(part._forward_pre_hooks) + len(part._forward_hooks) for part in module.modules()]
    modes = [part.training for part in module.modules()]
    numbers = random.getstate(), np.random.get_state()  # noqa: NPY002
    return values, hooks, modes, torch.get_rng_state(), *numbers


def under_autocast(module):
    with torch.autocast("cpu", torch.bfloat16):
        return module(X)


def in_inference_mode(module):
    with torch.inference_mode():
        return module(X)


def in_a_compiled_step(module):
    return torch.compile(lambda: module(X) * 2, backend="eager")()


def by_accelerate():
    """The forward of a module as accelerate replaces it where a precision is mixed."""
    net = Net()
    net._original_forward = net.forward

    def forward(self, x):
        with torch.autocast("cpu", torch.bfloat16):
            return self._original_forward(x).float()

    net.forward = MethodType(forward, net)
    return net


def compiled(make):
    return lambda: torch.compile(make(), backend="eager")


WAYS = {
    "plain": (Net, lambda net: net(X)),
    "by name": (Net, lambda net: net(x=X)),
    "compiled": (compiled(Net), lambda net: net(X)),
    "compiled part": (lambda: nn.Sequential(compiled(Net)()), lambda net: net(X)),
    "compiled step": (Net, in_a_compiled_step),
    "DataParallel": (lambda: nn.DataParallel(Net()), lambda net: net(X)),
    "autocast": (Net, under_autocast),
    "inference mode": (Net, in_inference_mode),
    "accelerate": (by_accelerate, lambda net: net(X)),
}


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_a_wrapped_model_is_caught_and_nothing_is_changed(way):
    make, run = WAYS[way]
    alone, watched = seeded(make), seeded(make)
    torch.manual_seed(1)
    expected, call_of_modules = run(alone), nn.Module.__call__
    torch.manual_seed(1)
    result, [(_, exact)] = caught(watched, run)
    assert exact == EXACT
    assert torch.equal(result, expected)
    assert nn.Module.__call__ is call_of_modules
    for before, after in zip(state(alone), state(watched), strict=True):
        assert str(before) == str(after)


def test_a_loss_is_no_part_of_the_design():
    class WithLoss(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = Net()

        def forward(self, x, y=None):
            out = self.net(x)
            return out, None if y is None else nn.functional.cross_entropy(out, y)

    _, [(_, exact)] = caught(WithLoss(), lambda net: net(X, torch.tensor([0, 1])))
    assert exact == EXACT


class Pair(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = Net(), nn.Linear(4, 4)

    def forward(self, x):
        return self.second(self.first(x))


def test_a_part_or_a_class_or_a_later_call_can_be_chosen():
    def twice(net):
        net(X[:1])
        net(X)

    for name in ("first", "Net"):
        _, [(call, exact)] = caught(Pair(), twice, Wanted(name, 2))
        assert (call.args[0].shape[0], exact) == (2, EXACT)
    _, [(call, _)] = caught(Pair(), twice)
    assert type(call.module) is Pair
    assert caught(Pair(), twice, Wanted("Absent"))[1] == []


def test_losses_and_modules_without_weights_are_passed_over():
    loss, net = nn.CrossEntropyLoss(), Net()

    def train(net):
        nn.Flatten()(X)
        return loss(net(X), torch.tensor([0, 1]))

    _, [(call, _)] = caught(net, train)
    assert call.module is net


def test_a_step_of_a_training_is_no_forward():
    """Lightning replaces the forward of its module while a wrapper calls it for a step."""

    class Step(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = Net()

        def training_step(self, x):
            return self.net(x).sum()

    step = Step()
    step.forward = step.training_step
    _, [(call, _)] = caught(step, lambda step: step(X))
    assert type(call.module) is Net


class Seq2Seq(nn.Module):
    """Generates as models of transformers do: its encoder is called first, by itself."""

    def __init__(self):
        super().__init__()
        self.encoder, self.decoder = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x):
        return self.decoder(self.encoder(x))

    def generate(self, x):
        self.encoder(x)
        return self(x)


def test_generation_is_a_call_of_the_whole_model():
    _, [(call, _)] = caught(Seq2Seq(), lambda net: net.generate(torch.zeros(1, 4)))
    assert type(call.module) is Seq2Seq


def test_inputs_are_stated_as_options():
    _, [(call, _)] = caught(Net(), lambda net: net(x=X))
    assert stated_inputs(call) == "--input x=2x3x8x8:float32"


def test_a_model_is_named_by_its_class():
    names = []
    watcher = CallWatcher(
        Wanted(), lambda call: names.append(architecture_of_call(call).labels.name)
    )
    watcher.start()
    Net()(X)
    assert names == ["Net"]


LIBRARIES = """
import os, sys
import torch
from torch import nn
from nar.capture import capture_module
from nar.graphs.fingerprints import sameness
from nar.ask import architecture_of
from nar.own.watching import CallWatcher, Wanted, architecture_of_call
from nar.zoo.libraries import ready_for_libraries

os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="0", RANK="0", WORLD_SIZE="1")

def net():
    return nn.Sequential(nn.Linear(8, 4), nn.ReLU(), nn.Linear(4, 2))

X = torch.ones(2, 8)
NET = architecture_of(net(), X)

def check(name, expected, run):
    found = []
    watcher = CallWatcher(Wanted(), lambda call: found.append(architecture_of_call(call)))
    watcher.start()
    run()
    print(name, *(sameness(each, expected) for each in found))
"""
DISTRIBUTED = """
import torch.distributed as dist
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP, fully_shard
from torch.distributed.fsdp.wrap import ModuleWrapPolicy
from torch.nn.parallel import DistributedDataParallel as DDP
dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
cpu = torch.device("cpu")
check("DDP", NET, lambda: DDP(net())(X))
check("FSDP", NET, lambda: FSDP(net(), device_id=cpu)(X))
nested = {"auto_wrap_policy": ModuleWrapPolicy({nn.Linear}), "use_orig_params": True}
check("nested", NET, lambda: FSDP(net(), device_id=cpu, **nested)(X))
sharded = net()
fully_shard(sharded[0])
fully_shard(sharded)
check("fully_shard", NET, lambda: sharded(X))
dist.destroy_process_group()
"""
LIGHTNING = """
with ready_for_libraries():
    import lightning
from torch.utils.data import DataLoader, TensorDataset

class Lit(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = net()
    def training_step(self, batch, _):
        return self.net(batch[0]).sum()
    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 0.1)

def fit(**how):
    quiet = dict.fromkeys(
        ("logger", "enable_checkpointing", "enable_progress_bar", "enable_model_summary"), False
    )
    trainer = lightning.Trainer(max_steps=1, accelerator="cpu", devices=1, **quiet, **how)
    trainer.fit(Lit(), DataLoader(TensorDataset(X), batch_size=2))

check("fit", NET, fit)
check("mixed", NET, lambda: fit(precision="bf16-mixed"))
fabric = lightning.Fabric(accelerator="cpu", precision="bf16-mixed")
made = net()
made = fabric.setup(made, torch.optim.SGD(made.parameters(), 0.1))[0]
check("fabric", NET, lambda: made(X))
"""
TRANSFORMERS = """
with ready_for_libraries():
    from transformers import GPT2Config, GPT2LMHeadModel, T5Config, T5ForConditionalGeneration
    ids = torch.arange(8)[None]
    gpt = GPT2LMHeadModel(GPT2Config(n_layer=1, n_embd=16, n_head=2, vocab_size=50))
    t5 = T5ForConditionalGeneration(T5Config(
        num_layers=1, d_model=16, d_kv=8, d_ff=16, num_heads=2, vocab_size=50,
        decoder_start_token_id=0,
    ))
    for model in (gpt, t5):
        known, name = architecture_of(model), type(model).__name__
        check(f"{name} trains", known, lambda: model(input_ids=ids, labels=ids))
        check(f"{name} generates", known, lambda: model.generate(ids, max_new_tokens=3))
"""
CHECKED = {
    "distributed": (DISTRIBUTED, ["DDP", "FSDP", "nested", "fully_shard"]),
    "lightning": (LIGHTNING, ["fit", "mixed", "fabric"]),
    "transformers": (
        TRANSFORMERS,
        [
            f"{name} {what}"
            for name in ("GPT2LMHeadModel", "T5ForConditionalGeneration")
            for what in ("trains", "generates")
        ],
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("library", CHECKED)
def test_libraries_that_train_and_generate(tmp_path, library):
    program, names = CHECKED[library]
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", LIBRARIES + program],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    checked = [line for line in done.stdout.splitlines() if line.endswith(("network", "None"))]
    assert checked == [f"{name} network" for name in names], done.stderr
