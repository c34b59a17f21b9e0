"""120 small networks in ten kinds, as text: a design of `kinds.yaml`, drawn by a seed."""

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from string import Template
from typing import Any, Final

from benchmark.asked.asking import Question
from nar.base.workspace import package_yaml

# Networks of a design; with four designs there are twelve of a kind.
DRAWS: Final = 3
_IMPORTS: Final = "import torch\nfrom torch import nn\nimport torch.nn.functional as F\n"
_INIT: Final = "    def __init__({}):\n        super().__init__()"


@dataclass(frozen=True, slots=True)
class Written:
    """A network in a file of its own.

    Attributes:
        kind: ``text``, ``image``, ``graph``, ...
        name: Name of its class.
        code: The file.
        inputs: True positional arguments, as Python.
    """

    kind: str
    name: str
    code: str
    inputs: str

    @property
    def question(self) -> Question:
        """What is asked."""
        return Question(self.name, self.code, self.name, f"({self.inputs}, {{}})")


def written_networks() -> Iterator[Written]:
    """All of them, in the order of `kinds.yaml`; each is always the same."""
    kinds: Mapping[str, list[Mapping[str, Any]]] = package_yaml(
        "asked", "kinds.yaml", package="benchmark"
    )
    for kind, designs in kinds.items():
        for design in designs:
            for draw in range(DRAWS):
                yield _drawn(kind, design, draw)


def _drawn(kind: str, design: Mapping[str, Any], draw: int) -> Written:
    # A seed for each network: a design more or less changes no other.
    rng = random.Random(f"{kind} {design['name']} {draw}")
    settings = {name: rng.choice(values) for name, values in design["settings"].items()}
    words = {name: rng.choice(values) for name, values in design["words"].items()}
    name = f"{design['name']}{draw}"
    before, init = rng.choice((_as_arguments, _as_constants, partial(_as_config, name)))(settings)
    known = {**settings, **words, "name": name, "init": init}
    code = f"{_IMPORTS}{before}\n\n{Template(design['code']).substitute(known)}"
    return Written(kind, name, code, Template(design["inputs"]).substitute(known))


def _as_arguments(settings: Mapping[str, int]) -> tuple[str, str]:
    given = "".join(f", {name}={value}" for name, value in settings.items())
    return "", _INIT.format(f"self{given}")


def _as_constants(settings: Mapping[str, int]) -> tuple[str, str]:
    lines = [f"        {name} = {value}" for name, value in settings.items()]
    return "", "\n".join([_INIT.format("self"), *lines])


def _as_config(name: str, settings: Mapping[str, int]) -> tuple[str, str]:
    fields = "".join(f"    {each}: int = {value}\n" for each, value in settings.items())
    before = f"from dataclasses import dataclass\n\n\n@dataclass\nclass {name}Config:\n{fields}"
    lines = [f"        {each} = config.{each}" for each in settings]
    head = _INIT.format(f"self, config: {name}Config = {name}Config()")
    return before, "\n".join([head, "        self.config = config", *lines])
