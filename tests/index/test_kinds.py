"""Kinds of index: which store has which, what a search tells them, and a server of no test."""

import pytest

from nar.base.errors import ConfigError
from nar.index import milvus
from nar.index.dialect import check_kind, numbers, search_settings, vector_index

URI = "http://milvus:19530"


@pytest.mark.parametrize(
    ("kind", "version", "says"),
    [
        ("IVF_RABITQ", "2.5.4", "2.6 or newer, and http://milvus:19530 is Milvus 2.5.4"),
        ("HNSW_SQ", "2.3.5", "2.5 or newer"),
        ("DISKANN", "", "2.2 or newer, and http://milvus:19530 is Milvus Lite, which has FLAT"),
    ],
)
def test_a_kind_that_a_store_is_too_old_for_is_refused_with_those_that_it_has(kind, version, says):
    with pytest.raises(ConfigError, match=says) as told:
        check_kind(kind, version, URI)
    assert "HNSW, " in str(told.value)
    assert kind not in str(told.value).partition("which has")[2].split(", ")


@pytest.mark.parametrize(
    ("kind", "version"),
    [
        ("FLAT", ""),
        ("HNSW_SQ", ""),
        ("DISKANN", "2.3.5"),
        ("IVF_RABITQ", "v2.6.9"),
        ("IVF_RABITQ", "2.10.0"),
        # A server that does not say what it is refuses by itself what it has not.
        ("IVF_RABITQ", "unknown"),
    ],
)
def test_a_kind_that_a_store_has_is_taken(kind, version):
    check_kind(kind, version, URI)


@pytest.mark.parametrize(
    ("version", "wanted"), [("2.3.5", (2, 3)), ("v2.6.9-dev", (2, 6)), ("", ()), ("new", ())]
)
def test_versions_are_compared_as_numbers(version, wanted):
    assert numbers(version) == wanted


# By the documentation of Milvus 2.6; not run there, since no package index has it.
@pytest.mark.parametrize(
    ("kind", "wanted"),
    [
        ("HNSW_SQ", {"M": 16, "efConstruction": 200, "sq_type": "SQ8"}),
        ("IVF_RABITQ", {"nlist": 4096, "refine": True, "refine_type": "SQ8"}),
        ("DISKANN", {}),
    ],
)
def test_an_index_is_asked_for_in_the_words_of_the_documentation(kind, wanted):
    [index] = vector_index(kind)
    told = {name: value for name, value in index.to_dict().items() if "name" not in name}
    assert told == {"index_type": kind, "metric_type": "COSINE", **wanted}


def test_a_search_looks_at_no_fewer_rows_than_are_wanted():
    assert search_settings(10)["ef"] == search_settings(10)["search_list"] == 128
    assert search_settings(1_000)["ef"] == search_settings(1_000)["search_list"] == 1_000


def test_an_untested_version_is_warned_of_once(caplog):
    milvus.warn_of_untested.cache_clear()
    for version in ("2.6.9", "2.6.9", milvus.TESTED):
        milvus.warn_of_untested(version)
    assert caplog.messages == [
        f"Milvus 2.6.9 was never tested with NAR, Milvus {milvus.TESTED} was"
    ]
