"""An empty place for an index: Milvus Lite, or where a test says `on_both` a server, too."""

import pytest

from nar.index.settings import IndexConfig


@pytest.fixture
def config(request, tmp_path):
    """Milvus Lite; a server too, which takes seconds a build, where a test says `on_both`."""
    if getattr(request, "param", "lite") == "lite":
        return IndexConfig(uri=str(tmp_path / "index.db"))
    # An alias has 64 letters at most, and a second one is made from it.
    alias = request.function.__name__[:56]
    # Beside other tests a server may take longer to drop a collection than a user would wait.
    return IndexConfig(uri=request.getfixturevalue("milvus_uri"), alias=alias, timeout_s=60.0)
