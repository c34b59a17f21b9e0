"""What `nar serve` does: run the query server on the index of a workspace, or on the atlas."""

from collections.abc import Mapping

from nar.atlas import atlas_novelty, shipped_atlas
from nar.cli.atlas_commands import unpacked
from nar.cli.choices import IndexChoice
from nar.encoding.checkpoint import fingerprint, load_checkpoint
from nar.novelty import read_novelty
from nar.serve.logs import log_to_stderr
from nar.serve.run import serve as run_server


def serve(choice: IndexChoice, given: Mapping[str, str | int | None]) -> None:
    """Run the query server; what the command line gives stands above the configuration file."""
    config = choice.config()
    changed = {name: value for name, value in given.items() if value is not None}
    config = config.model_copy(update={"server": config.server.model_copy(update=changed)})
    log_to_stderr(config.server)
    if choice.wants_atlas:
        atlas = shipped_atlas()
        index = config.index.model_copy(update={"uri": str(unpacked(atlas))})
        with_atlas = config.model_copy(update={"index": index})
        run_server(with_atlas, atlas.encoder, novelty=atlas_novelty(atlas))
    else:
        encoder = fingerprint(load_checkpoint(choice.workspace.checkpoint))
        novelty = read_novelty(choice.workspace.novelty, encoder=encoder)
        run_server(config, choice.workspace.checkpoint, novelty=novelty)
