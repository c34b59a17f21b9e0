"""OpenVINO: files of its own converter, and files that no converter writes."""

import shutil
from pathlib import Path

import onnx
import pytest
from faulty_onnx import MODELS
from formats.twins import TWINS, of_torch
from onnx import helper, parser

from nar.answers.naming import known_or_captured
from nar.base.errors import CaptureError
from nar.capture.onnx.file import capture_onnx
from nar.capture.onnx.writing import ModelWriter
from nar.capture.openvino import capture_openvino
from nar.capture.openvino_file import Net, read_net
from nar.capture.tflite import capture_tflite
from nar.graphs.ops import op_name

HERE = Path(__file__).parent
# OpenVINO adds up the two biases of each gate of torch's LSTM.
WITHOUT = {"recurrent": 4 * 10}


def operators(capture):
    return [op_name(int(each)) for each in capture.graph.op_ids]


@pytest.mark.parametrize("name", TWINS)
def test_a_file_has_the_graph_of_its_design(name):
    capture, torch_graph = capture_openvino(HERE / f"{name}.xml", name=name), of_torch(name)
    assert capture.network.topology == torch_graph.network.topology
    assert capture.graph.parameters == torch_graph.graph.parameters - WITHOUT.get(name, 0)
    assert capture.unread is None


@pytest.mark.parametrize("name", TWINS)
def test_its_numbers_need_not_be_there(name, tmp_path):
    path = tmp_path / f"{name}.xml"
    shutil.copy(HERE / path.name, path)
    with_numbers = capture_openvino(HERE / f"{name}.xml", name=name)
    assert capture_openvino(path, name=name).network.exact == with_numbers.network.exact


@pytest.mark.parametrize("name", TWINS)
def test_tflite_gives_the_same(name):
    one = capture_openvino(HERE / f"{name}.xml", name=name)
    other = capture_tflite(HERE / f"{name}.tflite", name=name)
    assert one.network.topology == other.network.topology
    assert one.graph.parameters == other.graph.parameters


def test_a_file_is_asked_by_its_path():
    asked = known_or_captured(None, str(HERE / "separable.xml"))
    assert asked.architecture.parameters == 1570


def ports(tag, shapes, first=0):
    """The ports of a layer: ``{"FP32": shapes}`` or a list of shapes."""
    inner = "".join(
        f'<port id="{first + at}" precision="FP32">'
        + "".join(f"<dim>{extent}</dim>" for extent in shape)
        + "</port>"
        for at, shape in enumerate(shapes)
    )
    return f"<{tag}>{inner}</{tag}>" if shapes else ""


def layer(number, kind, inputs=(), output=(1, 4), **stated):
    data = " ".join(f'{name}="{value}"' for name, value in stated.items())
    outputs = [] if output is None else [output]
    return (
        f'<layer id="{number}" name="n{number}" type="{kind}" version="opset1"><data {data}/>'
        f"{ports('input', inputs)}{ports('output', outputs, len(inputs))}</layer>"
    )


def edge(source, port, target, place=0):
    return f'<edge from-layer="{source}" from-port="{port}" to-layer="{target}" to-port="{place}"/>'


def written(tmp_path, layers, edges, before=""):
    path = tmp_path / "model.xml"
    path.write_text(
        f'<?xml version="1.0"?>{before}<net name="it" version="11"><layers>{"".join(layers)}'
        f"</layers><edges>{''.join(edges)}</edges></net>"
    )
    return path


ROW = (1, 4)
INPUT = layer(0, "Parameter", shape="1,4", element_type="f32")
RESULT = layer(9, "Result", [ROW], None)


def refused(path, match):
    with pytest.raises(CaptureError, match=match):
        capture_openvino(path, name="it")


def test_unknown_operators_are_counted(tmp_path):
    layers = [INPUT, layer(1, "ReLU", [ROW]), layer(2, "MyThing", [ROW]), RESULT]
    path = written(tmp_path, layers, [edge(0, 0, 1), edge(1, 1, 2), edge(2, 1, 9)])
    capture = capture_openvino(path, name="it")
    assert dict(capture.unknown_operators) == {"openvino::MyThing": 1}


