"""The name of NAR's distribution, and its release."""

from typing import Final

# Not `nar`, which is somebody else's on the public index; what is imported is `nar`.
DISTRIBUTION: Final = "nar-search"


def version() -> str:
    """The release that is installed."""
    # Imported here: it imports a parser of e-mails, which no other part of a command needs.
    from importlib import metadata

    return metadata.version(DISTRIBUTION)
