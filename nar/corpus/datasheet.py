"""The datasheet of a corpus: fixed text, filled with what its manifest says."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from string import Template

from nar.base.workspace import DISTRIBUTION, package_text
from nar.corpus.manifest import Counts, Manifest
from nar.zoo.sources import licences

# Licences of two packages that are no source, NAR's under the name that older corpora have, too. No
# file of any package of the datasheet is in a corpus.
_OWN_LICENCES = {**dict.fromkeys((DISTRIBUTION, "nar"), "Apache-2.0"), "torch": "BSD-3-Clause"}
_SHOWN_REASONS = 20  # chosen: the most frequent fit on a page; the manifest has all
_LONGEST_REASON = 120  # characters; chosen: a row of a table stays one line of a wide window


def datasheet(manifest: Manifest) -> str:
    """The datasheet as Markdown; the same manifest gives the same text."""
    template = package_text("corpus", "datasheet.md")
    totals = manifest.totals
    cores = f" on {manifest.cores} processor cores" if manifest.cores else ""
    return Template(template).substitute(
        raw=f"{totals.everything.raw:,}",
        exact=f"{totals.everything.exact:,}",
        topology=f"{totals.everything.topology:,}",
        headline_exact=f"{totals.headline.exact:,}",
        headline_topology=f"{totals.headline.topology:,}",
        tiers=_tiers(manifest),
        sources=_sources(manifest),
        packages=_packages(manifest),
        failed=f"{len(manifest.failures):,}",
        failures=_failures(manifest),
        skipped=_skipped(manifest),
        unknown=_unknown(manifest),
        cost=f"{manifest.seconds / 3600:.2f} hours with {manifest.workers} workers{cores}",
        shards=str(len(manifest.shards)),
    )


def _tiers(manifest: Manifest) -> str:
    rows = [(tier, *_counts(count)) for tier, count in manifest.totals.tiers.items()]
    return _table(("tier", "captured", "distinct networks", "distinct designs"), rows)


def _sources(manifest: Manifest) -> str:
    columns = ("source", "captured", "distinct networks", "distinct designs", "failed")
    rows = [
        (source, *_counts(count), f"{count.failed:,}") for source, count in manifest.sources.items()
    ]
    return _table(columns, rows)


def _packages(manifest: Manifest) -> str:
    known = {_normal(name): licence for name, licence in (licences() | _OWN_LICENCES).items()}
    rows = [
        (name, version, known.get(_normal(name), "see the package"))
        for name, version in manifest.packages.items()
    ]
    return _table(("package", "version", "licence of its code"), rows)


def _normal(distribution: str) -> str:
    """The form in which two spellings of a package's name are equal."""
    return re.sub(r"[-_.]+", "-", distribution).lower()


def _failures(manifest: Manifest) -> str:
    reasons = Counter(failure.reason for failure in manifest.failures)
    if not reasons:
        return "None failed."
    shown = sorted(reasons.items(), key=lambda pair: (-pair[1], pair[0]))[:_SHOWN_REASONS]
    table = _table(("models", "reason"), [(f"{count:,}", reason) for reason, count in shown])
    more = len(reasons) - len(shown)
    return f"{table}\n\n{more:,} more reasons are in the manifest." if more else table


def _skipped(manifest: Manifest) -> str:
    if not manifest.skipped:
        return "No source that was asked for was left out."
    rows = [(skipped.source, skipped.reason) for skipped in manifest.skipped]
    return _table(("source left out", "reason"), rows)


def _unknown(manifest: Manifest) -> str:
    if not manifest.unknown_operators:
        return "Every operator that occurred has a class of its own."
    named = (f"`{name}` ({count:,})" for name, count in manifest.unknown_operators.items())
    return f"Operators without a class, kept under a hashed one: {', '.join(named)}."


def _counts(count: Counts) -> tuple[str, str, str]:
    return (f"{count.raw:,}", f"{count.exact:,}", f"{count.topology:,}")


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(_cell, line))} |" for line in lines)


def _cell(text: str) -> str:
    plain = " ".join(text.split()).replace("|", "\\|")
    return plain if len(plain) <= _LONGEST_REASON else plain[: _LONGEST_REASON - 3] + "..."