def test_compressed_weights_are_their_floats(tmp_path):
    wide = (4, 8)
    layers = [
        INPUT,
        layer(1, "Const", output=wide, element_type="u8", shape="4,8", offset=0, size=32),
        layer(2, "Convert", [wide], wide, destination_type="f16"),
        layer(3, "Const", output=(1, 8), element_type="f16", shape="1,8", offset=32, size=16),
        layer(4, "Subtract", [wide, (1, 8)], wide),
        layer(5, "Multiply", [wide, (1, 8)], wide),
        layer(6, "MatMul", [ROW, wide], (1, 8), transpose_a="false", transpose_b="false"),
        layer(7, "FakeQuantize", [(1, 8)], (1, 8)),
        RESULT,
    ]
    edges = [
        edge(1, 0, 2), edge(2, 1, 4), edge(3, 0, 4, 1), edge(4, 2, 5), edge(3, 0, 5, 1),
        edge(0, 0, 6), edge(5, 2, 6, 1), edge(6, 2, 7), edge(7, 1, 9),
    ]  # fmt: skip
    capture = capture_openvino(written(tmp_path, layers, edges), name="it")
    assert operators(capture) == ["input", "linear"]
    assert capture.graph.parameters == 32


def const(number, kind, shape, size=0):
    text = ",".join(map(str, shape))
    return layer(number, "Const", output=shape, element_type=kind, shape=text, offset=0, size=size)


def captured(tmp_path, layers, edges):
    return capture_openvino(written(tmp_path, layers, edges), name="it")


def test_a_product_of_stored_numbers_and_data_is_a_product(tmp_path):
    for place in (0, 1):
        layers = [
            INPUT, const(1, "i8", ROW), layer(2, "Convert", [ROW]), layer(3, "Tanh", [ROW]),
            layer(4, "Multiply", [ROW, ROW]), RESULT,
        ]  # fmt: skip
        edges = [
            edge(1, 0, 2), edge(0, 0, 3), edge(2, 1, 4, place), edge(3, 1, 4, 1 - place),
            edge(4, 2, 9),
        ]  # fmt: skip
        capture = captured(tmp_path, layers, edges)
        assert operators(capture) == ["input", "tanh", "mul"]
        assert capture.graph.parameters == 4


def linear_of_stored(tmp_path, place):
    """A linear layer of 4 by 4 whose weight is scaled, by either operand."""
    square = (4, 4)
    layers = [
        INPUT, const(1, "i8", square, 16), layer(2, "Convert", [square], square),
        const(3, "f32", ROW, 16), layer(4, "Multiply", [square, square], square),
        layer(5, "MatMul", [ROW, square]), RESULT,
    ]  # fmt: skip
    edges = [
        edge(1, 0, 2), edge(2, 1, 4, place), edge(3, 0, 4, 1 - place), edge(0, 0, 5),
        edge(4, 2, 5, 1), edge(5, 2, 9),
    ]  # fmt: skip
    return captured(tmp_path, layers, edges)


def test_a_scale_is_no_weight_whichever_operand_it_is(tmp_path):
    for place in (0, 1):
        assert linear_of_stored(tmp_path, place).graph.parameters == 16


def test_numbers_in_the_file_beside_change_no_weights(tmp_path):
    without = linear_of_stored(tmp_path, 0)
    (tmp_path / "model.bin").write_bytes(bytes(range(16)))
    with_numbers = linear_of_stored(tmp_path, 0)
    assert operators(with_numbers) == operators(without) == ["input", "linear"]
    assert with_numbers.graph.parameters == without.graph.parameters == 16


