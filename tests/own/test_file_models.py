"""A user's own file: every way to give a module and its inputs, and what is said when one fails."""

import json
from importlib.metadata import version

import pytest
import torch

from nar.base.asking import Asking
from nar.base.errors import CaptureError, InvalidInputError, NarError, UnknownArchitectureError
from nar.base.model_files import FILES, READ
from nar.graphs.ops import op_name
from nar.own import capture_architecture, files

SOURCE = """
import torch
from torch import nn
from neighbour import WIDTH

def image():
    return nn.Sequential(nn.Conv2d(3, WIDTH, 3), nn.ReLU())

def pair():
    return nn.Linear(WIDTH, 2), (torch.zeros(1, WIDTH),)

def beside():
    return nn.Linear(WIDTH, 2)
beside.example_inputs = torch.zeros(5, WIDTH)

class Named(nn.Module):
    def __init__(self):
        super().__init__()
        self.example_inputs = {"x": torch.zeros(1, WIDTH)}
    def forward(self, x):
        return x.tanh()

class Choosy(nn.Module):
    def forward(self, x):
        return x.tanh() if x.sum() == 0 else x.sigmoid()

ready = nn.Sequential(nn.Linear(224, 4), nn.GELU())

def no_module():
    return 5

def broken():
    raise ValueError("no such width")

def words():
    return nn.Embedding(10, 4)

class nest(nn.Module):
    def forward(self, batch):
        return batch.nodes.pop().to_dense()

def three():
    return nn.Linear(8, 8), torch.zeros(1, 8), "adam"

def two():
    return nn.Linear(8, 8), nn.Linear(8, 8)

def lazy():
    return nn.Sequential(nn.LazyConv2d(WIDTH, 3), nn.ReLU())

class Lightning(nn.Module):
    example_input_array = torch.zeros(1, WIDTH)
    def __init__(self):
        super().__init__()
        self.layer = nn.LazyLinear(2)
    def forward(self, x):
        return self.layer(x)
"""


@pytest.fixture
def models(tmp_path):
    (tmp_path / "neighbour.py").write_text("WIDTH = 8\n")
    path = tmp_path / "models.py"
    path.write_text(SOURCE)
    return path


def operators(name):
    graph = capture_architecture(name).architecture.graph
    return [op_name(identifier) for identifier in graph.op_ids.tolist()]


@pytest.mark.parametrize(
    ("factory", "wanted"),
    [
        ("image", ["input", "conv", "relu"]),
        ("pair", ["input", "linear"]),
        ("beside", ["input", "linear"]),
        ("Named", ["input", "tanh"]),
        ("Choosy", ["input", "tanh"]),
        ("ready", ["input", "linear", "gelu"]),
        ("lazy", ["input", "conv", "relu"]),
        ("Lightning", ["input", "linear"]),
        ("words", ["embedding"]),
    ],
)
def test_a_factory_gives_a_graph(models, factory, wanted):
    assert operators(f"{models}:{factory}") == wanted


def test_labels_claim_nothing_about_a_users_file(models):
    labels = capture_architecture(f"{models}:image").architecture.labels
    assert (labels.source, labels.library, labels.family, labels.task) == (
        "file",
        "models.py",
        "unknown",
        "unknown",
    )


@pytest.mark.parametrize(
    ("factory", "said"),
    [
        ("no_module", "wanted an nn.Module or .* came int"),
        ("broken", r"models.py:\d+: ValueError: no such width"),
        ("three", r"wanted an nn.Module or \(nn.Module, inputs\), came \(Linear, Tensor, str\)"),
        ("two", r"came \(Linear, Linear\): let one factory return each module"),
        ("nest", r"models.py:\d+: AttributeError: .* tried .*; state them: --input batch=1x"),
    ],
)
def test_a_factory_that_fails_is_told_why(models, factory, said):
    with pytest.raises(CaptureError, match=said):
        capture_architecture(f"{models}:{factory}")


def test_a_factory_that_is_not_there_is_missed_by_name(models):
    with pytest.raises(UnknownArchitectureError, match=r"models.py defines no besides"):
        capture_architecture(f"{models}:besides")


def test_a_file_that_does_not_run_says_so(tmp_path):
    path = tmp_path / "half.py"
    path.write_text("def make(:\n")
    with pytest.raises(CaptureError, match=r"half.py:1: SyntaxError"):
        capture_architecture(f"{path}:make")


