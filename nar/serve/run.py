"""`nar serve`: open checkpoint and index, serve until SIGTERM or SIGINT, leave nothing behind."""

import asyncio
import signal
from collections.abc import Callable
from pathlib import Path

from nar.config import NarConfig
