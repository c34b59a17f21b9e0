"""What files and folders are: each case of `tests/held.py` is answered, or told what it is."""

import asyncio
import re
import zipfile
from contextlib import nullcontext
from pathlib import Path
from threading import Event

import pytest
import torch
from held import write_held

from nar.answers.naming import code_of, known_or_captured
from nar.base.errors import NarError, UnknownArchitectureError
from nar.base.model_files import CHECKPOINT, FILES, file_text, kind_of_file
from nar.base.model_folders import kind_of_json, named_in_folder
from nar.corpus import shipped_corpus
from nar.web.uploads import Files

# Case -> what is said of it: the whole sentence that follows the name, or a part of it.
SAID = {
    "M.ONNX": "Error parsing message with type",
    "bad.onnx": "a page of HTML in place of a model, .*: fetch the file again",
    "lfs.onnx": "a pointer of Git LFS .*; `git lfs pull` fetches the file",
    "old.pt2": "wanted an archive of torch.export.save",
    "m.pt2.zip": "wanted an archive of torch.export.save",
    "ts.pt": "a TorchScript program, .*--run .*torch.onnx.export",
    "ts.jit": "a TorchScript program, .*--run .*torch.onnx.export",
    "m.keras": "wanted an archive with a config.json",
    "keras3": "wanted a model whose layers the file states",
    "saved": "a saved model of TensorFlow, .*tf2onnx.convert --saved-model .*saved --output",
    "frozen.pb": "a TensorFlow graph, .*tf2onnx.convert --graphdef",
    "tfjs": "a graph of TensorFlow.js, .*tf2onnx.convert --tfjs .*model.json",
    "tfjs_layers": "wanted a model whose layers the file states",
    "paddle3": "a PaddlePaddle program, .*paddle2onnx .*inference.json",
    "m.pdmodel": "a PaddlePaddle model, .*paddle2onnx .*m.pdmodel",
    "m.mlmodel": "a Core ML model, .*coremltools",
    "x.mlpackage": "a Core ML package, .*; name the model that it was made from",
    "model.xml": "wanted a net with layers, came none",
    "m.param": "an ncnn model, .*; name the model that it was made from",
    "m.engine": "a TensorRT engine, .*; name the .onnx that it was built from",
    "m.mlir": "a module of MLIR or StableHLO, ",
    "m.stablehlo": "a module of MLIR or StableHLO, ",
    "m.pte": "a program of ExecuTorch, .*; name the .pt2 that it was lowered from",
    "m.ort": "onnxruntime's own format, .*; name the .onnx that it was made from",
    "m.mar": "an archive of TorchServe, .*; `unzip .*m.mar`",
    "m.nemo": "an archive of NeMo, .*; `tar xf .*m.nemo`",
    "m.msgpack": "a file of weights of Flax, .*; name the config.json beside it",
    "m.cfg": "a configuration of Darknet, .*darknet2onnx",
    "m.prototxt": "a Caffe model, .*caffe2onnx.convert",
    "m.caffemodel": "a Caffe model, .*caffe2onnx.convert",
    "m.npz": "a file of arrays of NumPy, ",
    "m.pkl": "a pickle, .*; reading it would run code, so name the class",
    "m.joblib": "a pickle, .*; reading it would run code, so name the class",
    "mlflow": "a model of MLflow, .*; its flavours are pytorch, whose data is a pickle: name the",
    "spacy": "a pipeline of spaCy, ",
    "yolo": "a configuration of ultralytics, .*`yolo export model=.*mynet.yaml format=onnx`",
    "params": "sizes of a Llama as Meta publishes it, .*convert_llama_weights_to_hf",
    "tokenizer_only": "a tokenizer without a model, .*; name the config.json of its model",
    "lit": "a run of Lightning, .*; name the class that made it, .*, or its .ckpt",
    "diffusers": r"StableDiffusionPipeline; name one of its networks: .*unet "
    r"\(UNet2DConditionModel\), .*text_encoder \(CLIPTextModel\)$",
    "mm": "`nar search FOLDER` asks about each module that its Python files define",
    "mm/my_det.py": "of OpenMMLab, of the class FasterRCNN, .* such as mmdet:.*faster",
    "alone": "2 weights, too few to say whose they are",
    "sharded": "2 weights, too few to say whose they are",
    "sd.pth": "1 weight, too few to say whose they are",
    "epoch1.ckpt": "1 weight, too few to say whose they are",
    "diffusers_single": "an adapter alone, LoRA r=4 on down",
    "whole_module.pt": "a pickle with the class torch.nn.modules.linear.Linear, which would run",
    "m.gguf": "wanted a GGUF file of version 2 or 3, came version 0",
    "gguf_folder": "the file ends",
    "hf_newer": r"knows no model_type zeta9; version 9.1.0 wrote it: pip install -U "
    "'transformers>=9.1.0'",
    "hf_newer_class": "has no class LlamaForFooBar; near: LlamaForCausalLM",
    "hf_remote": "knows no model_type deepthing; its code is not run; if you trust it: "
    "`nar search .*modeling_deepthing.py:DeepThingForCausalLM`",
}
# Case -> parameters of the model that is captured, and the notes about what stands beside it.
GPTQ = r"Its weights are quantised \(gptq, 4 bits\), which is no part of the design."
CAPTURED = {
    "hf_gptq": (95_040, GPTQ),
    "hf_bnb": (95_040, r"quantised \(bitsandbytes, 4 bits\)"),
    "mlx": (88_640, r"quantised \(MLX, 4 bits\)"),
    "hf_flash": (95_040, "^$"),
    "hf_remote_known": (95_040, "own code is not run: this is LlamaForCausalLM of transformers. .*"
        "modeling_x.py:XForCausalLM"),
    "onnx_folder": (110_528, "^$"),
    "st": (110_528, "After it sentence-transformers puts Pooling."),
    "st_sub": (110_528, "^$"),
    "diffusers/text_encoder": (22_816, "^$"),
    "diffusers/unet": (792_964, "^$"),
    "timm_hub": (5_526_346, "^$"),
    "timm_hub_args": (11_330_122, "^$"),
    "open_clip": (229_377, "^$"),
    "peft": (109_482_240, "It is google-bert/bert-base-uncased with LoRA r=8 on query, value; "),
}  # fmt: skip


