"""Downloads and files of weights are skipped while a user's code runs: values are never read.

What would load them gives `NotLoaded`, which every way of using weights accepts; what was skipped
is recorded. A file that is there is read as ever.
"""

import inspect
import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Final

from torch import nn

from nar.own.construct.findings import Findings
from nar.own.construct.imports.late_patches import Patches, Replacement, patched
from nar.own.construct.imports.stand_ins import StandIn

# Functions that fill a model with weights.
_LOADING = re.compile(
    r"pretrain|(load|restore|init)\w*_(weight|state|checkpoint|ckpt|param|model)", re.IGNORECASE
)
_DOCUMENTING: Final = ("transformers.utils.doc", "transformers.utils", "transformers.file_utils")
_DOCUMENTS: Final = (
    "add_code_sample_docstrings", "add_end_docstrings", "add_start_docstrings",
    "add_start_docstrings_to_model_forward", "replace_return_docstrings",
)  # fmt: skip
# Each has a method of its own, no inherited one.
_AUTO_MODELS = (
    "AutoBackbone", "AutoModel", "AutoModelForCausalLM", "AutoModelForImageClassification",
    "AutoModelForMaskedLM", "AutoModelForQuestionAnswering", "AutoModelForSeq2SeqLM",
    "AutoModelForSequenceClassification", "AutoModelForTokenClassification",
)  # fmt: skip


class NotLoaded(dict[str, Any]):
    """Stands for a file of weights: an empty mapping that has every key."""

    def __getitem__(self, key: object) -> "NotLoaded":
        return self

    def __getattr__(self, name: str) -> "NotLoaded":
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __call__(self, *_: Any, **__: Any) -> "NotLoaded":  # noqa: ANN401
        """Itself, whatever is called of it."""
        return self

    def __bool__(self) -> bool:
        return True

    def __fspath__(self) -> str:
        return os.devnull

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def get(self, *_: Any) -> "NotLoaded":  # noqa: ANN401
        """Itself, whatever the key."""
        return self

    def pop(self, *_: Any) -> "NotLoaded":  # noqa: ANN401
        """Itself, whatever the key."""
        return self


def without_weights_from_elsewhere(findings: Findings) -> AbstractContextManager[None]:
    """Inside, nothing is downloaded and no file of weights is missed."""
    return patched(_patches(findings))


def _patches(findings: Findings) -> Patches:
    skip = _skipping(findings)
    missing = _skipping_missing(findings)
    note = _noting(findings)
    by_address = {"load_state_dict_from_url": skip("load_state_dict_from_url")}
    model, config = usual_model(note), usual_config(note)
    return {
        "torch": {"load": missing("torch.load")},
        "torch.jit": {"load": missing("torch.jit.load")},
        "torch.hub": {
            "load": skip("torch.hub.load"),
            "load_state_dict_from_url": skip("load_state_dict_from_url"),
            "download_url_to_file": skip("download_url_to_file"),
        },
        "torch.utils.model_zoo": {"load_url": skip("model_zoo.load_url")},
        "torch.nn.modules.module": {"Module.load_state_dict": _load_state_dict},
        "torch.utils.cpp_extension": {
            "load": _compiling(findings),
            "load_inline": _compiling(findings),
        },
        "torchvision.models._api": by_address,
        "torchvision._internally_replaced_utils": by_address,
        "timm.models._builder": {"load_pretrained": skip("timm's load_pretrained")},
        "safetensors.torch": {"load_file": missing("safetensors.torch.load_file")},
        "huggingface_hub": {
            "hf_hub_download": skip("hf_hub_download"),
            "snapshot_download": skip("snapshot_download"),
        },
        "urllib.request": {"urlretrieve": skip("urlretrieve")},
        "gdown": {"download": skip("gdown.download")},
        "wget": {"download": skip("wget.download")},
        **dict.fromkeys(_DOCUMENTING, dict.fromkeys(_DOCUMENTS, _undocumented)),
        "transformers.modeling_utils": {"PreTrainedModel.from_pretrained": model},
        "transformers.models.auto.modeling_auto": {
            f"{name}.from_pretrained": model for name in _AUTO_MODELS
        },
        "transformers.configuration_utils": {"PreTrainedConfig.from_pretrained": config},
        "transformers.models.auto.configuration_auto": {"AutoConfig.from_pretrained": config},
        "transformers.tokenization_utils_base": {
            "PreTrainedTokenizerBase.from_pretrained": _tokenizer(findings)
        },
        "transformers.models.auto.tokenization_auto": {
            "AutoTokenizer.from_pretrained": _tokenizer(findings)
        },
    }


