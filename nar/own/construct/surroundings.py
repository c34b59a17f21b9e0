"""What a user's code finds in place of its command line: parsers have no arguments."""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from unittest.mock import patch


@contextmanager
def parsers_without_arguments() -> Iterator[None]:
    """Inside, every ``parse_args`` gives the defaults."""
    real = ArgumentParser.parse_known_args

    def known(
        self: ArgumentParser,
        args: Sequence[str] | None = None,
        namespace: Namespace | None = None,
    ) -> tuple[Namespace, list[str]]:
        for action in self._actions:
            action.required = False
            # A required positional argument is asked for by its number.
            if not action.option_strings and action.nargs is None:
                action.nargs = "?"
        return real(self, [] if args is None else args, namespace)

    def whole(
        self: ArgumentParser,
        args: Sequence[str] | None = None,
        namespace: Namespace | None = None,
    ) -> Namespace:
        return known(self, args, namespace)[0]

    with (
        patch.object(ArgumentParser, "parse_known_args", known),
        patch.object(ArgumentParser, "parse_args", whole),
    ):
        yield
