"""A corpus by a path, by the URI of a local directory, and in an object store: the same one."""

import pickle
from pathlib import Path

import pytest
from corpora import corpus
from s3_server import SECRET, upload
from typer.testing import CliRunner

from nar.base.errors import CorpusError, InvalidInputError
from nar.cli.app import app
from nar.corpus import Corpus, located, read_corpus
from nar.corpus.location import RemotePath
from nar.corpus.summary import summarise


@pytest.fixture(scope="module")
def local(tmp_path_factory):
    return corpus(tmp_path_factory.mktemp("held") / "corpus")


@pytest.fixture(scope="module", params=["file", "s3"])
def uri(request, local):
    if request.param == "file":
        return local.as_uri()
    stored = request.getfixturevalue("s3_uri").format("some/corpus")
    upload(local, stored)
    return stored


@pytest.mark.slow
def test_it_reads_as_the_directory_does(uri, local):
    there = located(uri)
    assert isinstance(there, RemotePath)
    assert read_corpus(there) == read_corpus(local)
    assert list(Corpus(there).cards()) == list(Corpus(local).cards())
    assert Corpus(there).find("hf:bert").card == Corpus(local).find("hf:bert").card
    assert summarise(there) == summarise(local)
    assert read_corpus(pickle.loads(pickle.dumps(there))) == read_corpus(local)


def test_commands_take_it_and_show_no_secret(uri, local):
    ways = [
        CliRunner().invoke(app, ["corpus", "list", "--corpus", where, "--json"])
        for where in (uri, str(local))
    ]
    assert ways[0].stdout == ways[1].stdout
    assert "hf:bert" in ways[0].stdout
    assert SECRET not in ways[0].output


def test_what_is_missing_or_damaged_is_named_without_a_secret(s3_uri, local, tmp_path):
    with pytest.raises(CorpusError, match=r"no corpus at s3://zoo/nothing \(manifest") as missing:
        read_corpus(located(s3_uri.format("nothing")))
    broken = corpus(tmp_path / "corpus")
    path = broken / "shard-1.parquet"
    path.write_bytes(path.read_bytes()[:-1])
    stored = s3_uri.format("broken")
    upload(broken, stored)
    with pytest.raises(CorpusError, match=r"shard s3://zoo/broken/shard-1\.parquet is") as damaged:
        read_corpus(located(stored))
    told = [str(missing.value), str(damaged.value), repr(located(stored))]
    assert not [each for each in told if SECRET in each]


def test_a_store_that_does_not_answer_is_no_missing_corpus(s3_uri):
    closed = s3_uri.format("corpus").replace("scheme=http", "scheme=https")
    with pytest.raises(CorpusError, match=r"s3://zoo/corpus/manifest\.json cannot be read"):
        read_corpus(located(closed))


@pytest.mark.parametrize("uri", ["ftp://host/corpus", "s4://bucket", "s3://a b/c", "://"])
def test_what_pyarrow_does_not_open_is_refused(uri):
    with pytest.raises(InvalidInputError, match="wanted a path, or a URI that pyarrow opens"):
        located(uri)


def test_a_path_stays_one():
    assert located("work/corpus") == Path("work/corpus")
