"""Sources whose networks are rows of a table: a class, its arguments, the shapes of one call."""

from collections.abc import Iterator, Mapping
from functools import cache, partial
from operator import attrgetter
from typing import Any

import torch
from torch import Tensor, nn

from nar.base.files import package_yaml
from nar.capture import Capture, CaptureInputs
from nar.zoo.building import for_real, on_meta
from nar.zoo.libraries import import_library, library_version, without_printing
from nar.zoo.source import CaptureNamed, Entry, Source, by_forward
from nar.zoo.sources.transformers.known_values import known_values

Row = Mapping[str, Any]

# Below it libraries have padding, what is unknown, beginnings and ends.
A_WORD = 4


def table_source(library: str, *, licence: str, example: str, distribution: str = "") -> Source:
    """The networks of ``<library>_nets.yaml``.

    Its ``nets`` are ``<Family>[/<variant>]`` -> a row. What all rows share stands under
    ``defaults``. The columns:

    - ``class``: what makes the network, as ``<module>:<class or function>`` below the library,
      ``:<class>`` for its package itself, with ``{family}`` for the family's name.
    - ``arguments``: its keywords. ``{class: ..., arguments: ...}`` is made the same way first,
      ``{torch: nn.Conv3d}`` is what torch calls by that name, ``{tensor: shape}`` one of zeros.
    - ``inputs``: of one forward pass: see `tensor_of`; ``{list: ...}`` are several in a
      list, ``{named: ...}`` in a dictionary.
    - ``task``: what the network is for.
    - ``real``: true where the class writes into its own weights, so that it must have some.
    - ``by_values``: true where its forward pass reads numbers that it has put into tensors.
    - ``scales``: argument -> values; each of them is a row of its own, ``..._x<value>``.

    Args:
        library: Import name, and name of the source.
        licence: SPDX identifier of its code.
        example: One of the names.
        distribution: Name of the package that installs the library, where it is another one.
    """
    return Source(
        name=library,
        library=library,
        licence=licence,
        form="<Family>[/<variant>]",
        example=example,
        distribution=distribution,
        names=partial(_names, library),
        entry=partial(_entry, library),
    )


def _names(library: str) -> list[str]:
    library_version(library)
    return list(_rows(library))


def _entry(library: str, net: str) -> Entry | None:
    row = _rows(library).get(net)
    if row is None:
        return None
    family = net.partition("/")[0]
    build = partial(_built, library, row["class"].format(family=family), row.get("arguments", {}))
    follow = for_real if row.get("real") else on_meta
    capture = by_forward(build, partial(_inputs, row["inputs"]), follow=follow)
    if row.get("by_values") and follow is on_meta:
        capture = partial(knowing_values, capture=capture)
    return Entry(family, row["task"], capture)


def knowing_values(name: str, capture: CaptureNamed) -> Capture:
    """Capture with the values at hand that follow from inputs and numbers."""
    with known_values():
        return capture(name)


@cache
def _rows(library: str) -> dict[str, Row]:
    table = package_yaml("zoo", "sources", f"{library}_nets.yaml")
    rows = ((net, {**table["defaults"], **row}) for net, row in table["nets"].items())
    return dict(scaled for net, row in rows for scaled in _scaled(net, row))


def _scaled(net: str, row: Row) -> Iterator[tuple[str, Row]]:
    """The row itself, or one for each of its scales."""
    if "scales" not in row:
        yield net, row
    for argument, scales in row.get("scales", {}).items():
        for scale in scales:
            name = f"{net}{'_' if '/' in net else '/'}x{scale}"
            yield name, {**row, "arguments": {**row.get("arguments", {}), argument: scale}}


def _built(library: str, path: str, arguments: Row) -> nn.Module:
    with without_printing():
        network: nn.Module = _made(library, path, arguments)
    return network


def _made(library: str, path: str, arguments: Row) -> Any:  # noqa: ANN401
    """A network, or the record of settings that one is made from."""
    module, _, maker = path.partition(":")
    home = import_library(f"{library}.{module}" if module else library)
    made = {name: _argument(library, value) for name, value in arguments.items()}
    return attrgetter(maker)(home)(**made)


def _argument(library: str, value: object) -> object:
    if isinstance(value, Mapping) and "class" in value:
        return _made(library, value["class"], value["arguments"])
    if isinstance(value, Mapping) and "tensor" in value:
        return torch.zeros(value["tensor"])
    if isinstance(value, Mapping) and "torch" in value:
        return attrgetter(value["torch"])(torch)
    return value


def _inputs(inputs: list[Any], _network: nn.Module) -> CaptureInputs:
    return CaptureInputs(tuple(_input(value) for value in inputs))


def _input(value: Any) -> object:  # noqa: ANN401
    """A tensor, or some of them in a list or a dictionary of their own."""
    if isinstance(value, Mapping) and "list" in value:
        return [tensor_of(each) for each in value["list"]]
    if isinstance(value, Mapping) and "named" in value:
        return {name: tensor_of(each) for name, each in value["named"].items()}
    return tensor_of(value)


def tensor_of(value: list[int] | Row | None) -> Tensor | None:
    """A tensor of a table: a list is the shape of real numbers, ``{long: shape}`` of whole ones.

    Those are zeros; ``{words: shape}`` are words, for networks to which some numbers are none, and
    ``{numbers: ...}`` is a tensor of these numbers.

    Example:
        >>> tensor_of({"long": [1, 7]}).dtype
        torch.int64
    """
    if isinstance(value, Mapping) and "words" in value:
        return torch.full(value["words"], A_WORD)
    if isinstance(value, Mapping) and "numbers" in value:
        return torch.tensor(value["numbers"])
    if isinstance(value, Mapping):
        return torch.zeros(value["long"], dtype=torch.long)
    return None if value is None else torch.zeros(value)
