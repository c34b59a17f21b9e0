"""A wrapper as text: it shows what is known of each argument, and runs when it is filled in."""

import pytest
from clones import Asked, clone

from nar.base.errors import CaptureError, UnknownArchitectureError
from nar.own import capture_architecture
from nar.own.wrapping import wrapper_of

NET = """
from torch import nn
class Net(nn.Module):
    def __init__(self, width: int, secret, kind="relu"):
        super().__init__(); self.c = nn.Conv2d(3, width, secret)
    def forward(self, x): return self.c(x)
class OfConfig(nn.Module):
    def __init__(self, cfg):
        super().__init__(); self.c = nn.Conv2d(3, cfg.width, cfg.secret)
    def forward(self, x): return self.c(x)
class Config:
    def __init__(self, width: int = 4, secret: int = 3):
        self.width, self.secret = width, secret
class Annotated(OfConfig):
    def __init__(self, config: Config): super().__init__(config)
class OfMethod(OfConfig):
    @staticmethod
    def get_default_config():
        config = Config(); config.width = None; return config
    def __init__(self, config): super().__init__(config)
def unasked(secret): return nn.Conv2d(3, 8, secret)
"""


@pytest.fixture
def folder(tmp_path):
    return clone(tmp_path, {"net.py": NET, "README.md": ""})


def test_each_parameter_has_a_line_with_its_type_and_what_was_found(folder):
    text = wrapper_of(folder / "net.py", "Net")
    assert "        width=512,  # int; assumed from its name" in text
    assert "        secret=...,  # nothing was found: write a value" in text
    assert "        # kind='relu'," in text


@pytest.mark.parametrize("name", ["Net", "unasked"])
def test_a_wrapper_that_is_filled_in_is_asked(folder, name):
    text = wrapper_of(folder / "net.py", name)
    assert "secret=...," in text
    (folder / "ask.py").write_text(text.replace("secret=...", "secret=3"))
    asked = Asked(f"{folder / 'ask.py'}:model", "1x3x8x8")
    assert asked.operators == ["input", "conv"]


@pytest.mark.parametrize("name", ["OfConfig", "Annotated", "OfMethod"])
def test_a_wrapper_that_lacks_nothing_runs_as_it_is(tmp_path, folder, name):
    elsewhere = clone(tmp_path / "elsewhere", {"ask.py": wrapper_of(folder / "net.py", name)})
    asked = Asked(f"{elsewhere / 'ask.py'}:model", "1x3x8x8")
    assert asked.operators == ["input", "conv"]


def test_a_configuration_without_a_class_is_a_namespace_of_the_names_that_are_read(tmp_path):
    clone(tmp_path, {"net.py": NET.partition("class Config")[0]})
    text = wrapper_of(tmp_path / "net.py", "OfConfig")
    (tmp_path / "ask.py").write_text(text.replace("secret=...", "secret=3"))
    asked = Asked(f"{tmp_path / 'ask.py'}:model", "1x3x8x8")
    assert asked.weights == 512 * 28


KEYS = """
from torch import nn
class Sentences(nn.Module):  # as InferSent reads its settings
    def __init__(self, config):
        super().__init__()
        self.kind = "max" if "kind" not in config else config["kind"]
        self.c = nn.Conv2d(3, config["width"], config["secret"])
    def forward(self, x): return self.c(x)
class Kept(Sentences):
    def __init__(self, cfg): nn.Module.__init__(self); self.cfg = cfg; self.build()
    def build(self): self.c = nn.Conv2d(3, self.cfg["width"], self.cfg["secret"])
class Handed(Sentences):
    def __init__(self, opt): super().__init__(opt)
class Signs(Sentences):
    def __init__(self, table):
        nn.Module.__init__(self)
        self.c = nn.Conv2d(3, table["out-width"], table["secret"])
class Fields(Sentences):
    def __init__(self, cfg): nn.Module.__init__(self); self.c = nn.Conv2d(3, cfg.width, cfg.secret)
"""


@pytest.mark.parametrize(
    ("name", "opened", "fills"),
    [
        ("Sentences", "config={", {"secret": 3, "kind": "max"}),
        ("Kept", "cfg={", {"secret": 3}),
        ("Handed", "opt={", {"secret": 3, "kind": "max"}),
        ("Signs", "table={", {"secret": 3, "out-width": 8}),
        ("Fields", "cfg=SimpleNamespace(", {"secret": 3}),
    ],
)
def test_settings_that_are_read_by_keys_are_a_dictionary(tmp_path, name, opened, fills):
    clone(tmp_path, {"net.py": KEYS})
    text = wrapper_of(tmp_path / "net.py", name)
    assert f"        {opened}  # it reads these names" in text
    for key, value in fills.items():
        for empty in (f"{key!r}: ...", f"{key}=..."):
            text = text.replace(empty, f"{empty[:-3]}{value!r}")
    (tmp_path / "ask.py").write_text(text)
    asked = Asked(f"{tmp_path / 'ask.py'}:model", "1x3x8x8")
    assert asked.operators == ["input", "conv"]


def test_a_file_that_does_not_run_is_wrapped_by_its_text(tmp_path):
    broken = "import nothing_of\n1 / 0\n" + NET.replace("class Net(", "class Net(nothing_of.x[0], ")
    clone(tmp_path, {"net.py": "raise ValueError('no data')\n" + broken})
    text = wrapper_of(tmp_path / "net.py", "Net")
    assert "width=" in text
    compile(text, "ask.py", "exec")


def test_a_class_that_is_not_there_is_missed_by_name(folder):
    with pytest.raises(UnknownArchitectureError, match=r"net.py defines no Nat"):
        wrapper_of(folder / "net.py", "Nat")


def test_an_error_of_missing_arguments_names_the_wrapper(folder):
    with pytest.raises(CaptureError) as failure:
        capture_architecture(f"{folder / 'net.py'}:unasked")
    assert "unasked wants secret, and nothing in" in failure.value.reason
    assert "net.py:unasked > ask.py" in failure.value.reason
