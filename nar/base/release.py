"""What NAR is called where packages are installed, and which release this is."""

from typing import Final

# Not `nar`, which is somebody else's on the public index; what is imported is `nar`.
DISTRIBUTION: Final = "nar-search"


def version() -> str:
    """The release that is installed."""
    # It brings a parser of e-mails, which no other part of a command needs.
    from importlib import metadata

    return metadata.version(DISTRIBUTION)
