"""Configurations of a hub, from a mirror or a table of them: nothing is downloaded, no code is run.

Most repositories of a hub are fine-tunes of few designs. So what does not decide a network is left
out of a configuration, and what is the same then is captured once: each repository is a name of it.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final

from nar.base.errors import ConfigError
from nar.base.files import write_whole
from nar.base.model_files import CONFIG_FILE
from nar.base.own_zoo import NO_LABELS, Declared

from .ledger import digest

# What names of a hub begin with, and the name that means all of them.
PREFIX: Final = "hf:"
ALL: Final = f"{PREFIX}*"
_COLUMNS: Final = ("repository", "revision", "config")
# Folders of a cache of Hugging Face: models--ORG--NAME/snapshots/REVISION/config.json.
_CACHED: Final = "models--"
# Chosen: rows of a table that are in memory at a time, of some kilobytes each.
_ROWS: Final = 1_000
# Chosen: names in a clause; more do not fit into a line of a terminal.
_SHOWN: Final = 3
# Letters of a digest in the name of a folder: 256 folders keep each of them short.
_FOLDER: Final = 2

# What decides no network, whatever its type: where it came from, what its labels are called, how
# its weights began, and how text is drawn from it.
_BESIDE: Final = frozenset({
    "bad_words_ids", "begin_suppress_tokens", "bos_token_id", "decoder_start_token_id",
    "diversity_penalty", "do_sample", "dtype", "early_stopping", "encoder_no_repeat_ngram_size",
    "eos_token_id", "exponential_decay_length_penalty", "finetuning_task", "forced_bos_token_id",
    "forced_eos_token_id", "initializer_factor", "initializer_range", "label2id", "length_penalty",
    "max_length", "min_length", "name_or_path", "no_repeat_ngram_size", "num_beam_groups",
    "num_beams", "num_return_sequences", "output_scores", "prefix", "problem_type",
    "remove_invalid_values", "repetition_penalty", "return_dict_in_generate", "sep_token_id",
    "suppress_tokens", "task_specific_params", "temperature", "top_k", "top_p", "torch_dtype",
    "transformers_version", "typical_p",
})  # fmt: skip
# What decides no network of one type; left over from code that is gone.
_BESIDE_OF: Final[Mapping[str, frozenset[str]]] = {
    "bert": frozenset({
        "directionality", "gradient_checkpointing", "pooler_fc_size", "pooler_num_attention_heads",
        "pooler_num_fc_layers", "pooler_size_per_head", "pooler_type",
    }),
    "gpt2": frozenset({"gradient_checkpointing"}),
    "llama": frozenset({"pretraining_tp"}),
    "roberta": frozenset({"gradient_checkpointing"}),
    "t5": frozenset({"n_positions", "output_past"}),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class HubModels:
    """Models of a hub, and what is captured for them.

    Attributes:
        shared: What is captured for each name: the name of a capture, which many have.
        zoo: The file behind each capture.
        unplaced: Names that were asked for, of which the hub has no or more than one
            configuration, with the reason.
    """

    shared: Mapping[str, str]
    zoo: Mapping[str, Declared]
    unplaced: Mapping[str, str]


def is_of_hub(name: str) -> bool:
    """Whether a name is one of a hub: ``hf:ORG/NAME``, or a pattern, ``hf:ORG/*``."""
    return name.startswith(PREFIX)


def placed(names: Sequence[str], hub: Path | None, folder: Path) -> HubModels:
    """The models of a hub that names mean, each configuration written down once.

    Args:
        names: Names of repositories, or patterns.
        hub: A folder or a table; None for the cache of Hugging Face.
        folder: Gets the configurations, for the workers; all nodes share it.

    Raises:
        ConfigError: There is no such hub, or it is no table of configurations.
    """
    if not names:
        return HubModels({}, {}, {})
    place = hub or _cache()
    exact = {name for name in names if "*" not in name}
    patterns = [name for name in names if "*" in name]
    shared: dict[str, str] = {}
    zoo: dict[str, Declared] = {}
    twofold: dict[str, str] = {}
    for repository, text in configurations(place):
        name = f"{PREFIX}{repository}"
        if name not in exact and not any(fnmatchcase(name, each) for each in patterns):
            continue
        essence = essential(text)
        code = digest(essence)
        if code not in zoo:
            zoo[code] = Declared(f"hub/{code}", str(_written(folder, code, essence)), (), NO_LABELS)
        if shared.setdefault(name, zoo[code].name) != zoo[code].name:
            twofold[name] = f"{place} has two configurations of this revision; wanted one"
    if not shared:
        raise ConfigError(
            f"{place} has none of {', '.join(names[:_SHOWN])}; wanted hf:ORG/NAME, hf:ORG/* or "
            "`--select hf` for all of it, and --hub for where it is"
        )
    missing = dict.fromkeys(sorted(exact - shared.keys()), f"{place} has no {CONFIG_FILE} of it")
    unmet = [each for each in patterns if not any(fnmatchcase(name, each) for name in shared)]
    missing |= dict.fromkeys(unmet, f"{place} has nothing of such a name")
    # Of two configurations none is guessed to be the right one.
    for name in twofold:
        del shared[name]
    used = set(shared.values())
    captured = {each.name: each for each in zoo.values() if each.name in used}
    return HubModels(shared, captured, missing | twofold)


def _written(folder: Path, code: str, text: str) -> Path:
    path = folder / code[:_FOLDER] / f"{code}.json"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, lambda part: part.write_text(text, encoding="utf-8"))
    return path


def configurations(hub: Path) -> Iterator[tuple[str, str]]:
    """Each repository of a hub with the text of its configuration.

    Args:
        hub: A Parquet file with the columns ``repository``, ``revision`` and ``config``; or a
            folder with a ``config.json`` in a folder for each repository; or a cache of Hugging
            Face. Of several revisions the last of the table has the name of the repository, and
            the others are ``ORG/NAME@REVISION``.

    Raises:
        ConfigError: There is no such hub, or it is no table of configurations.
    """
    if hub.is_dir():
        return _in_folder(hub)
    if hub.is_file():
        return _in_table(hub)
    raise ConfigError(
        f"there is no hub at {hub}: wanted a folder or a Parquet file of configurations"
    )


def essential(text: str) -> str:
    """A configuration without what decides no network; a text that is none stays as it is.

    Example:
        >>> essential('{"model_type": "bert", "top_k": 5, "hidden_size": 8}')
        '{"hidden_size": 8, "model_type": "bert"}'
    """
    try:
        content = json.loads(text)
    except ValueError:  # its capture says what is wrong
        return text
    return json.dumps(_essential(content), sort_keys=True)


def _essential(content: Any) -> Any:  # noqa: ANN401 -- whatever JSON can be
    if isinstance(content, list):
        return [_essential(each) for each in content]
    if not isinstance(content, dict):
        return content
    model_type = content.get("model_type")
    beside = _BESIDE_OF.get(model_type, frozenset()) if isinstance(model_type, str) else frozenset()
    kept = {
        key: _essential(each)
        for key, each in content.items()
        if key not in _BESIDE and key not in beside and not key.startswith("_")
    }
    labels = kept.get("id2label")
    if isinstance(labels, dict):
        # How many there are decides the last layer, not what they are called.
        kept["id2label"] = {str(number): f"LABEL_{number}" for number in range(len(labels))}
    return kept


def _cache() -> Path:
    # Imported here: other names do not need the library of the hub.
    from huggingface_hub import constants

    return Path(constants.HF_HUB_CACHE)


def _in_folder(hub: Path) -> Iterator[tuple[str, str]]:
    for folder in sorted(each for each in hub.iterdir() if each.is_dir()):
        if folder.name.startswith(_CACHED):
            yield from _in_cache(folder)
            continue
        for path in sorted(folder.rglob(CONFIG_FILE)):
            yield path.parent.relative_to(hub).as_posix(), _text(path)


def _in_cache(folder: Path) -> Iterator[tuple[str, str]]:
    """The configuration of a repository in a cache: of the revision that its main branch has."""
    repository = folder.name.removeprefix(_CACHED).replace("--", "/")
    main = folder / "refs" / "main"
    revision = main.read_text(encoding="utf-8").strip() if main.is_file() else "*"
    found = sorted(folder.glob(f"snapshots/{revision}/{CONFIG_FILE}"))
    if found:
        yield repository, _text(found[-1])


def _text(path: Path) -> str:
    # Bytes that are no text make no JSON, either, and the capture says so.
    return path.read_text(encoding="utf-8", errors="replace")


def _in_table(path: Path) -> Iterator[tuple[str, str]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.ParquetFile(path)
        missing = [name for name in _COLUMNS if name not in table.schema_arrow.names]
        if missing:
            raise ConfigError(
                f"{path} is no table of configurations: wanted the columns {', '.join(_COLUMNS)}, "
                f"came one without {', '.join(missing)}"
            )
        left = _repeated(table.read(columns=_COLUMNS[:1]).column(0))
        for batch in table.iter_batches(_ROWS, columns=list(_COLUMNS)):
            for repository, revision, config in zip(
                *(batch.column(name).to_pylist() for name in _COLUMNS), strict=True
            ):
                left_now = left[repository] = left.get(repository, 1) - 1
                if not left_now:
                    left.pop(repository)
                yield repository if not left_now else f"{repository}@{revision}", config or ""
    except (pa.ArrowException, OSError) as error:
        raise ConfigError(f"{path} cannot be read as a Parquet file: {error}") from error


def _repeated(repositories: Any) -> dict[str, int]:  # noqa: ANN401 -- a column of pyarrow
    """How often each repository is there that is there more than once."""
    counts: Iterable[Mapping[str, Any]] = (
        each.as_py() for each in repositories.value_counts() if each["counts"].as_py() > 1
    )
    return {each["values"]: each["counts"] for each in counts}
