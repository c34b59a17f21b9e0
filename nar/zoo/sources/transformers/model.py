"""What a function of this package takes for a model: transformers is imported late, so any."""

from typing import Any

# A ``PreTrainedModel``; its configuration is as untyped.
Model = Any
