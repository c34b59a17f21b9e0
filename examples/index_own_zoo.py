"""Indexes models of one's own, without the rows of the atlas, and asks what is nearest to the last.

    python index_own_zoo.py mine.db timm:resnet18 timm:vit_tiny_patch16_224 timm:resnet34

A model is whatever `nar search` takes. A further run replaces the index, which other programs read
meanwhile as it was.
"""

import sys

import nar
from nar.answers.atlas import shipped_atlas
from nar.index.rows import index_row


def main(uri: str, *models: str) -> None:
    """Build the index, and ask it."""
    embedder = nar.Embedder(nar.load_checkpoint(shipped_atlas().encoder))
    items = [nar.capture_architecture(model).architecture for model in models]
    vectors = embedder.embed([item.graph for item in items])
    with nar.ArchitectureIndex(nar.IndexConfig(uri=uri)) as index:
        with index.build(embedder.fingerprint, embedder.dim) as build:
            build.upsert([index_row(*pair) for pair in zip(items, vectors, strict=True)])
            build.publish()
        answer = nar.Retriever(embedder, index).search(items[-1].graph, top_k=3)
    for hit in answer.hits:
        print(f"{hit.score:.3f} {hit.name}")


if __name__ == "__main__":
    main(*sys.argv[1:])
