"""Which architecture are these weights of? Reads the headers of files alone: no weight, no code.

python recognise_checkpoint.py model.safetensors checkpoint.pth
"""

import sys
from pathlib import Path

import nar
from nar.answers.recognition import recognise_file
from nar.graphs.architecture import place_of_name


def main(*files: str) -> None:
    """Print a line for each file; end with 1 where one could not be read."""
    failed = False
    for file in files:
        try:
            found = recognise_file(Path(file))
        except nar.NarError as error:
            failed = True
            print(f"{error}")
            continue
        alike = found.matches[0].models if found.matches else ()
        # Of names of one architecture, the one that people know.
        print(f"{file}: {found.text(min(alike, key=place_of_name, default=''))}")
    sys.exit(int(failed))


if __name__ == "__main__":
    main(*sys.argv[1:])
