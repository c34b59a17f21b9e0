"""The networks of Stanza: they read sentences with recurrent layers, from splitting to parsing.

Settings are the defaults of the library's own commands. Vocabularies have the sizes of a small
language: a network asks its vocabulary for its size, and for the number of each word.
"""

import logging
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn

from nar.base.workspace import package_yaml
from nar.capture import CaptureInputs
from nar.zoo.building import for_real
from nar.zoo.libraries import import_library, library_version
from nar.zoo.source import Entry, Source, by_forward

# Chosen: sizes of vocabularies and of word vectors, as a small language may have them; they change
# numbers of weights alone.
WORDS = 1000
CHARACTERS = 100  # chosen, as above
VECTOR = 100  # numbers in a word vector; chosen, as above
# Chosen: one sentence, its words and the characters of each word.
LENGTH = 16
SPELLING = 8  # characters of a word; chosen, as above

_Settings = dict[str, Any]
_Inputs = tuple[Any, ...]


class Vocabulary:
    """Answers what a network asks of a vocabulary. All words have the same number.

    Args:
        sizes: How many entries each column has. There is one column, but for features of words.
    """

    def __init__(self, *sizes: int) -> None:
        self._sizes = sizes

    def __len__(self) -> int:
        return self._sizes[0] if len(self._sizes) == 1 else len(self._sizes)

    def lens(self) -> list[int]:
        """The size of each column."""
        return list(self._sizes)

    def unit2id(self, _word: str) -> int:
        """The number of a word: the first that does not stand for padding or the unknown."""
        return 4

    def map(self, words: Iterable[str]) -> list[int]:
        """The number of each word."""
        return [self.unit2id(word) for word in words]


def _vocabularies() -> dict[str, Vocabulary]:
    """Tags of Universal Dependencies: 17 parts of speech, 37 relations, and 4 more in each."""
    return {
        "char": Vocabulary(CHARACTERS),
        "word": Vocabulary(WORDS),
        "lemma": Vocabulary(WORDS),
        "upos": Vocabulary(21),
        "xpos": Vocabulary(54),
        "feats": Vocabulary(8, 8, 8, 8, 8, 8),
        "deprel": Vocabulary(41),
        "tag": Vocabulary(21),
    }


def _pretrained() -> SimpleNamespace:
    return SimpleNamespace(emb=torch.zeros(WORDS, VECTOR), vocab=Vocabulary(WORDS))


def _tokenizer(maker: Any, settings: _Settings) -> nn.Module:  # noqa: ANN401
    widths = (settings[name] for name in ("emb_dim", "hidden_dim", "dropout", "feat_dropout"))
    network: nn.Module = maker(
        {**settings, "feat_dim": len(settings["feat_funcs"])}, CHARACTERS, *widths
    )
    return network


def _language(maker: Any, _settings: _Settings) -> nn.Module:  # noqa: ANN401
    trainer = import_library("stanza.models.langid.trainer").Trainer
    characters = {"<PAD>": 0, **{str(index): index for index in range(1, CHARACTERS)}}
    # The languages of the model that Stanza publishes.
    languages = {str(index): index for index in range(67)}
    network: nn.Module = maker(
        characters,
        languages,
        trainer.DEFAULT_LAYERS,
        trainer.DEFAULT_EMBEDDING_DIM,
        trainer.DEFAULT_HIDDEN_DIM,
    )
    return network


def _characters(maker: Any, settings: _Settings) -> nn.Module:  # noqa: ANN401
    sizes = {"vocab_size": CHARACTERS, "pos_vocab_size": len(_vocabularies()["upos"])}
    network: nn.Module = maker({**settings, **sizes})
    return network


def _tagger(maker: Any, settings: _Settings) -> nn.Module:  # noqa: ANN401
    vocabularies = {**_vocabularies(), "feats": Vocabulary(48)}
    network: nn.Module = maker(
        settings, vocabularies, _pretrained().emb, share_hid=settings["share_hid"]
    )
    return network


def _parser(maker: Any, settings: _Settings) -> nn.Module:  # noqa: ANN401
    network: nn.Module = maker(settings, _vocabularies(), _pretrained().emb)
    # Its forward returns arrays; the scores that these are made from are tensors.
    parser: Any = network
    parser.forward = parser.forward_scores
    return network


def _with_vocabularies(maker: Any, settings: _Settings) -> nn.Module:  # noqa: ANN401
    network: nn.Module = maker(settings, _vocabularies())
    return network


