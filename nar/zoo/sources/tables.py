"""Sources whose networks are rows of a table: a class, its arguments, the inputs of one call.

The tables are the files ``<library>_nets.yaml``. Their ``nets`` are ``<name>`` -> a row. What all
rows share stands under ``defaults``; its arguments are added to the arguments of the row. A name is
``<family>``, with ``/<part>`` or ``@<variant>`` behind it. The columns of a row:

=============  ====================================================================================
``class``      what makes the network, as ``<module>:<class or function>`` below the library,
               ``:<class>`` for its package itself; ``{family}`` and ``{package}`` are the first
               two parts of the name
``arguments``  its keywords: see `Maker`
``part``       the attribute that holds the network, where ``class`` makes more than the network
``inputs``     of one forward pass, in the language of `nar.zoo.example`, filled with zeros; the
               names in it are arguments of the row
``task``       what the network is for; ``{package}`` as above
``design``     its name in the table of families, where that is not ``{family}``; ``{module}`` is
               the module that defines the class
``real``       true where the network must be built with weights: see `for_real`
``by_values``  true where its forward pass reads numbers that it has put into tensors
``scales``     argument -> values; each value makes a row of its own, ``..._x<value>``
``dims``       numbers of axes; each number makes a row of its own, ``.../<number>d``. Arguments of
               such a row are in the language of inputs too: ``dims`` is the number, lists are
               shapes
``tier``       see `Labels`
=============  ====================================================================================
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cache, partial
from operator import attrgetter
from types import ModuleType
from typing import Any

import torch
from torch import nn

from nar.base.workspace import package_yaml
from nar.capture import Capture, CaptureInputs
from nar.zoo.building import for_real, on_meta
from nar.zoo.example import Known, made, shape_of
from nar.zoo.libraries import import_library, library_version, without_printing
from nar.zoo.source import CaptureNamed, Entry, Source, by_forward
from nar.zoo.sources.transformers.known_values import known_values

Row = Mapping[str, Any]
Rows = Iterable[tuple[str, Row]]
# Imports a module of a library by its dotted name.
Load = Callable[[str], ModuleType]


def table_rows(table: Row) -> Rows:
    """Name -> row of the ``nets`` of a table, defaults and scales filled in."""
    for name, row in table["nets"].items():
        filled = with_defaults(table, row)
        for scaled_name, scaled in _scaled(name, filled):
            yield from _in_dimensions(scaled_name, scaled)


def with_defaults(table: Row, row: Row) -> Row:
    """A row of a table and what all rows share."""
    defaults = table["defaults"]
    arguments = {**defaults.get("arguments", {}), **row.get("arguments", {})}
    return {**defaults, **row, "arguments": arguments}


def call(maker: Any, row: Row) -> nn.Module:  # noqa: ANN401
    """The network of a row: its class, called with its arguments."""
    network: nn.Module = maker(**row["arguments"])
    return network


def inputs_of_row(row: Row, _network: nn.Module) -> CaptureInputs:
    """The inputs that a row names."""
    known = {"dims": row.get("axes"), **row["arguments"]}.get
    return CaptureInputs(tuple(made(entry, known, fill=0) for entry in row["inputs"]))


@dataclass(frozen=True, slots=True)
class TableReading:
    """How the table of a library is read, where its rows do not say everything themselves.

    Attributes:
        load: Imports a module of the library.
        rows: All rows of the table.
        build: Makes a network from what ``class`` names and from the row, its arguments made.
        inputs: Makes the inputs of one forward pass from the row and the network.
    """

    load: Load = import_library
    rows: Callable[[Row], Rows] = table_rows
    build: Callable[[Any, Row], nn.Module] = call
    inputs: Callable[[Row, nn.Module], CaptureInputs] = inputs_of_row


@dataclass(frozen=True, slots=True)
class _Table:
    """The table of a library, read on first use."""

    library: str
    reading: TableReading = field(default_factory=TableReading)

    def names(self) -> list[str]:
        library_version(self.library)
        return list(_rows(self))

    def entry(self, name: str) -> Entry | None:
        row = _rows(self).get(name)
        if row is None:
            return None
        first, package = (*re.split("[/@]", name), "")[:2]
        words = {"family": first, "package": package}
        maker = Maker(self.library, row["class"].format(**words), self.reading.load)
        design = row.get("design", "{family}")
        if "{module}" in design:
            module = maker.module_of_class()
            if module is None:
                return None
            words["module"] = module
        follow = for_real if row.get("real") else on_meta
        capture = by_forward(
            partial(_built, maker, row, self.reading),
            partial(self.reading.inputs, row),
            follow=follow,
        )
        if row.get("by_values") and follow is on_meta:
            capture = partial(knowing_values, capture=capture)
        task, tier = row["task"].format(**words), row.get("tier", "named")
        return Entry(design.format(**words), task, capture, tier=tier)


def table_source(
    library: str,
    *,
    licence: str,
    example: str,
    form: str = "<Family>[/<variant>]",
    distribution: str = "",
    parts: tuple[str, ...] = (),
    reading: TableReading = TableReading(),
    capture_version: int = 2,  # 2: each network is made from arguments of its own
) -> Source:
    """The networks of ``<library>_nets.yaml``.

    Args:
        library: Import name, and name of the source.
        licence: SPDX identifier of its code.
        example: One of the names.
        form: How the names read.
        distribution: Name of the package that installs the library, where that is another name.
        parts: See `Source`.
        reading: How the table is read, if its columns do not say everything.
        capture_version: See `Source`.
    """
    table = _Table(library, reading)
    return Source(
        name=library,
        library=library,
        licence=licence,
        form=form,
        example=example,
        distribution=distribution,
        parts=parts,
        names=table.names,
        entry=table.entry,
        capture_version=capture_version,
    )


def knowing_values(name: str, capture: CaptureNamed) -> Capture:
    """Capture while values that follow from inputs and constants can be read."""
    with known_values():
        return capture(name)


@cache
def _rows(table: _Table) -> dict[str, Row]:
    content = package_yaml("zoo", "sources", f"{table.library}_nets.yaml")
    return dict(table.reading.rows(content))


def _scaled(name: str, row: Row) -> Iterator[tuple[str, Row]]:
    """The row itself, or one for each of its scales."""
    if "scales" not in row:
        yield name, row
    for argument, scales in row.get("scales", {}).items():
        for scale in scales:
            scaled_name = f"{name}{'_' if '/' in name else '/'}x{scale}"
            yield scaled_name, {**row, "arguments": {**row["arguments"], argument: scale}}


def _in_dimensions(name: str, row: Row) -> Iterator[tuple[str, Row]]:
    """The row itself, or one for each of its numbers of axes."""
    if "dims" not in row:
        yield name, row
    for axes in row.get("dims", ()):
        known = {"dims": axes}.get
        arguments = {key: _shaped(value, known) for key, value in row["arguments"].items()}
        yield f"{name}/{axes}d", {**row, "arguments": arguments, "axes": axes}


def _shaped(value: object, known: Known) -> object:
    """An argument of a row with dimensions: lists are shapes, names stand for numbers."""
    if isinstance(value, Mapping):
        value = [value]
    if isinstance(value, list):
        return shape_of(value, known)
    return known(value) or value if isinstance(value, str) else value


def _built(maker: "Maker", row: Row, reading: TableReading) -> nn.Module:
    # Some classes take elements out of a list that they are given: the table has to keep its own.
    row = deepcopy(row)
    with without_printing():
        arguments = {name: maker.argument(value) for name, value in row["arguments"].items()}
        network: Any = reading.build(maker.named(maker.path), {**row, "arguments": arguments})
    if "part" in row:
        network = attrgetter(row["part"])(network)
    module: nn.Module = network
    return module


@dataclass(frozen=True, slots=True)
class Maker:
    """What a table's paths and arguments stand for in a library.

    Among arguments, ``{class: <path>, arguments: ...}`` stands for an object that is made first,
    ``{library: <path>}`` for what the library has under that path, ``{torch: nn.Conv3d}`` for what
    torch has, and ``{tensor: shape}`` for a tensor of zeros.

    Attributes:
        library: Import name.
        path: ``<module>:<class or function>`` below the library: what makes the network.
        load: Imports a module of the library.
    """

    library: str
    path: str
    load: Load

    def module_of_class(self) -> str | None:
        """The module that defines the class, without its package; None where there is no class."""
        try:
            module: str = self.named(self.path).__module__
        except AttributeError:
            return None
        return module.rpartition(".")[2]

    def named(self, path: str) -> Any:  # noqa: ANN401
        """The object that a path names in the library."""
        module, _, name = path.partition(":")
        home = self.load(f"{self.library}.{module}" if module else self.library)
        return attrgetter(name)(home)

    def argument(self, value: object) -> object:
        """The argument that an entry of the table stands for."""
        if not isinstance(value, Mapping):
            return value
        if "class" in value:
            arguments = {name: self.argument(each) for name, each in value["arguments"].items()}
            return self.named(value["class"])(**arguments)
        if "library" in value:
            return self.named(value["library"])
        if "torch" in value:
            return attrgetter(value["torch"])(torch)
        return torch.zeros(value["tensor"]) if "tensor" in value else value
