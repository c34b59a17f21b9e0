"""Options of a command that together make one argument of the function behind it."""

from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter, Signature, signature


def signature_with(
    command: Callable[..., None], options: Mapping[str, Sequence[Parameter]]
) -> Signature:
    """The signature of a command with options in the place of some of its parameters.

    Args:
        command: The function behind the command.
        options: By the name of the parameter in whose place they stand.

    Example:
        >>> def command(name: str, asking: object) -> None: ...
        >>> option = Parameter("input", Parameter.KEYWORD_ONLY, annotation=str)
        >>> list(signature_with(command, {"asking": [option]}).parameters)
        ['name', 'input']
    """
    own = signature(command)
    parameters = [
        each
        for parameter in own.parameters.values()
        for each in options.get(parameter.name, [parameter])
    ]
    return own.replace(
        parameters=[each.replace(kind=Parameter.KEYWORD_ONLY) for each in parameters]
    )