@pytest.fixture(scope="module")
def held(tmp_path_factory):
    directory = tmp_path_factory.mktemp("held")
    write_held(directory)
    return directory


@pytest.mark.parametrize("case", SAID)
def test_what_is_not_read_is_told_what_it_is_and_the_way_out(held, case):
    with pytest.raises(NarError, match=SAID[case]):
        known_or_captured(shipped_corpus(), str(held / case))


@pytest.mark.slow
@pytest.mark.parametrize("case", CAPTURED)
def test_what_is_read_has_its_parameters_and_its_notes(held, case):
    asked = known_or_captured(shipped_corpus(), str(held / case))
    parameters, note = CAPTURED[case]
    assert asked.architecture.parameters == parameters
    assert re.search(note, " ".join(asked.assumed.notes if asked.assumed else ()))


def test_each_ending_stands_in_one_row():
    ends = [end for kind in FILES for end in kind.ends.split()]
    assert len(ends) == len(set(ends)) > 100
    assert all(end == end.lower() for end in ends)


@pytest.mark.parametrize("kind", FILES, ids=lambda kind: kind.what)
def test_each_row_says_a_way_out_or_is_read(kind):
    assert kind.reading != "none" or kind.way_out
    assert "{" not in file_text(Path("a.b"), kind.what, kind.way_out)


