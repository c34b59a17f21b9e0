"""What asks under `edits` and `parts`: the frozen list, and the file that is made of it."""

from collections import defaultdict

import pytest
from typer.testing import CliRunner

from benchmark.commands import app
from benchmark.editing import attempts as attempts_module
from benchmark.editing.attempts import architectures_of, attempts, model_names, table
from benchmark.editing.kinds import chosen_changes
from benchmark.editing.selection import draw
from nar.corpus import Corpus, read_shard, shipped_corpus

CNN = "timm:test_resnet"


@pytest.fixture(scope="module")
def cards():
    return list(Corpus(shipped_corpus()).cards())


def test_the_frozen_list_is_of_enough_models_and_families(cards):
    known = {card.labels.name: card for card in cards}
    families = defaultdict(list)
    for name in model_names():
        families[known[name].labels.family].append(name)
    assert len(model_names()) == len(set(model_names())) >= 400
    assert len(families) >= 200
    assert max(map(len, families.values())) <= 3


def test_what_is_drawn_hangs_on_no_order_of_the_corpus(cards):
    assert draw(cards[::-1]) == draw(cards)


def test_another_model_of_a_family_moves_no_other_family(cards):
    drawn = set(draw(cards))
    less = [card for card in cards if card.labels.family != "resnet"]
    kept = {card.labels.name for card in less}
    assert len((drawn & kept) - set(draw(less))) == 0


def test_the_file_holds_models_and_what_became_of_them(tmp_path, monkeypatch):
    monkeypatch.setattr(attempts_module, "package_lines", lambda *_, **__: [CNN])
    target = tmp_path / "changed.parquet"
    kinds = ["--kind", "activation", "--kind", "without_head", "--kind", "gated_mlp"]
    result = CliRunner().invoke(app, ["edited", str(target), *kinds])
    assert result.exit_code == 0, result.output
    assert "| edits | gated_mlp | 0 | 0 | 1 | 0 |" in result.output
    assert "2 changed models of 1" in result.output
    sources = {item.labels.name: item.labels.source for item in read_shard(target)}
    assert sources == {CNN: "timm", f"{CNN}@activation": "edits", f"{CNN}@without_head": "parts"}


def test_an_original_that_cannot_be_captured_fails_all_its_changes(tmp_path):
    file = tmp_path / "models.py"
    file.write_text("def broken():\n    raise ValueError('no weights')\n")
    outcomes = list(attempts([f"{file}:broken"], chosen_changes(["norm"])))
    assert [each.verdict for each in outcomes] == ["failed"]
    assert architectures_of(outcomes) == []
    assert list(table(outcomes))[-1] == "| edits | norm | 0 | 0 | 0 | 1 |"
