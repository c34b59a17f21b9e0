"""The graph that a deployed model shares with its source: a view beside the graph as written.

Who deploys a model folds its batch norms into the layers before them, and merges parallel branches
into one convolution and adapters of low rank into the layers that they adapt. Both graphs have the
same normal form.
"""

from typing import Final

from nar.graphs.normal_form.folding import inference_fingerprint, normal_form

__all__ = ["NORMAL_FORM_VERSION", "inference_fingerprint", "normal_form"]

# To be raised when some graph gets another normal form: what is stored of the others is made anew.
NORMAL_FORM_VERSION: Final = 2