def _undocumented(real: Callable[..., Any]) -> Callable[..., Any]:
    """Decorators that write documentation, whose arguments change from version to version."""
    del real
    return lambda *_, **__: lambda decorated: decorated


def is_any_left_out(findings: Findings) -> bool:
    """Whether weights were to be loaded, and were not."""
    return any("not loaded" in each for each in findings.assumed().skipped)


def skips_loading(error: BaseException, root: Path, findings: Findings) -> bool:
    """Let a function of a repository that fails at weights which are not there do nothing.

    What it returns from then on is its first argument, the model that it was to fill.

    Args:
        error: What building raised.
        root: The folder of the repository.
        findings: Tell whether loading was skipped, and record this.

    Returns:
        Whether there is such a function, so that it is worth to build again.
    """
    if not is_any_left_out(findings):
        return False
    trace = error.__traceback__
    while trace is not None:
        frame = trace.tb_frame
        code = frame.f_code
        function: Any = frame.f_globals.get(code.co_name)
        is_own = code.co_filename.startswith(str(root)) and inspect.isfunction(function)
        if is_own and _LOADING.search(code.co_name) and not function.__code__.co_freevars:
            findings.skip(f"{Path(code.co_filename).name}:{trace.tb_lineno}: {code.co_name}() fails"
                          " without weights: it is left out")  # fmt: skip
            function.__code__ = _first_argument.__code__
            function.__defaults__ = function.__kwdefaults__ = None
            return True
        trace = trace.tb_next
    return False


def _first_argument(*args: Any, **_: Any) -> Any:  # noqa: ANN401
    return args[0] if args else None


def _noting(findings: Findings) -> Callable[[str], None]:
    return lambda what: findings.skip(f"{asked_from()}{what}")


def _skipping(findings: Findings) -> Callable[[str], Replacement]:
    """What replaces a function that loads weights by something that records and skips."""

    def of(name: str) -> Replacement:
        def replacement(_real: Callable[..., Any]) -> Callable[..., Any]:
            def skip(*args: Any, **kwargs: Any) -> NotLoaded:  # noqa: ANN401
                what = next(
                    (each for each in (*args, *kwargs.values()) if isinstance(each, str)), ""
                )
                findings.skip(f"{asked_from()}{name}({what!r}): weights are not loaded")
                return NotLoaded()

            return skip

        return replacement

    return of


