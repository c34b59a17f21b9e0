"""The networks of Stanza: recurrent layers that read sentences, spelled and packed."""

import logging

import pytest

from nar.base.errors import UnknownArchitectureError
from nar.graphs.ops import op_name
from nar.own import capture_architecture, resolve
from nar.zoo.sources import list_specs


def test_the_table_names_every_network_once():
    names = list_specs("stanza")
    assert len(names) == len(set(names)) > 15


@pytest.mark.slow
@pytest.mark.parametrize(
    ("net", "task", "family", "operator"),
    [
        ("Tokenizer", "token-classification", "bilstm_tagger", "lstm"),
        ("Tagger", "token-classification", "bilstm_tagger", "bilinear"),
        ("GraphParser", "dependency-parsing", "biaffine_parser", "lstm"),
        ("NERTagger", "token-classification", "bilstm_crf", "gather"),
        ("Seq2SeqModel/lemma", "text2text-generation", "rnn_seq2seq", "log_softmax"),
        ("CharacterLanguageModel", "text-generation", "rnn_lm", "lstm"),
        ("CNNClassifier/no_bilstm", "text-classification", "text_cnn", "conv"),
        ("LemmaClassifierLSTM", "text-classification", "bilstm_classifier", "lstm"),
        ("LangIDBiLSTM", "language-identification", "bilstm_classifier", "sum"),
    ],
)
def test_every_kind_of_network_is_captured(net, task, family, operator):
    architecture = capture_architecture(f"stanza:{net}").architecture
    architecture.graph.validate()
    assert (architecture.labels.task, architecture.labels.family) == (task, family)
    assert operator in {op_name(op) for op in architecture.graph.op_ids.tolist()}


@pytest.mark.slow
def test_a_variant_differs_from_what_it_varies():
    plain, crossed = (
        capture_architecture(f"stanza:GraphParser{variant}").architecture.graph
        for variant in ("", "/arc_embedding")
    )
    assert plain.parameters != crossed.parameters


@pytest.mark.slow
def test_the_library_is_quiet():
    resolve("stanza:Tagger").capture()
    assert logging.getLogger("stanza").level == logging.ERROR


def test_an_unknown_network_has_neighbours():
    with pytest.raises(UnknownArchitectureError, match="stanza:Tagger"):
        resolve("stanza:Taggers")
