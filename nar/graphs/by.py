"""What a search asks for: which part of a design its hits should share with it.

- ``design``: the whole design.
- ``family``: what it is for; in a composed model, the decoder or head.
- ``trunk``: what it stands on; in a composed model, the encoder.
- ``copy``: as much of its structure as can be: the models that it is a copy, a change or a part of.
- ``origin``: the same without its own family and parts: the models that it may have been made from.
"""

from typing import Literal

By = Literal["design", "family", "trunk", "copy", "origin"]
