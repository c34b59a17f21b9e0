"""The graph that a deployed model shares with its source: a view beside the graph as written.

To deploy a model, people fold its batch norms into the layers before them, and merge parallel
branches into one convolution and adapters of low rank into the layers that they adapt. The graphs
before and after have the same normal form.
"""

from typing import Final

from nar.graphs.normal_form.folding import inference_fingerprint, normal_form

__all__ = ["NORMAL_FORM_VERSION", "inference_fingerprint", "normal_form"]

# Raise it when the normal form of any graph changes: stored fingerprints are then made anew.
NORMAL_FORM_VERSION: Final = 2
