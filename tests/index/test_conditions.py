"""A new condition is one row: every index, the wire and the command line derive from it."""

from dataclasses import dataclass, field, replace

import numpy as np
import pytest
import typer
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, struct_pb2
from oracle import DIM, row
from typer.testing import CliRunner

from nar.base.errors import InvalidQueryError
from nar.cli.options import filtering
from nar.index.filters import GROUPS, Filter, Range, Texts, conditions_of, on
from nar.v1 import retrieval_pb2 as wire
from nar.wire.queries import decode_filter, decode_kind, filter_fields

EAST = np.eye(1, DIM, dtype=np.float32)


@dataclass(frozen=True, slots=True)
class Toy(Filter):
    """Two conditions more, on columns that every index has."""

    ids: Texts = field(default=(), metadata=on("id", "id"))
    depths: Range = field(default=Range(), metadata=on("nodes", "toy depth", flag="depth"))


@dataclass(frozen=True, slots=True)
class Stray(Filter):
    """A condition on a column that no index has."""

    moods: Texts = field(default=(), metadata=on("mood", "mood"))


ROWS = [row("a", 1, nodes=1), row("b", 1, 0.1, nodes=5), row("c", 1, 0.2, nodes=9)]


@pytest.mark.parametrize(
    ("wanted", "names"),
    [
        (Toy(ids=(ROWS[1].id,)), ["b"]),
        (Toy(depths=Range(2, 8)), ["b"]),
        (Toy(depths=Range(minimum=2)), ["b", "c"]),
        (Toy(ids=(ROWS[0].id, ROWS[2].id), nodes=Range(minimum=2)), ["c"]),
        (Toy(names=("a",)), ["a"]),
        (Toy(none_of=(Toy(ids=(ROWS[1].id,)), Toy(depths=Range(minimum=9)))), ["a"]),
        (Toy(), ["a", "b", "c"]),
    ],
)
def test_every_index_obeys_it(backend, wanted, names):
    [hits] = backend.fill(ROWS).search(EAST, 9, wanted)
    assert [hit.name for hit in hits] == names


def test_its_values_are_checked():
    with pytest.raises(InvalidQueryError, match="depths: minimum 3 is above maximum 2"):
        Toy(depths=Range(3, 2))
    with pytest.raises(InvalidQueryError, match="ids: wanted a tuple of texts"):
        Toy(ids="abc")


def test_a_column_that_no_index_has_is_refused(backend):
    index = backend.fill(ROWS)
    with pytest.raises(InvalidQueryError, match="moods: wanted one of the columns id, name"):
        index.search(EAST, 1, Stray(moods=("calm",)))
    with pytest.raises(InvalidQueryError) as caught:
        index.search(EAST, 1, Filter(any_of=(Filter(), Stray(moods=("calm",)))))
    assert caught.value.field == "any_of[1].moods"


def test_a_field_that_is_no_row_is_refused():
    @dataclass(frozen=True, slots=True)
    class Bare(Filter):
        colours: tuple[str, ...] = ()

    with pytest.raises(TypeError, match=r"Bare\.colours: wanted a row"):
        Bare()


def toy_message():
    """The class of a message with the fields of `wire.Filter`, and those of the toy."""
    file = descriptor_pb2.FileDescriptorProto()
    wire.DESCRIPTOR.CopyToProto(file)
    file.name, file.package = "toy.proto", "toy"
    del file.dependency[:], file.service[:]
    file.dependency.append(struct_pb2.DESCRIPTOR.name)
    names = {"Range", "Filter", "LabelCondition"}
    kept = [message for message in file.message_type if message.name in names]
    for message in kept:
        for each in message.field:
            if each.type_name:
                each.type_name = each.type_name.replace(".nar.v1.", ".toy.")
    [filter_] = [message for message in kept if message.name == "Filter"]
    next_number = len(filter_.field) + 1
    ids = filter_.field.add(name="ids", number=next_number)
    ids.type, ids.label = ids.TYPE_STRING, ids.LABEL_REPEATED
    depths = filter_.field.add(name="depths", number=next_number + 1, type_name=".toy.Range")
    depths.type, depths.label = depths.TYPE_MESSAGE, depths.LABEL_OPTIONAL
    del file.message_type[:]
    file.message_type.extend(kept)
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(struct_pb2.DESCRIPTOR.serialized_pb)
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("toy.Filter"))