def _skipping_missing(findings: Findings) -> Callable[[str], Replacement]:
    """As `_skipping`, for functions that read a file: a file that exists is read."""
    skip = _skipping(findings)

    def of(name: str) -> Replacement:
        def replacement(real: Callable[..., Any]) -> Callable[..., Any]:
            skipped = skip(name)(real)

            def load(source: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
                is_path = isinstance(source, str | Path | NotLoaded)
                if is_path and not Path(source).is_file():
                    return skipped(str(source) if not isinstance(source, NotLoaded) else "")
                return real(source, *args, **kwargs)

            return load

        return replacement

    return of


def _load_state_dict(real: Callable[..., Any]) -> Callable[..., Any]:
    def load(self: nn.Module, state: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        if isinstance(state, NotLoaded) or not state:
            return real(nn.Module(), {})  # it says that all keys were found
        return real(self, state, *args, **kwargs)

    return load


def _compiling(findings: Findings) -> Replacement:
    def replacement(_real: Callable[..., Any]) -> Callable[..., Any]:
        def compile_nothing(*args: Any, **kwargs: Any) -> StandIn:  # noqa: ANN401
            name = str(kwargs.get("name", args[0] if args else "extension"))
            sources = kwargs.get("sources", kwargs.get("cuda_sources", ()))
            files = [sources] if isinstance(sources, str) else [str(each) for each in sources]
            listed = ", ".join(each[:60] for each in files) or "sources in its text"
            findings.skip(f"{asked_from()}{name} is compiled from {listed}: not compiled")
            reason = (
                f"it is compiled from {listed}, and nothing is compiled to answer: "
                "give a stand-in written in torch"
            )
            return StandIn(name, findings, reason)

        return compile_nothing

    return replacement


def _tokenizer(findings: Findings) -> Replacement:
    def replacement(_real: Callable[..., Any]) -> Callable[..., Any]:
        def skip(*args: Any, **_: Any) -> StandIn:  # noqa: ANN401
            which = next((each for each in args if isinstance(each, str)), "")
            findings.skip(f"{asked_from()}the tokenizer {which!r} is not loaded")
            return StandIn("the tokenizer", findings, f"{which!r} is not loaded to answer")

        return skip

    return replacement


def asked_from() -> str:
    """File and line of the nearest frame that is neither NAR's nor a library's: ``net.py:7: ``."""
    frame = inspect.currentframe()
    here = str(Path(__file__).parents[3])
    while frame is not None:
        name = frame.f_code.co_filename
        is_library = "site-packages" in name or name.startswith("<") or name.startswith(here)
        if not is_library and not name.startswith(os.path.dirname(os.__file__)):  # noqa: PTH120
            return f"{Path(name).name}:{frame.f_lineno}: "
        frame = frame.f_back
    return ""


_AUTO = "transformers.models.auto.configuration_auto"
_CONFIG_FILE = "config.json"


def usual_model(note: Callable[[str], None]) -> Replacement:
    """What replaces ``from_pretrained`` of models: the same class without weights.

    Args:
        note: Records what was left out.
    """

    def replacement(_real: Callable[..., Any]) -> Callable[..., Any]:
        def build(cls: Any, name: object = "", *_: Any, **kwargs: Any) -> Any:  # noqa: ANN401
            config = kwargs.pop("config", None)
            if config is None or isinstance(config, str | Path):
                config = _config(getattr(cls, "config_class", None), config or name, kwargs)
            note(f"the weights of {name!r} are not loaded ({_words(config, name)})")
            is_auto = hasattr(cls, "_model_mapping")
            return cls.from_config(config) if is_auto else cls(config)

        return build

    return replacement


def usual_config(note: Callable[[str], None]) -> Replacement:
    """What replaces ``from_pretrained`` of configurations.

    Args:
        note: Records what was left out.
    """

    def replacement(_real: Callable[..., Any]) -> Callable[..., Any]:
        def build(cls: Any, name: object = "", *_: Any, **kwargs: Any) -> Any:  # noqa: ANN401
            own = cls if getattr(cls, "model_type", "") else None
            config = _config(own, name, kwargs)
            note(f"the configuration of {name!r} is not loaded ({_words(config, name)})")
            return config

        return build

    return replacement


def _config(kind: Any, name: object, kwargs: Mapping[str, Any]) -> Any:  # noqa: ANN401
    """A configuration by the folder or the name of a model, with values of its own replaced.

    Raises:
        LookupError: The name tells no kind of model.
    """
    stated = _stated(name)
    kind = kind or _kind_of(str(stated.get("model_type", name)))
    config = kind(**{key: value for key, value in stated.items() if key != "model_type"})
    for key, value in kwargs.items():
        if hasattr(config, key):
            setattr(config, key, value)
    return config


def _stated(name: object) -> dict[str, Any]:
    if not isinstance(name, str | Path) or not (Path(name) / _CONFIG_FILE).is_file():
        return {}
    stated: dict[str, Any] = json.loads((Path(name) / _CONFIG_FILE).read_text())
    return stated


def _kind_of(name: str) -> Any:  # noqa: ANN401
    """The class of configuration whose model type a name has in it, the longest such type."""
    kinds = sys.modules[_AUTO].CONFIG_MAPPING
    plain = name.lower().replace("_", "-")
    fitting = [kind for kind in kinds if kind.replace("_", "-") in plain]
    if not fitting:
        raise LookupError(f"{name!r} is of the hub and is not loaded, and its name tells no kind")
    return kinds[max(fitting, key=len)]


def _words(config: Any, name: object) -> str:  # noqa: ANN401
    kind = type(config).__name__
    if _stated(name):
        return f"{kind} of its {_CONFIG_FILE}"
    return f"the defaults of {kind} stand for its sizes"