def _classifier(maker: Any, settings: _Settings) -> nn.Module:  # noqa: ANN401
    # Words of the training data, and verdicts on a sentence; there is no further network.
    absent = (None, None, None, None, None, False, None)
    words = [str(index) for index in range(WORDS)]
    network: nn.Module = maker(
        _pretrained(), words, ["bad", "so so", "good"], *absent, SimpleNamespace(**settings)
    )
    return network


def _lemma_classifier(maker: Any, settings: _Settings) -> nn.Module:  # noqa: ANN401
    tags = {str(index): index for index in range(21)}
    # The two lemmata of the English "'s".
    network: nn.Module = maker(
        settings, 2, _pretrained(), {"be": 0, "have": 1}, tags, ["be"], {"'s"}, {"AUX"}
    )
    return network


def _whole(*shape: int) -> Tensor:
    return torch.ones(shape, dtype=torch.long)


def _all_read(*shape: int) -> Tensor:
    """A mask that hides nothing."""
    return torch.zeros(shape, dtype=torch.bool)


def _spelled(length: int = LENGTH) -> _Inputs:
    return _whole(length, SPELLING), _all_read(length, SPELLING)


def _order(length: int = LENGTH) -> _Inputs:
    """Where each word stood before they were sorted, and the lengths of sentences and words."""
    return torch.arange(length), [length], [SPELLING] * length


def _parsed() -> _Inputs:
    length = LENGTH + 1  # the root is a word, too
    sentence = _whole(1, length)
    tags = (sentence, sentence, _whole(1, length, 6))
    arcs = (_whole(1, LENGTH), _whole(1, LENGTH))
    before = (sentence, _all_read(1, length), *_spelled(length), *tags)
    return *before, sentence, sentence, *arcs, *_order(length), None


_SENTENCE = ["word"] * LENGTH

# What a class is built by, and reads.
_KINDS: Mapping[str, tuple[Callable[[Any, _Settings], nn.Module], Callable[[], _Inputs]]] = {
    "Tokenizer": (_tokenizer, lambda: (_whole(1, 64), torch.zeros(1, 64, 5), torch.tensor([64]))),
    "LangIDBiLSTM": (_language, lambda: (_whole(1, 64),)),
    "Seq2SeqModel": (
        _characters,
        lambda: (_whole(1, LENGTH), _all_read(1, LENGTH), _whole(1, LENGTH), _whole(1)),
    ),
    "CharacterClassifier": (_characters, lambda: (_whole(1, LENGTH), _all_read(1, LENGTH))),
    "CharacterLanguageModel": (_with_vocabularies, lambda: (_whole(1, 64), [64])),
    "Tagger": (
        _tagger,
        lambda: (_whole(1, LENGTH), _all_read(1, LENGTH), *_spelled(), None, _whole(1, LENGTH),
                 *_order(), None),
    ),
    "GraphParser": (_parser, _parsed),
    "NERTagger": (
        _with_vocabularies,
        lambda: ([_SENTENCE], *_spelled(), _whole(1, LENGTH, 1), *_order(), *[None] * 4),
    ),
    "CNNClassifier": (_classifier, lambda: ([_SENTENCE],)),
    "LemmaClassifierLSTM": (_lemma_classifier, lambda: ([0], [_SENTENCE], [[1] * LENGTH])),
}  # fmt: skip


def _names() -> list[str]:
    library_version("stanza")
    return list(_nets())


def _entry(net: str) -> Entry | None:
    row = _nets().get(net)
    if row is None:
        return None
    kind = net.partition("/")[0]
    # Packing sentences reads their lengths, so the inputs need values.
    capture = by_forward(partial(_built, kind, row), partial(_inputs, kind), follow=for_real)
    return Entry(kind, row["task"], capture)


def _built(kind: str, row: Mapping[str, Any]) -> nn.Module:
    maker = getattr(import_library(f"stanza.models.{row['module']}"), kind)
    command = import_library(f"stanza.models.{row['command']}") if "command" in row else None
    # The library's commands make it log all that it does.
    logging.getLogger("stanza").setLevel(logging.ERROR)
    settings = vars(command.build_argparse().parse_args([])) if command else {}
    return _KINDS[kind][0](maker, {**settings, **row.get("settings", {})})


def _inputs(kind: str, _network: nn.Module) -> CaptureInputs:
    return CaptureInputs(_KINDS[kind][1]())


def _nets() -> Mapping[str, Mapping[str, Any]]:
    nets: Mapping[str, Mapping[str, Any]] = package_yaml("zoo", "sources", "stanza_nets.yaml")
    return nets


STANZA = Source(
    name="stanza",
    library="stanza",
    licence="Apache-2.0",
    form="<Class>[/<variant>]",
    example="Tagger",
    names=_names,
    entry=_entry,
)