TOYS = [
    Toy(),
    Toy(names=("n",), ids=("a", "b"), depths=Range(0, 3), flops=Range(maximum=7)),
    Toy(depths=Range(minimum=0)),
    Toy(none_of=(Toy(ids=("a",), any_of=(Toy(depths=Range(1)),)),)),
]


@pytest.mark.parametrize("wanted", TOYS)
def test_the_wire_carries_it_both_ways(wanted):
    sent = toy_message()(**filter_fields(wanted)).SerializeToString()
    received = toy_message().FromString(sent)
    assert decode_kind(received, Toy) == wanted


def test_a_condition_that_the_receiver_does_not_know_is_refused():
    sent = toy_message()(ids=["a"])
    with pytest.raises(InvalidQueryError, match="came also ids; leave it out"):
        decode_kind(sent, Filter)
    older = wire.Filter.FromString(sent.SerializeToString())
    number = sent.DESCRIPTOR.fields_by_name["ids"].number
    with pytest.raises(InvalidQueryError, match=f"came also field {number}; leave it out"):
        decode_filter(older)


def test_a_condition_that_the_message_lacks_is_refused():
    with pytest.raises(ValueError, match="ids"):
        wire.Filter(**filter_fields(Toy(ids=("a",))))


@pytest.mark.parametrize("condition", conditions_of(Filter), ids=lambda each: each.field)
def test_the_message_has_a_field_for_every_row(condition):
    sent = wire.Filter.DESCRIPTOR.fields_by_name[condition.field]
    if condition.is_range:
        assert sent.message_type is wire.Range.DESCRIPTOR
    else:
        assert (sent.is_repeated, sent.type) == (True, sent.TYPE_STRING)


def test_every_field_of_the_message_is_a_row_or_a_group_or_about_labels():
    rows = [condition.field for condition in conditions_of(Filter)]
    assert list(wire.Filter.DESCRIPTOR.fields_by_name) == [*rows, *GROUPS, "labels", "where"]


def asked(kind, *options):
    """The filter that a command gets from options."""
    app, seen = typer.Typer(), []

    def search(name: str, *, wanted: Filter) -> None:
        seen.append(wanted)

    app.command()(filtering(search, kind=kind))
    done = CliRunner().invoke(app, ["x", *options])
    assert done.exit_code == 0, done.output
    return seen[0]


def test_the_command_line_asks_for_it():
    options = ["--id", "a", "--id", "b", "--min-depth", "2", "--family", "resnet"]
    assert asked(Toy, *options) == Toy(
        ids=("a", "b"), depths=Range(minimum=2), families=("resnet",)
    )
    assert asked(Filter) == Filter()


@pytest.mark.parametrize("condition", conditions_of(Filter), ids=lambda each: each.field)
def test_every_row_has_its_options(condition):
    if condition.is_range:
        options, value = ["--min", "2", "--max", "4"], Range(2, 4)
    else:
        value = condition.words[:2] or ("b", "a")
        options = ["-", value[0], "-", value[1]]
    named = [
        f"{option}-{condition.flag}" if option.startswith("-") else option for option in options
    ]
    assert asked(Filter, *named) == replace(Filter(), **{condition.field: value})


TEXTS = [condition for condition in conditions_of(Filter) if not condition.is_range]


@pytest.mark.parametrize("condition", TEXTS, ids=lambda each: each.field)
def test_every_row_of_texts_has_its_opposite(condition):
    values = condition.words[:2] or ("a", "b")
    unwanted = Filter(**{condition.field: values})
    option = f"--not-{condition.flag}"
    assert asked(Filter, option, values[0], option, values[1]) == Filter(none_of=(unwanted,))
