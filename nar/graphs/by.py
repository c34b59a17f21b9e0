"""What a search asks for: which part of a design its hits should share with it.

- ``design``: the whole of it.
- ``family``: what it is for, which of a composed model is its decoder or head.
- ``trunk``: what it stands on, which of a composed model is its encoder.
- ``copy``: as much of its structure as can be: what it is a copy, a change or a part of.
"""

from typing import Literal

By = Literal["design", "family", "trunk", "copy"]
