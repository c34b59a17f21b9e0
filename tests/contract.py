"""What clients of the wire contract count on, as a list that a diff shows, and what breaks it.

    make proto                               # generates the code, and lists what was added
    make proto BREAK='--break Filter.names'  # takes a breaking change that is meant

Additions are no breaks: old clients and servers pass over what they do not know.
"""

import argparse
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import yaml
from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
    MethodDescriptorProto,
    MethodOptions,
)

BASELINE: Final = Path(__file__).parent / "serve" / "contract.yaml"

Facts = dict[str, int | str | bool]
Members = dict[str, Facts]
# Messages, enums and services by name, each with its fields, values or methods; and the package.
Contract = dict[str, Members]


def contract_of(file: FileDescriptorProto) -> Contract:
    """What clients of a file count on; names stand without its package where they are its own."""
    package = file.package
    contract: Contract = {"package": {package: {}}}
    contract |= dict(_messages(file.message_type, package, ""))
    contract |= dict(_enums(file.enum_type, ""))
    for service in file.service:
        contract[service.name] = {each.name: _method(each, package) for each in service.method}
    return contract


def breaks(before: Contract, now: Contract) -> dict[str, str]:
    """What of a contract another one breaks: its name, such as `Filter.names`, and how."""
    broken = {name: "removed" for name in before if name not in now}
    for name, members in before.items():
        if name in now:
            later = now[name]
            faults = {each: _fault(each, facts, members, later) for each, facts in members.items()}
            broken |= {f"{name}.{each}": fault for each, fault in faults.items() if fault}
    return broken


def _fault(member: str, facts: Facts, members: Members, later: Members) -> str | None:
    """What happened to a member; None if it is what it was."""
    if member in later:
        keys = sorted(facts.keys() | later[member].keys())
        pairs = [(key, facts.get(key), later[member].get(key)) for key in keys]
        return "; ".join(f"{key} {was} became {is_}" for key, was, is_ in pairs if was != is_)
    added = {facts["number"]: name for name, facts in later.items() if "number" in facts}
    heir = added.get(facts.get("number", -1))
    return f"renamed to {heir}" if heir and heir not in members else "removed"


def _messages(
    messages: Iterable[DescriptorProto], package: str, outer: str
) -> Iterator[tuple[str, Members]]:
    for each in messages:
        name = f"{outer}{each.name}"
        yield name, {field.name: _field(field, each, package) for field in each.field}
        yield from _messages(each.nested_type, package, f"{name}.")
        yield from _enums(each.enum_type, f"{name}.")


def _enums(enums: Iterable[EnumDescriptorProto], outer: str) -> Iterator[tuple[str, Members]]:
    for each in enums:
        yield f"{outer}{each.name}", {value.name: {"number": value.number} for value in each.value}


def _field(field: FieldDescriptorProto, message: DescriptorProto, package: str) -> Facts:
    facts: Facts = {"number": field.number, "type": _type(field, package)}
    if field.label == field.LABEL_REPEATED:
        facts["repeated"] = True
    elif field.proto3_optional:
        facts["optional"] = True
    elif field.HasField("oneof_index"):
        facts["oneof"] = message.oneof_decl[field.oneof_index].name
    return facts


def _type(field: FieldDescriptorProto, package: str) -> str:
    scalar = FieldDescriptorProto.Type.Name(field.type).removeprefix("TYPE_").lower()
    return _own(field.type_name, package) or scalar


def _method(method: MethodDescriptorProto, package: str) -> Facts:
    sends = "stream " * method.client_streaming + _own(method.input_type, package)
    gives = "stream " * method.server_streaming + _own(method.output_type, package)
    level = MethodOptions.IdempotencyLevel.Name(method.options.idempotency_level)
    return {"takes": sends, "gives": gives, "idempotency": level}


def _own(name: str, package: str) -> str:
    return name.removeprefix(f".{package}.").removeprefix(".")


def read_contract(path: Path) -> Contract:
    """A list that was kept."""
    kept: Contract = yaml.safe_load(path.read_text())
    return kept


def keep(contract: Contract, path: Path, meant: frozenset[str]) -> dict[str, str]:
    """Write a list in the place of the one before, unless it breaks more than is meant.

    Returns:
        What was not meant; then nothing is written.
    """
    broken = breaks(read_contract(path), contract) if path.exists() else {}
    refused = {name: fault for name, fault in broken.items() if name not in meant}
    if not refused:
        path.write_text(yaml.safe_dump(contract, sort_keys=False, default_flow_style=None))
    return refused


def main() -> None:
    """Keep the contract of this tree."""
    from nar.v1 import retrieval_pb2

    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--list", type=Path, default=BASELINE, help="where it is kept")
    parser.add_argument("--break", dest="meant", action="append", default=[], metavar="NAME")
    given = parser.parse_args()
    file = FileDescriptorProto.FromString(retrieval_pb2.DESCRIPTOR.serialized_pb)
    refused = keep(contract_of(file), given.list, frozenset(given.meant))
    if refused:
        faults = "\n".join(f"  {name}: {fault}" for name, fault in refused.items())
        sys.exit(f"clients break:\n{faults}\nif that is meant: --break NAME for each")


if __name__ == "__main__":
    main()
