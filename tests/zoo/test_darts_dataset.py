"""The NAS data set: always the same, and each of its 150,000 distances is what it claims to be."""

from collections import Counter

import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from benchmark.commands import app
from nar.base.errors import CorpusError, InvalidInputError
from nar.zoo.sources.darts.dataset import (
    DISTANCES,
    MEMBERS,
    generate,
    members_at,
    read,
    write,
)
from nar.zoo.sources.darts.genotypes import NODES, parse_genotype
from nar.zoo.sources.darts.sampling import (
    CENTRE_DISTANCE,
    CLASSES,
    distances_from,
    edit_distance,
    node_texts,
    sample_classes,
)


@pytest.fixture(scope="module")
def shipped():
    return read()


@pytest.fixture(scope="module")
def rows(shipped):
    return shipped.to_pylist()


@pytest.mark.slow
def test_it_has_five_distances_of_30_000_members(shipped):
    assert shipped.num_rows == len(DISTANCES) * MEMBERS
    assert Counter(shipped["distance"].to_pylist()) == dict.fromkeys(DISTANCES, MEMBERS)


@pytest.mark.parametrize("distance", DISTANCES)
def test_a_set_is_balanced_and_without_repeats(shipped, distance):
    part = shipped.filter(pc.equal(shipped["distance"], distance))
    counts = Counter(part["label"].to_pylist())
    assert counts == dict.fromkeys(range(CLASSES), MEMBERS // CLASSES)
    assert pc.count_distinct(part["genotype"]).as_py() == MEMBERS


def test_a_class_has_the_same_centre_at_every_distance(shipped):
    centres = set(zip(shipped["label"].to_pylist(), shipped["centre"].to_pylist(), strict=True))
    assert len(centres) == CLASSES
    genotypes = [parse_genotype(text) for _, text in centres]
    distances = [edit_distance(one, other) for one in genotypes for other in genotypes]
    assert min(distance for distance in distances if distance) >= CENTRE_DISTANCE


@pytest.mark.slow
def test_every_member_lies_as_far_from_its_centre_as_it_says(rows):
    """All 150,000, by tables; the next test holds the tables against the records."""
    code_of = [{text: code for code, text in enumerate(node_texts(n))} for n in range(NODES)]

    def codes(text):
        nodes = text.replace("/", ",").split(",")
        return [code_of[number % NODES][node] for number, node in enumerate(nodes)]

    centres = {text: codes(text) for text in {row["centre"] for row in rows}}
    wrong = [
        row
        for row in rows
        if row["distance"]
        != sum(
            distances_from(number % NODES, before)[after]
            for number, (before, after) in enumerate(
                zip(centres[row["centre"]], codes(row["genotype"]), strict=True)
            )
        )
    ]
    assert wrong == []


@pytest.mark.slow
@given(st.data())
@settings(deadline=None)
def test_the_distance_of_any_row_is_its_edit_distance(rows, data):
    row = rows[data.draw(st.integers(0, len(rows) - 1))]
    member, centre = parse_genotype(row["genotype"]), parse_genotype(row["centre"])
    assert str(member) == row["genotype"]
    assert edit_distance(member, centre) == row["distance"]


@pytest.mark.parametrize("distance", DISTANCES)
def test_it_begins_as_what_is_made_again(shipped, distance):
    again = generate(distances=[distance], members=500)
    part = shipped.filter(pc.equal(shipped["distance"], distance))
    assert part.slice(0, 500).equals(again)
    assert members_at(distance, count=40) == sample_classes(40, distance=distance)


def test_another_seed_gives_other_networks():
    one, other = (generate(seed, distances=[4], members=50) for seed in (0, 1))
    assert not set(one["genotype"].to_pylist()) & set(other["genotype"].to_pylist())


def test_what_is_written_reads_back_and_gives_the_same_bytes(tmp_path):
    table = generate(distances=[2, 8], members=30)
    write(table, tmp_path / "one.parquet")
    write(table, tmp_path / "other.parquet")
    assert read(tmp_path / "one.parquet").equals(table)
    assert read(tmp_path / "one.parquet", distance=8).num_rows == 30
    assert (tmp_path / "one.parquet").read_bytes() == (tmp_path / "other.parquet").read_bytes()


def test_a_distance_out_of_reach_is_refused():
    with pytest.raises(InvalidInputError, match="wanted 1 to 16"):
        generate(distances=[17], members=10)


def test_a_missing_or_damaged_file_is_named(tmp_path):
    path = tmp_path / "set.parquet"
    with pytest.raises(CorpusError, match=r"set\.parquet cannot be read"):
        read(path)
    write(generate(distances=[2], members=10), path)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(CorpusError, match="python -m benchmark darts"):
        read(path)


def test_a_table_of_another_kind_is_refused(tmp_path):
    path = tmp_path / "set.parquet"
    write(generate(distances=[2], members=10).replace_schema_metadata({}), path)
    with pytest.raises(CorpusError, match="wanted schema 1, came none"):
        read(path)


def test_the_command_writes_the_data_set(tmp_path):
    target = str(tmp_path / "set.parquet")
    answer = CliRunner().invoke(app, ["darts", target, "--members", "20"])
    assert answer.exit_code == 0, answer.output
    assert "set.parquet" in answer.output.replace("\n", "")
    assert read(tmp_path / "set.parquet").equals(generate(members=20))
