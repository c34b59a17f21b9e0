"""Fingerprints of fifty well-known models. Writing them anew is a decision: it moves every corpus.

``python tests/golden.py`` captures the models of `golden.yaml` and writes what it finds.
"""

from pathlib import Path

import yaml

from nar.own import capture_architecture

FILE = Path(__file__).with_name("golden.yaml")


def read() -> dict[str, dict[str, object]]:
    goldens: dict[str, dict[str, object]] = yaml.safe_load(FILE.read_text())
    return goldens


def measure(name: str) -> dict[str, object]:
    item = capture_architecture(name).architecture
    sizes = {"nodes": item.graph.nodes, "parameters": item.graph.parameters}
    return {**sizes, "topology": item.topology, "exact": item.exact}


if __name__ == "__main__":
    written = {name: measure(name) for name in read()}
    FILE.write_text(yaml.safe_dump(written, sort_keys=False))