def test_first_bytes_go_before_the_name(tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(b"GGUF\3\0\0\0")
    assert kind_of_file(path).what == "a GGUF file"
    path.write_bytes(bytes(4) + b"TFL3")
    assert kind_of_file(path).what == "a TensorFlow Lite model"
    path.write_bytes(b"\xef\xbb\xbf\n <!DOCTYPE HTML>")
    assert "a page of HTML" in kind_of_file(path).what


def test_xml_is_a_model_where_it_holds_a_net(tmp_path):
    path = tmp_path / "model.xml"
    path.write_text('<?xml version="1.0"?><net name="it" version="11"></net>')
    assert kind_of_file(path).what == "an OpenVINO model"
    path.write_text('<?xml version="1.0"?><network/>')
    assert kind_of_file(path) is None


@pytest.mark.parametrize("name", ["openvino_model.xml", "openvino/openvino_model.xml", "a.xml"])
def test_a_folder_of_openvino_means_its_net(tmp_path, name):
    (tmp_path / "Annotation.xml").write_text("<annotation/>")
    assert named_in_folder(tmp_path) is None
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text('<net name="it"/>')
    assert named_in_folder(tmp_path).name == str(path)


def test_an_empty_file_is_told_from_one_that_is_not_there(tmp_path):
    path = tmp_path / "model.onnx"
    assert kind_of_file(path).what == "an ONNX model"
    path.touch()
    assert kind_of_file(path).what == "an empty file"


def test_a_repository_with_a_model_in_it_is_asked_about_its_code(tmp_path):
    (tmp_path / "weights.onnx").touch()
    assert named_in_folder(tmp_path).name == str(tmp_path / "weights.onnx")
    (tmp_path / "net.py").touch()
    assert code_of(str(tmp_path)) == tmp_path


def test_a_configuration_of_something_else_means_no_model(tmp_path):
    (tmp_path / "config.json").write_text('{"learning_rate": 0.1}')
    assert named_in_folder(tmp_path) is None
    assert kind_of_json([]) is None


FLAVOURS = {
    "onnx": ("onnx:\n    data: model.onnx", "model.onnx"),
    "keras": ("keras:\n    data: data\n    keras_version: '3'", "data/model.keras"),
    "transformers": ("transformers:\n    model_binary: model", "model/config.json"),
}
# The file of each model as MLflow 3.17.2 wrote it, and what it wrote beside it.
WRITTEN = {
    "pytorch": ("data/model.pt2", """flavors:
  python_function:
    config:
      device: null
    data: data
    env:
      conda: conda.yaml
      virtualenv: python_env.yaml
    loader_module: mlflow.pytorch
    pickle_module_name: mlflow.pytorch.pickle_module
    python_version: 3.11.7
  pytorch:
    code: null
    model_data: data
    pytorch_version: 2.13.0+cpu
is_signature_from_type_hint: false
mlflow_version: 3.17.2
model_id: null
model_size_bytes: 12409
signature:
  inputs: '[{"type": "tensor", "tensor-spec": {"dtype": "float32", "shape": [-1, 4]}}]'
  outputs: '[{"type": "tensor", "tensor-spec": {"dtype": "float32", "shape": [-1,
    3]}}]'
  params: null
utc_time_created: '2026-12-01 00:31:58.045879'
"""),
    "onnx": ("model.onnx", """flavors:
  onnx:
    code: null
    data: model.onnx
    onnx_session_options: null
    onnx_version: 1.23.2
    providers:
    - CUDAExecutionProvider
    - CPUExecutionProvider
  python_function:
    data: model.onnx
    env:
      conda: conda.yaml
      virtualenv: python_env.yaml
    loader_module: mlflow.onnx
    python_version: 3.11.7
mlflow_version: 3.17.2
"""),
    "transformers": ("model/config.json", """flavors:
  python_function:
    env:
      conda: conda.yaml
      virtualenv: python_env.yaml
    loader_module: mlflow.transformers
    python_version: 3.11.7
  transformers:
    code: null
    components:
    - tokenizer
    instance_type: TextClassificationPipeline
    model_binary: model
    pipeline_model_type: BertForSequenceClassification
    source_model_name: ''
    task: text-classification
    tokenizer_type: BertTokenizer
    torch_dtype: torch.float32
    transformers_version: 5.23.0
mlflow_version: 3.17.2
"""),
}  # fmt: skip


@pytest.mark.parametrize("flavour", WRITTEN)
def test_what_mlflow_itself_wrote_is_read(tmp_path, flavour):
    data, text = WRITTEN[flavour]
    (tmp_path / "MLmodel").write_text(text)
    path = tmp_path / data
    path.parent.mkdir(exist_ok=True)
    path.write_text('{"model_type": "bert"}')
    for name in ("conda.yaml", "python_env.yaml", "requirements.txt", "input_example.json"):
        (tmp_path / name).write_text("{}")
    assert named_in_folder(tmp_path).name == str(path)


def test_a_program_in_a_model_of_mlflow_is_no_pickle(tmp_path):
    """MLflow gives both the name model.pth; what is in it says which it is."""
    (tmp_path / "MLmodel").write_text(WRITTEN["pytorch"][1])
    path = tmp_path / "data" / "model.pth"
    path.parent.mkdir()
    (path.parent / "pickle_module_info.txt").write_text("mlflow.pytorch.pickle_module")
    for member, is_program in (("model/code/it.py", True), ("model/byteorder", False)):
        with zipfile.ZipFile(path, "w") as archive:
            for name in (member, "model/data.pkl", *["model/constants.pkl"] * is_program):
                archive.writestr(name, "")
        if is_program:
            assert named_in_folder(tmp_path).name == str(path)
        else:
            with pytest.raises(NarError, match="whose data is a pickle"):
                named_in_folder(tmp_path)


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_a_model_of_mlflow_means_the_data_of_a_flavour_that_is_read(tmp_path, flavour):
    text, data = FLAVOURS[flavour]
    first = "flavors:\n  python_function:\n    data: data.pkl\n  "
    (tmp_path / "MLmodel").write_text(first + text)
    path = tmp_path / data
    path.parent.mkdir(exist_ok=True)
    path.write_text('{"model_type": "bert"}')
    assert named_in_folder(tmp_path).name == str(path)


@pytest.mark.parametrize(
    "data", ["../other.onnx", "/etc/other.onnx", ".", '"a\\0b"', "a" * 5000, "[a]"]
)
def test_data_of_mlflow_that_lie_elsewhere_are_not_read(tmp_path, data):
    (tmp_path / "other.onnx").touch()
    inner = tmp_path / "inner"
    inner.mkdir()
    (inner / "MLmodel").write_text(f"flavors:\n  onnx:\n    data: {data}\n")
    with pytest.raises(NarError, match="its flavours are onnx"):
        named_in_folder(inner)


def test_a_file_of_mlflow_that_grows_as_it_is_read_is_refused(tmp_path):
    lines = ["a: &a {x: 1}"]
    for one, other in zip("abcdefghijk", "bcdefghijkl", strict=True):
        lines.append(f"{other}: &{other}\n  <<: [{', '.join([f'*{one}'] * 9)}]")
    (tmp_path / "MLmodel").write_text("\n".join([*lines, "flavors:\n  onnx:\n    data: a"]))
    with pytest.raises(NarError, match="wanted the flavors"):
        named_in_folder(tmp_path)


def test_so_many_formats_are_read_and_all_are_told():
    read = {kind.what for kind in FILES if kind.reading != "none"}
    assert len(read) == 12
    assert len(FILES) - len(read) == 54
    graphs = {kind.what for kind in FILES if kind.reading == "graph"}
    assert len(graphs) == 6  # ONNX, exported programs, TensorFlow Lite, OpenVINO, Keras twice


def test_a_path_that_leaves_its_folder_is_not_followed(tmp_path):
    inner = tmp_path / "inner"
    inner.mkdir()
    (tmp_path / "config.json").write_text('{"model_type": "bert"}')
    module = '[{"idx": 0, "path": "..", "type": "sentence_transformers.models.Transformer"}]'
    (inner / "modules.json").write_text(module)
    with pytest.raises(NarError, match="wanted a Transformer among its modules"):
        named_in_folder(inner)


def test_a_misspelt_file_is_told_with_those_beside_it(tmp_path):
    (tmp_path / "resnet18.onnx").touch()
    wrong = str(tmp_path / "resnet81.onnx")
    with pytest.raises(UnknownArchitectureError, match=r"did you mean .*resnet18.onnx\?"):
        known_or_captured(None, wrong)


def test_a_misspelt_ending_is_told_with_the_files_beside_it(tmp_path):
    (tmp_path / "mine.safetensors").touch()
    with pytest.raises(UnknownArchitectureError, match=r"did you mean .*mine.safetensors\?"):
        known_or_captured(None, str(tmp_path / "mine.safetensor"))


def test_a_file_that_is_not_there_is_said_to_be_missing_whatever_its_kind(tmp_path):
    with pytest.raises(UnknownArchitectureError, match="there is no file"):
        known_or_captured(None, str(tmp_path / "gone.tflite"))


def test_a_checkpoint_may_be_called_an_archive(tmp_path):
    path = tmp_path / "model_best.pth.tar"
    torch.save({"fc.weight": torch.zeros(2, 3)}, path)
    assert kind_of_file(path) is CHECKPOINT


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("m.PTL", "a TorchScript program, which would be run; `nar search m.PTL --run"),
        ("m.safetensors", "`nar search m.safetensors` in a shell reads a file of weights"),
        ("notes.xyz", "of no kind that NAR knows"),
    ],
)
def test_the_page_says_the_same(name, said):
    async def nothing():
        yield b""

    with pytest.raises(NarError, match=said):
        asyncio.run(Files(1).graph(name, nothing(), lambda: nullcontext(Event())))
