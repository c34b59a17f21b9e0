"""``python -m benchmark``: the commands of the benchmark."""

from benchmark.commands import app

if __name__ == "__main__":
    app()
