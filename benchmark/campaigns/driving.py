"""Drivers of bulk jobs: the commands as processes, forked after everything is imported.

A driver that starts from nothing imports for seconds; a campaign starts hundreds.
"""

import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from multiprocessing import forkserver, get_context
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Final
from unittest.mock import patch

from benchmark.campaigns.broken import Broken

COMMANDS: Final = ("extract", "draw", "embed")
HOOK: Final = "benchmark.campaigns.broken.install_from_environment"


@dataclass(frozen=True)
class Driver:
    """A command that runs, or ran.

    Attributes:
        process: It.
        log: What it says.
    """

    process: ForkServerProcess
    log: Path

    @property
    def pid(self) -> int:
        """Its number."""
        assert self.process.pid is not None
        return self.process.pid

    @property
    def has_ended(self) -> bool:
        """Whether it is over."""
        return self.process.exitcode is not None

    def ended(self, limit_s: float) -> int | None:
        """Its exit code, negative after a signal; None where it does not end in time."""
        self.process.join(limit_s)
        code = self.process.exitcode
        if code is None:
            self.process.kill()
            self.process.join()
        return code

    @cached_property
    def output(self) -> str:
        """All that the driver printed, once it has ended."""
        return self.log.read_text()

    @property
    def is_clear(self) -> bool:
        """Whether it ended with an error of ours, and nothing else but progress."""
        return "Traceback" not in self.output and any(
            line.startswith("error ") for line in self.output.splitlines()
        )


class Drivers:
    """Starts drivers.

    Args:
        environment: Of every driver.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = dict(environment)
        self._context = get_context("forkserver")
        self._context.set_forkserver_preload(
            ["torch", "pyarrow.parquet", "pymilvus", *(f"cluster.{each}" for each in COMMANDS)]
        )
        # Ray reads the token when it is imported: in the process that drivers are forked from.
        with patch.dict(os.environ, environment):
            forkserver.ensure_running()

    def start(
        self, command: Sequence[str], log: Path, broken: Broken | None, *, in_workers: bool
    ) -> Driver:
        """Start a command.

        Args:
            command: One of `COMMANDS`, and its options.
            log: File of what it says.
            broken: What fails; None for nothing.
            in_workers: Whether that fails in the workers instead of the driver.
        """
        told = (self._environment, tuple(command), log, broken, in_workers)
        process = self._context.Process(target=_drive, args=told)
        process.start()
        return Driver(process, log)


def _drive(
    environment: Mapping[str, str],
    command: Sequence[str],
    log: Path,
    broken: Broken | None,
    in_workers: bool,
) -> None:
    """What a driver does: what its command does on a command line."""
    os.environ.update(environment)
    with log.open("w") as file:
        for stream in (sys.stdout, sys.stderr):
            os.dup2(file.fileno(), stream.fileno())
    name, *options = command
    app = import_module(f"cluster.{name}").app
    if broken is not None and not in_workers:
        broken.install()
    with _breaking_workers(broken) if broken is not None and in_workers else nullcontext():
        app(options)


def _breaking_workers(broken: Broken):
    """A connection whose workers suffer it."""
    import logging

    import ray

    from cluster.config import ClusterConfig

    return ray.init(
        runtime_env={
            "env_vars": {**ClusterConfig().env_vars, **broken.environment()},
            "worker_process_setup_hook": HOOK,
        },
        log_to_driver=False,
        logging_level=logging.ERROR,
    )