@pytest.mark.parametrize("kind", ["TensorIterator", "Loop", "If"])
def test_weights_of_bodies_are_counted(tmp_path, kind):
    inner = f"<layers>{const(0, 'f32', (8, 4))}{const(1, 'i64', (9,))}</layers>"
    deep = f'<layers><layer id="2" type="If"><then_body>{inner}</then_body></layer></layers>'
    looped = layer(1, kind, [ROW]).replace("</layer>", f"<body>{inner}{deep}</body></layer>")
    layers = [INPUT, looped, layer(2, "ReLU", [ROW]), RESULT]
    capture = captured(tmp_path, layers, [edge(0, 0, 1), edge(1, 1, 2), edge(2, 1, 9)])
    assert dict(capture.unknown_operators) == {f"openvino::{kind}": 1}
    assert capture.graph.parameters == 2 * 32


SCAN = """<ir_version: 8, opset_import: ["": 17]>
g (float[5, 8] x, float[8] first, float[8, 8] w) => (float[8] last, float[5, 8] y) {
  last, y = Scan(first, x) <num_scan_inputs = 1,
    body = b (float[8] h, float[8] part) => (float[8] n, float[8] o)
      { m = MatMul(h, w) s = Add(part, m) n = Tanh(s) o = Identity(n) }>
}"""


def scan():
    model = parser.parse_model(SCAN)
    weight = model.graph.input.pop()
    model.graph.initializer.append(helper.make_tensor(weight.name, 1, [8, 8], range(64)))
    return model