OF_LIBRARIES = """
import timm
import torch
from transformers import BertConfig, BertModel, MixtralConfig, MixtralForCausalLM
from transformers import MiniMaxM2Config, MiniMaxM2ForCausalLM, PreTrainedModel
from transformers import WhisperConfig, WhisperForConditionalGeneration

class Own(PreTrainedModel):
    config_class = BertConfig
    def __init__(self, config):
        super().__init__(config)
        self.layer = torch.nn.Conv2d(3, 8, 3)
        self.post_init()

class Image(Own):
    def forward(self, picture):
        return self.layer(picture)

class Words(Own):
    def forward(self, input_ids):
        return self.layer(input_ids)

bert = lambda: BertModel(BertConfig())
whisper = lambda: WhisperForConditionalGeneration(WhisperConfig())
image = lambda: Image(BertConfig())
words = lambda: Words(BertConfig())
mixtral = lambda: MixtralForCausalLM(MixtralConfig())
minimax = lambda: MiniMaxM2ForCausalLM(MiniMaxM2Config())
crossvit = lambda: timm.create_model("crossvit_tiny_240")
on_timm = lambda: torch.nn.Sequential(crossvit(), torch.nn.Tanh())
"""


@pytest.fixture
def of_libraries(tmp_path):
    path = tmp_path / "libraries.py"
    path.write_text(OF_LIBRARIES)
    return path


@pytest.mark.slow
@pytest.mark.parametrize(
    ("factory", "known"),
    [
        ("bert", "transformers:bert/BertModel"),
        ("whisper", "transformers:whisper/WhisperForConditionalGeneration"),
        # 47 billion parameters, and routing that one example must not decide.
        ("mixtral", "transformers:mixtral/MixtralForCausalLM"),
        # Experts of 10 GB in one tensor.
        ("minimax", "transformers:minimax_m2/MiniMaxM2ForCausalLM"),
        ("crossvit", "timm:crossvit_tiny_240"),
    ],
)
def test_a_model_of_a_library_brings_no_inputs(of_libraries, factory, known):
    mine = capture_architecture(f"{of_libraries}:{factory}").architecture
    assert mine.exact == capture_architecture(known).architecture.exact


@pytest.mark.slow
def test_what_stands_on_a_model_of_timm_is_given_its_image(of_libraries):
    assert operators(f"{of_libraries}:on_timm") == [*operators("timm:crossvit_tiny_240"), "tanh"]


@pytest.mark.slow
def test_a_users_own_class_of_transformers_is_given_what_it_names(of_libraries):
    assert operators(f"{of_libraries}:image") == ["input", "conv"]
    assert operators(f"{of_libraries}:words") == ["input", "conv"]


# What one attempt leaves in plain attributes is no part of the next: it reads a value, so only the
# attempt with weights can succeed, and its forward stored a tensor without any.
MOVES = """
import torch
from torch import nn

class Moves(nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.out = nn.Embedding(100, 64), nn.Linear(64, 100)
        self.angles = torch.outer(torch.arange(128.0), torch.arange(64.0))

    @torch.inference_mode()
    def forward(self, ids):
        h = self.table(ids)
        self.angles = self.angles.to(h.device)
        if float(h.abs().sum()) < 0:
            return h
        return self.out(h * self.angles[: ids.shape[1]].cos())

class Wrong(Moves):
    def forward(self, ids):
        super().forward(ids)
        return self.out(torch.zeros(1, 63))

def with_inputs():
    return Moves(), torch.zeros(1, 16, dtype=torch.long)

def wrong():
    return Wrong(), torch.zeros(1, 16, dtype=torch.long)
"""


@pytest.mark.slow
def test_an_attempt_with_weights_begins_with_a_fresh_module(tmp_path):
    path = tmp_path / "moves.py"
    path.write_text(MOVES)
    mine = operators(f"{path}:with_inputs")
    assert mine == operators(f"{path}:Moves")
    assert mine.count("linear") == 1
    with pytest.raises(CaptureError, match=r"moves.py:22: RuntimeError: .* \(1x63 and 64x100\)"):
        capture_architecture(f"{path}:wrong")


