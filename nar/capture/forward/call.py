"""One call of an ATen operator as the emitters see it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from nar.capture.trace import Shape


@dataclass(frozen=True, slots=True)
class Call:
    """An operator's arguments, its tensor operands as values, and the shape it gave.

    Attributes:
        name: ATen name without overload and without the underscore of in-place variants.
        args: Positional arguments.
        kwargs: Keyword-only arguments.
        values: Tensor arguments in order, lists of tensors laid flat.
        shapes: Their shapes.
        shape: Shape of the (first) result.
    """

    name: str
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    values: tuple[int, ...]
    shapes: tuple[Shape, ...]
    shape: Shape

    def argument(self, position: int, default: object = None) -> Any:  # noqa: ANN401
        """A positional argument, or what stands for it where the call leaves it out."""
        return self.args[position] if position < len(self.args) else default

    def literals(self) -> tuple[float, ...]:
        """Python numbers among the positional arguments."""
        return tuple([a for a in self.args if type(a) in (int, float)])
