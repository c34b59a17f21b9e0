"""Filters on the wire: there and back, and refused by their path before they cost anything."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nar.base.errors import InvalidQueryError
from nar.index.filters import EVERYTHING, GROUPS, MAX_DEPTH, MAX_FILTERS, MAX_VALUES, Filter, Range
from nar.v1 import retrieval_pb2 as wire
from nar.wire.queries import decode_filter, encode_filter

RESNETS = Filter(families=("resnet",))


def test_filter_there_and_back():
    wanted = Filter(
        names=("n",),
        sources=("timm", "darts"),
        libraries=("timm 1.0.31",),
        families=("it's",),
        blocks=("cnn",),
        tasks=("t",),
        topologies=("a",),
        exacts=("b",),
        inferences=("c",),
        parameters=Range(0, 10),
        flops=Range(maximum=5),
        nodes=Range(minimum=0),
    )
    assert decode_filter(encode_filter(wanted)) == wanted
    assert decode_filter(wire.Filter()) is EVERYTHING


BOUNDS = st.none() | st.integers(0, 4)
PLAIN = st.builds(
    Filter,
    families=st.lists(st.text(max_size=3), max_size=2).map(tuple),
    nodes=st.builds(Range, BOUNDS, BOUNDS.filter(lambda bound: bound is None or bound > 3)),
)


def grouped(filters):
    some = st.lists(filters, max_size=2).map(tuple)
    return st.builds(Filter, nodes=st.just(Range(2)), **dict.fromkeys(GROUPS, some))


@pytest.mark.slow
@given(st.recursive(PLAIN, grouped, max_leaves=6))
def test_any_filters_in_filters_there_and_back(wanted):
    sent = encode_filter(wanted).SerializeToString()
    assert decode_filter(wire.Filter.FromString(sent)) == wanted


def test_the_filter_message_has_the_fields_of_the_record():
    assert list(wire.Filter.DESCRIPTOR.fields_by_name) == [*Filter.__dataclass_fields__, "where"]


def chain(depth, group="none_of", innermost=None):
    """A filter in a filter in a filter: as many as said."""
    message = innermost or wire.Filter()
    for _ in range(depth - 1):
        message = wire.Filter(**{group: [message]})
    return message


def field_at_fault(message):
    with pytest.raises(InvalidQueryError) as caught:
        decode_filter(message)
    return caught.value.field


def test_a_fault_is_named_by_its_path():
    bad = wire.Filter(nodes=wire.Range(minimum=3, maximum=2))
    outer = wire.Filter(any_of=[wire.Filter(), wire.Filter(none_of=[bad])])
    assert field_at_fault(outer) == "any_of[1].none_of[0].nodes"
    bad = wire.Filter(families=["a", "b" * 5_000])
    assert field_at_fault(wire.Filter(all_of=[bad])) == "all_of[0].families[1]"


def test_a_condition_of_a_later_version_is_refused_wherever_it_stands():
    later = wire.Filter.FromString(b"\xaa\x06\x01x")  # field 101
    with pytest.raises(InvalidQueryError, match=r"any_of\[0\]: .*came also field 101") as caught:
        decode_filter(wire.Filter(any_of=[later]))
    assert caught.value.field == "any_of[0]"


@pytest.mark.parametrize("group", GROUPS)
def test_depth(group):
    assert decode_filter(chain(MAX_DEPTH, group))
    path = ".".join([f"{group}[0]"] * (MAX_DEPTH - 1)) + f".{group}"
    assert field_at_fault(chain(MAX_DEPTH + 1, group)) == path


def test_number_of_filters():
    fitting = [wire.Filter()] * (MAX_FILTERS - 1)
    assert len(decode_filter(wire.Filter(any_of=fitting)).any_of) == MAX_FILTERS - 1
    assert field_at_fault(wire.Filter(any_of=[*fitting, wire.Filter()])) == "any_of"
    branch = wire.Filter(all_of=[wire.Filter()] * 32)
    assert field_at_fault(wire.Filter(any_of=[branch] * 2)).startswith("any_of[")
    with pytest.raises(InvalidQueryError, match="any_of: wanted at most 64 filters"):
        Filter(any_of=(RESNETS,) * MAX_FILTERS)


def test_number_of_texts_in_all_filters_together():
    half = wire.Filter(names=["a"] * (MAX_VALUES // 2))
    assert decode_filter(wire.Filter(all_of=[half], names=half.names)).all_of
    more = wire.Filter(all_of=[half], any_of=[half], tasks=["b"])
    assert field_at_fault(more) in {"all_of[0].names", "any_of[0].names"}


@pytest.mark.slow
def test_a_million_filters_are_refused_without_a_look_at_them():
    million = wire.Filter(none_of=[wire.Filter()] * 1_000_000)
    assert field_at_fault(million) == "none_of"
    assert field_at_fault(chain(90)).count("none_of") == MAX_DEPTH


@pytest.mark.parametrize(
    ("fields", "field", "reason"),
    [
        ({"any_of": RESNETS}, "any_of", "wanted a tuple of filters, came Filter"),
        ({"none_of": (RESNETS, "vit")}, "none_of[1]", "wanted a Filter, came str"),
    ],
)
def test_what_is_no_group_of_filters_is_refused(fields, field, reason):
    with pytest.raises(InvalidQueryError, match=reason) as caught:
        Filter(**fields)
    assert caught.value.field == field