# 480 GB of weights, none of which is to be made.
LARGE = """
import torch
from torch import nn

class Layers(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(20_000, 20_000) for _ in range(300))

class ByInput(Layers):
    example_inputs = (torch.zeros(1, 20_000), torch.tensor(7))
    def forward(self, x, number):
        return self.layers[int(number)](x)

class ByWeights(Layers):
    example_inputs = torch.zeros(1, 20_000)
    def forward(self, x):
        return self.layers[int(self.layers[0].bias.sum())](x)
"""


@pytest.mark.slow
def test_weights_are_made_only_where_they_are_read_and_fit(tmp_path):
    path = tmp_path / "large.py"
    path.write_text(LARGE)
    assert operators(f"{path}:ByInput").count("linear") == 1
    with pytest.raises(CaptureError, match=r"large.py:\d+: .* GB here and take 480.0 GB: make it"):
        capture_architecture(f"{path}:ByWeights")


def test_an_exported_program_needs_no_factory(tmp_path):
    model = torch.nn.Sequential(torch.nn.Linear(8, 2), torch.nn.ReLU())
    path = tmp_path / "model.pt2"
    torch.export.save(torch.export.export(model, (torch.zeros(1, 8),)), path)
    assert operators(str(path)) == ["input", "linear", "relu"]


def test_a_file_that_is_not_there_is_missed_by_its_path():
    with pytest.raises(UnknownArchitectureError, match=r"no file lost.onnx"):
        capture_architecture("lost.onnx")


CONFIGURED = """
import torch


def net(width, depth=1, *, act="ReLU"):
    layers = []
    for _ in range(depth):
        layers += [torch.nn.Conv2d(3, width, 1), getattr(torch.nn, act)()]
        layers += [torch.nn.Conv2d(width, 3, 1)]
    return torch.nn.Sequential(*layers)
"""


def stated(*inputs):
    return Asking(inputs)


@pytest.mark.slow
def test_a_factory_takes_arguments_and_a_shape(tmp_path):
    path = tmp_path / "net.py"
    path.write_text(CONFIGURED)
    small = capture_architecture(f"{path}:net(8)").architecture
    deep = capture_architecture(
        f"{path}:net(8, depth=3, act='Tanh')", stated("2x3x5x7")
    ).architecture
    again = capture_architecture(f"{path}:net(8)", stated("1x3x4x4")).architecture
    assert small.labels.name == f"{path}:net(8)"
    assert deep.graph.nodes - 1 == 3 * (small.graph.nodes - 1)
    assert deep.graph.parameters == 3 * small.graph.parameters
    assert again.exact == small.exact


@pytest.mark.parametrize("arguments", ["(open('x'))", "(x)", "(8", "(**{})", "(8) + f()"])
def test_arguments_are_values_and_are_not_run(tmp_path, arguments):
    path = tmp_path / "net.py"
    path.write_text(CONFIGURED)
    with pytest.raises(NarError):
        capture_architecture(f"{path}:net{arguments}")


def test_inputs_are_stated_for_factories_only(tmp_path):
    (tmp_path / "model.onnx").touch()
    for name in ("timm:resnet18", str(tmp_path / "model.onnx")):
        with pytest.raises(InvalidInputError, match="stated inputs for path/to/file"):
            capture_architecture(name, stated("1x3x64x64"))


def test_each_kind_of_file_has_a_reader():
    """What is read stands in one table, which the page offers as well (`tests/web`)."""
    read = {kind.what for kind in FILES if kind.reading in {"graph", "configuration"}}
    assert files._READERS.keys() == read - {READ[".json"]}
    assert read >= set(READ.values())


BERT = {"model_type": "bert", "num_hidden_layers": 1, "hidden_size": 32, "num_attention_heads": 2}


@pytest.mark.parametrize("is_folder", [True, False])
def test_a_configuration_states_its_family_and_its_library(tmp_path, is_folder):
    (tmp_path / "config.json").write_text(json.dumps({**BERT, "intermediate_size": 32}))
    name = str(tmp_path if is_folder else tmp_path / "config.json")
    labels = capture_architecture(name).architecture.labels
    assert (labels.name, labels.family) == (name, "bert")
    assert labels.library == f"transformers {version('transformers')}"


def test_a_folder_of_no_model_says_what_was_wanted(tmp_path):
    with pytest.raises(InvalidInputError, match=r"wanted a folder with a config\.json or a graph"):
        capture_architecture(str(tmp_path))
