"""Published figures: what timm has measured of its models, accuracy and speed at one input size.

They come from the tables in the repository of timm (Apache-2.0), which are not in its wheel:
``results/results-imagenet.csv`` and ``results/benchmark-infer-amp-nchw-pt291-cu128-4090.csv``.
"""

import csv
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from nar.base.errors import CorpusError
from nar.base.files import write_whole
from nar.base.workspace import package_path

ACCURACY: Final = "results-imagenet.csv"
SPEED: Final = "benchmark-infer-amp-nchw-pt291-cu128-4090.csv"
_FILE: Final = ("data", "published.parquet")
_KEY: Final = b"nar.published"
# The highest level of zstd without `--ultra`: the file is written once, and every wheel carries it.
_LEVEL: Final = 19


@dataclass(frozen=True, slots=True)
class Published:
    """What was measured of a model with the best of its weights.

    Attributes:
        name: Name of the architecture, such as ``timm:resnet50``.
        weights: Name of the published weights.
        input_size: Height and width of the images, in pixels.
        imagenet_top1: Percent of ImageNet-1k's validation images.
        images_per_s: Images a second of one RTX 4090, mixed precision; None if not measured at
            this size.
    """

    name: str
    weights: str
    input_size: int
    imagenet_top1: float
    images_per_s: float | None


@cache
def published() -> Mapping[str, Published]:
    """The figures that ship with NAR, by name of the architecture.

    Raises:
        CorpusError: The file is missing or damaged.

    Example:
        >>> published()["timm:resnet50"].imagenet_top1 > 80
        True
    """
    path = package_path(*_FILE)
    try:
        rows = pq.ParquetFile(path).read().to_pylist()
        return {row["name"]: Published(**row) for row in rows}
    except (OSError, pa.ArrowException, KeyError, TypeError) as error:
        raise CorpusError(
            f"{path} holds no published figures: {error}; install NAR again"
        ) from error


@cache
def origin() -> str:
    """Where the figures were read, with commit and date, and their licence.

    Raises:
        CorpusError: The file is missing or damaged.
    """
    path = package_path(*_FILE)
    try:
        about = json.loads(pq.read_schema(path).metadata[_KEY])
        return f"{about['source']}, {about['licence']}"
    except (OSError, pa.ArrowException, KeyError, TypeError, ValueError) as error:
        raise CorpusError(f"{path} does not say where it is from; install NAR again") from error


def figures_of(names: Iterable[str]) -> Published | None:
    """The figures of a network with several names, from the first name that has figures."""
    known = published()
    for name in names:
        if name in known:
            return known[name]
    return None


def read_tables(directory: Path) -> list[Published]:
    """The figures in a copy of timm's ``results``, by name: the most accurate weights of each.

    Raises:
        CorpusError: A table is missing, or has other columns.
    """
    try:
        speeds = {
            (row["model"], int(row["infer_img_size"])): float(row["infer_samples_per_sec"])
            for row in _rows(directory / SPEED)
        }
        measured = [_measured(row, speeds) for row in _rows(directory / ACCURACY)]
    except (OSError, KeyError, ValueError) as error:
        raise CorpusError(f"{directory} holds no tables of timm: {error!r}") from error
    measured.sort(key=lambda each: (each.imagenet_top1, each.weights))
    best = {each.name: each for each in measured}
    return [best[name] for name in sorted(best)]


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _measured(row: Mapping[str, str], speeds: Mapping[tuple[str, int], float]) -> Published:
    model, _, weights = row["model"].partition(".")
    size = int(row["img_size"])
    return Published(f"timm:{model}", weights, size, float(row["top1"]), speeds.get((model, size)))


def write_published(figures: Iterable[Published], source: str) -> Path:
    """Write the file that ships with NAR.

    Args:
        figures: Sorted by name.
        source: Where they were read, with commit and date.
    """
    table = pa.Table.from_pylist([asdict(each) for each in figures])
    about = {"source": source, "licence": "Apache-2.0", "files": [ACCURACY, SPEED]}
    table = table.replace_schema_metadata({_KEY: json.dumps(about)})
    path = package_path(*_FILE)

    def write(part: Path) -> None:
        pq.write_table(table, part, compression="zstd", compression_level=_LEVEL)

    write_whole(path, write)
    return path