# Files that OpenVINO made of ONNX files, the graphs of both, their parameters, shapes of results.
FLOWS = {
    "scan": (scan(), ["input", "linear", "input", "slice", "add", "tanh"], 64, "8 5x8"),
    "loop": (MODELS["loop"], ["input", "linear", "tanh", "linear"], 80, "1x2"),
    "choice": (
        MODELS["if_middle"], ["input", "conv", "relu", "conv", "conv", "add"], 628, "1x4x16x16",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FLOWS)
def test_control_flow_is_read_as_that_of_the_standard(name, tmp_path):
    model, kinds, parameters, shapes = FLOWS[name]
    onnx.save(model, tmp_path / "model.onnx")
    other = capture_onnx(tmp_path / "model.onnx", name=name)
    capture = capture_openvino(HERE / f"{name}.xml", name=name)
    assert operators(capture) == kinds
    assert capture.network.exact == other.network.exact
    assert (capture.graph.parameters, capture.unread) == (parameters, None)
    assert " ".join(each.split()[-1] for each in capture.details.outputs) == shapes


def body(tag, ports, layers, edges, back=""):
    """The ports of a body, what its states are, and its net."""
    maps = "".join(
        f'<{side} external_port_id="{port}" internal_layer_id="{number}" {more}/>'
        for side, port, number, more in ports
    )
    edges = "".join(edges)
    return (
        f"<{tag.replace('body', 'port_map')}>{maps}</{tag.replace('body', 'port_map')}>"
        f"<back_edges>{back}</back_edges>"
        f"<{tag}><layers>{''.join(layers)}</layers><edges>{edges}</edges></{tag}>"
    )


def with_bodies(outer, *bodies):
    return outer.replace("</layer>", "".join(bodies) + "</layer>")


# ``tanh(state + part @ weight)``: the input of the body is 0, its state 1, its result 6.
CELL = [
    layer(0, "Parameter", output=(1, 4)), layer(1, "Parameter", output=(1, 8)),
    const(2, "f32", (4, 8)), layer(3, "MatMul", [(1, 4), (4, 8)], (1, 8)),
    layer(4, "Add", [(1, 8), (1, 8)], (1, 8)), layer(5, "Tanh", [(1, 8)], (1, 8)),
    layer(6, "Result", [(1, 8)], None),
]  # fmt: skip
INSIDE = [
    edge(0, 0, 3), edge(2, 0, 3, 1), edge(1, 0, 4), edge(3, 2, 4, 1), edge(4, 2, 5), edge(5, 1, 6),
]  # fmt: skip
LINKS = [
    ("input", 0, 0, 'axis="0" part_size="1" start="0" end="-1"'), ("input", 1, 1, ""),
    ("output", 2, 6, 'axis="0" part_size="1" start="0" end="-1"'),
]  # fmt: skip
STATE_OF = '<edge from-layer="6" to-layer="1"/>'


def looped(tmp_path, links=LINKS, kind="TensorIterator", cell=CELL):
    """Five steps over the rows of an input; what the state begins with is no weight."""
    long, wide = (5, 4), (5, 8)
    cells = body("body", links, cell, INSIDE, STATE_OF)
    layers = [
        layer(0, "Parameter", output=long, shape="5,4", element_type="f32"),
        const(1, "f32", (1, 8)), with_bodies(layer(2, kind, [long, (1, 8)], wide), cells),
        layer(3, "ReLU", [wide], wide), layer(9, "Result", [wide], None),
    ]  # fmt: skip
    edges = [edge(0, 0, 2), edge(1, 0, 2, 1), edge(2, 2, 3), edge(3, 1, 9)]
    return captured(tmp_path, layers, edges)


@pytest.mark.parametrize("kind", ["TensorIterator", "Loop"])
def test_the_body_of_a_loop_is_there_once(tmp_path, kind):
    capture = looped(tmp_path, kind=kind)
    assert operators(capture) == ["input", "slice", "linear", "add", "tanh", "relu"]
    assert (capture.graph.parameters, capture.unread) == (32, None)
    assert capture.details.outputs[0].endswith("float 5x8")


def test_a_body_says_where_each_of_its_inputs_is_from(tmp_path):
    refused_of = [
        (LINKS[1:], "wanted a port for each input of a body, came none for layer 0 in layer 2"),
        ([*LINKS[:2], ("output", 7, 6, "")], "wanted a value for each result of layer 2"),
    ]
    for links, match in refused_of:
        with pytest.raises(CaptureError, match=match):
            looped(tmp_path, links)


def test_a_body_is_bounded_as_a_net_is(tmp_path, monkeypatch):
    monkeypatch.setattr("nar.capture.openvino_file.MOST_OPERATORS", 11)
    with pytest.raises(CaptureError, match="wanted at most 11 layers, came more"):
        looped(tmp_path)  # of 5 layers, and 7 in its body


@pytest.mark.parametrize(
    ("other", "kinds", "parameters"),
    [("Tanh", ["linear", "tanh"], 32), ("Sigmoid", ["linear", "tanh", "sigmoid", "where"], 32)],
)
def test_a_choice_inside_a_loop(tmp_path, other, kinds, parameters):
    """Two sides of one design are one of them; of two designs, both stand under one choice."""
    sides = [
        body(
            f"{name}_body",
            [("input", 1, 0, ""), ("output", 2, 2, "")],
            [
                layer(0, "Parameter", output=(1, 8)), layer(1, each, [(1, 8)], (1, 8)),
                layer(2, "Result", [(1, 8)], None),
            ],
            [edge(0, 0, 1), edge(1, 1, 2)],
        )
        for name, each in (("then", "Tanh"), ("else", other))
    ]  # fmt: skip
    cell = [
        layer(0, "Parameter", output=(1, 4)), layer(1, "Parameter", output=(1, 8)),
        const(2, "f32", (4, 8)), layer(3, "MatMul", [(1, 4), (4, 8)], (1, 8)),
        layer(4, "ReduceMax", [(1, 8)], (1, 8)),
        with_bodies(layer(5, "If", [(1, 8), (1, 8)], (1, 8)), *sides),
        layer(6, "Result", [(1, 8)], None),
    ]  # fmt: skip
    inside = [
        edge(0, 0, 3), edge(2, 0, 3, 1), edge(1, 0, 4), edge(4, 1, 5), edge(3, 2, 5, 1),
        edge(5, 2, 6),
    ]  # fmt: skip
    links = [LINKS[0], LINKS[1], LINKS[2]]
    cells = body("body", links, cell, inside, STATE_OF)
    layers = [
        layer(0, "Parameter", output=(5, 4), shape="5,4", element_type="f32"),
        const(1, "f32", (1, 8)),
        with_bodies(layer(2, "TensorIterator", [(5, 4), (1, 8)], (5, 8)), cells),
        layer(9, "Result", [(5, 8)], None),
    ]
    edges = [edge(0, 0, 2), edge(1, 0, 2, 1), edge(2, 2, 9)]
    capture = captured(tmp_path, layers, edges)
    assert [each for each in operators(capture) if each in kinds] == kinds
    assert capture.unread is None or not capture.unread.unknown


@pytest.mark.parametrize(("assigned", "parameters"), [(None, 4), (2, 4), (3, 0)])
def test_what_no_run_changes_is_a_weight(tmp_path, assigned, parameters):
    layers = [
        INPUT, const(1, "f32", ROW), layer(2, "ReadValue", [ROW], variable_id="v"),
        layer(3, "Multiply", [ROW, ROW]), RESULT,
    ]  # fmt: skip
    edges = [edge(1, 0, 2), edge(0, 0, 3), edge(2, 1, 3, 1), edge(3, 2, 9)]
    if assigned is not None:
        layers.append(layer(4, "Assign", [ROW], None, variable_id="v"))
        edges.append(edge(assigned, 1 if assigned == 2 else 2, 4))
    assert captured(tmp_path, layers, edges).graph.parameters == parameters


def test_weights_that_only_a_state_needs_are_said_to_be_lost(tmp_path):
    layers = [
        INPUT, layer(1, "Tanh", [ROW]), const(2, "f32", ROW), layer(3, "Multiply", [ROW, ROW]),
        layer(4, "Assign", [ROW], None, variable_id="v"), RESULT,
    ]  # fmt: skip
    edges = [edge(0, 0, 1), edge(1, 1, 9), edge(0, 0, 3), edge(2, 0, 3, 1), edge(3, 2, 4)]
    assert captured(tmp_path, layers, edges).lost == 4


def test_an_image_in_whole_numbers_is_an_input(tmp_path):
    image = (1, 3, 8, 8)
    layers = [
        layer(0, "Parameter", output=image, shape="1,3,8,8", element_type="u8"),
        layer(1, "Convert", [image], image), layer(2, "ReLU", [image], image),
        layer(9, "Result", [image], None),
    ]  # fmt: skip
    capture = captured(tmp_path, layers, [edge(0, 0, 1), edge(1, 1, 2), edge(2, 1, 9)])
    assert operators(capture) == ["input", "relu"]


def test_a_response_norm_has_the_size_that_the_file_states(tmp_path, monkeypatch):
    image = (1, 8, 4, 4)
    written_nodes = []
    node = ModelWriter.node

    def noted(self, operator, *operands, **stated):
        written_nodes.append((operator, stated))
        return node(self, operator, *operands, **stated)

    monkeypatch.setattr(ModelWriter, "node", noted)
    ends = [
        layer(0, "Parameter", output=image, shape="1,8,4,4", element_type="f32"),
        layer(9, "Result", [image], None),
    ]
    edges = [edge(0, 0, 1), edge(1, 1, 9)]
    captured(tmp_path, [*ends, layer(1, "LRN", [image], image, size=7)], edges)
    assert ("LRN", {"size": 7}) in written_nodes
    path = written(tmp_path, [*ends, layer(1, "LRN", [image], image)], edges)
    refused(path, "wanted LRN layers that state a size")


def test_text_between_elements_is_not_kept(tmp_path):
    path = written(
        tmp_path, [INPUT, layer(1, "ReLU", [ROW]), RESULT], [edge(0, 0, 1), edge(1, 1, 9)]
    )
    text = path.read_text()
    path.write_text(text.replace("<dim>", "\n" * 100 + "<dim>"))
    assert operators(capture_openvino(path, name="it")) == ["input", "relu"]
    path.write_text(text.replace("<dim>", "<dim>" + "\n" * 100))
    refused(path, "wanted extents of at most 64 characters")


def test_too_many_ports_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("nar.capture.openvino_file._MOST_PORTS", 100)
    refused(written(tmp_path, [layer(1, "Concat", [ROW] * 100)], []), "at most 100 ports")


def test_a_layer_is_visited_once_however_many_ports_it_has(tmp_path, monkeypatch):
    """A cut into many parts, all of which one layer reads."""
    count = 300
    parts = "".join(f'<port id="{at}" precision="FP32"/>' for at in range(1, count + 1))
    cut = (
        f'<layer id="1" type="MyCut"><input><port id="0"/></input><output>{parts}</output></layer>'
    )
    layers = [INPUT, cut, layer(2, "MyThing", [ROW] * count), RESULT]
    edges = [edge(0, 0, 1), *(edge(1, at + 1, 2, at) for at in range(count)), edge(2, count, 9)]
    net = read_net(written(tmp_path, layers, edges))
    visited = []
    read = Net._read
    monkeypatch.setattr(
        Net, "_read", lambda self, each: visited.append(each.number) or read(self, each)
    )
    assert net.needed() == {"0", "1", "2", "9"}
    assert len(visited) <= 3 * len(net.layers)


def test_layers_stand_in_any_order(tmp_path):
    layers = [RESULT, layer(1, "Tanh", [ROW]), INPUT]
    path = written(tmp_path, layers, [edge(1, 1, 9), edge(0, 0, 1)])
    assert operators(capture_openvino(path, name="it")) == ["input", "tanh"]


def test_entities_are_refused(tmp_path):
    lines = "".join(f'<!ENTITY a{at} "&a{at - 1};&a{at - 1};">' for at in range(1, 40))
    bomb = f'<!DOCTYPE net [<!ENTITY a0 "x">{lines}]>'
    refused(written(tmp_path, [INPUT], [], bomb), "without a document type and entities")
    outside = '<!DOCTYPE net SYSTEM "file:///etc/hostname">'
    refused(written(tmp_path, [INPUT], [], outside), "without a document type and entities")


def test_circles_are_refused(tmp_path):
    layers = [INPUT, layer(1, "Add", [ROW, ROW]), layer(2, "ReLU", [ROW]), RESULT]
    edges = [edge(0, 0, 1), edge(2, 1, 1, 1), edge(1, 2, 2), edge(2, 1, 9)]
    refused(written(tmp_path, layers, edges), "without circles, came 3 that wait")


def test_too_many_layers_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("nar.capture.openvino_file.MOST_OPERATORS", 1_000)
    layers = [layer(at, "ReLU", [ROW]) for at in range(1_001)]
    refused(written(tmp_path, layers, []), "wanted at most 1,000 layers, came more")


@pytest.mark.parametrize(
    ("layers", "edges", "match"),
    [
        ([INPUT, RESULT], [edge(7, 0, 9)], "wanted edges between layers, came one from 7 to 9"),
        ([INPUT, RESULT], [edge(0, 5, 9)], "wanted edges between layers, came one from 0 to 9"),
        ([INPUT, RESULT], [], "wanted a source for each port, came none for layer 9"),
        ([INPUT, INPUT], [], "wanted a number for each layer, came 0 twice"),
        ([INPUT, RESULT], [edge(0, 0, 9)] * 2, "wanted one source for each port"),
        ([layer(0, "Parameter", output=(1 << 30, 1 << 30))], [], "wanted at most 16 axes"),
        ([layer(0, "Parameter", output=(1,) * 17)], [], "wanted at most 16 axes"),
        ([], [], "wanted a net with layers, came none"),
        (["<a>" * 70 + "</a>" * 70], [], "wanted at most 64 elements in each other"),
        ([INPUT, RESULT], [edge(0, 0, 9)], "wanted a model with operators, came none"),
    ],
)
def test_what_does_not_fit_is_refused(tmp_path, layers, edges, match):
    refused(written(tmp_path, layers, edges), match)


def test_other_files_are_refused(tmp_path):
    path = tmp_path / "model.xml"
    path.write_text("<annotation><size/></annotation>")
    refused(path, "wanted a net of OpenVINO, came an XML file with annotation")
    path.write_bytes((HERE / "sequence.xml").read_bytes()[:2000])
    refused(path, "wanted an XML file of OpenVINO, came ")
