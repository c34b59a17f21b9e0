"""What the page asks beside the contract: names, the map, models, users of a block, files.

Every answer is a record of this package as JSON.
"""

import asyncio
import gzip
import json
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from threading import Event, Lock, Thread
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from starlette.requests import Request
from starlette.responses import Response

from nar.answers.answer import Graphs
from nar.answers.atlas import Atlas
from nar.answers.blocks import block_code, users_of_blocks
from nar.answers.map import read_map
from nar.answers.uses import Uses, read_uses
from nar.base.errors import InvalidQueryError, NarError, UnknownArchitectureError
from nar.base.model_files import READ
from nar.base.workspace import package_path
from nar.graphs.architecture import Architecture
from nar.index.cards import cards_file
from nar.index.filters import Filter, conditions_of
from nar.serve.http import Page, Site
from nar.serve.http.requests import chunks_of, message_reply, read_body
from nar.serve.requests import uploads_of
from nar.serve.scopes import EVERYBODY, Scope, ScopedIndex, WholeIndex
from nar.web.catalogue import (
    Catalogue,
    Models,
    Suggestion,
    read_catalogue,
    sides_as_json,
)
from nar.web.model_views import comparison, model_view
from nar.web.uploads import Files, TurnQueue, in_directory
from nar.wire.settings import ServerConfig

STATIC: Final = package_path("web", "static")
_JSON: Final = "application/json"
# Chosen: seconds between two looks at the number of rows, so long may the page miss a change.
_LOOK_S: Final = 30.0
_SIDES: Final = ("first", "second")
# Chosen: scopes whose names are held at a time, some hundred bytes for each row of a scope.
_SCOPES: Final = 64
# Chosen: users of a block that the page names, those with most occurrences first; further users are
# counted.
_NAMED: Final = 300
# Two models of more nodes, or in a longer body, are compared in a process beside. Chosen: smaller
# ones take less time than such a process takes to begin, and a node has some 15 bytes.
_LARGE_NODES: Final = 1_000
_LARGE_BYTES: Final = 16_000  # of a body: so many nodes of some 15 bytes
Asked = Mapping[str, Any]


@dataclass(frozen=True, slots=True, eq=False)
class AtlasExtras:
    """What was computed of an atlas for the page; empty for another index.

    Attributes:
        points: Where architectures stand on the map, by name.
        uses: Which architectures contain which motif, and the names of its rows.
    """

    points: Mapping[str, NDArray[np.float32]] = field(default_factory=dict)
    uses: tuple[Uses, tuple[str, ...]] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Sources:
    """What the pages read.

    Attributes:
        index: The architectures.
        graphs: Their graphs; None where the server reads no corpus.
        extras: What was computed of the architectures beforehand.
    """

    index: WholeIndex
    graphs: Graphs | None
    extras: AtlasExtras


class Pages:
    """Answers the page; computing happens in threads, files are read in processes beside.

    Args:
        sources: The index, graphs and extras that the page shows.
        config: Limits.
    """

    def __init__(self, sources: Sources, config: ServerConfig) -> None:
        self._sources = sources
        self._config = config
        self._models = Models(sources.graphs, config)
        self._files = Files(1)
        self._comparisons = TurnQueue(1, config.max_call_s)
        # Of its own, with the bounds of calls: bodies that come slowly keep no call from coming.
        self._uploads = uploads_of(config)
        self._turns = asyncio.Semaphore(config.compute_threads + config.heavy_threads)
        self._reading = Lock()
        self._catalogue: Catalogue | None = None
        self._looked_s = 0.0
        self._columns: tuple[Catalogue, bytes] | None = None
        self._of_scopes: dict[Scope, Pages] = {}

    def warm_up(self) -> None:
        """Read the index before the first request asks for it, as far as it answers already."""
        with suppress(NarError):
            self._map_content()

    def by_path(self) -> Mapping[str, Page]:
        """The handler of each path; a caller of a scope gets the page of the rows in it."""
        return {path: partial(self._of_scope, path) for path in self._handlers()}

    async def _of_scope(self, path: str, request: Request) -> Response:
        pages = self.within(getattr(request.state, "scope", EVERYBODY))
        return await pages._handlers()[path](request)

    def within(self, scope: Scope) -> "Pages":
        """The page of a scope's rows; the users of a block were counted over all rows."""
        if scope.is_whole:
            return self
        if scope not in self._of_scopes:
            if len(self._of_scopes) >= _SCOPES:
                self._of_scopes.clear()
            extras = AtlasExtras(self._sources.extras.points)
            part = Sources(ScopedIndex(self._sources.index, scope), self._sources.graphs, extras)
            pages = Pages(part, self._config)
            # The bounds are those of the whole page: a scope more is no process more.
            pages._files, pages._comparisons = self._files, self._comparisons
            pages._uploads, pages._turns = self._uploads, self._turns
            self._of_scopes[scope] = pages
        return self._of_scopes[scope]

    def _handlers(self) -> Mapping[str, Page]:
        return {
            "/page/names": self._names,
            "/page/map": self._map,
            "/page/offers": self._offers,
            "/page/model": partial(self._computed, self._model),
            "/page/diff": self._diff,
            "/page/users": partial(self._computed, self._users),
            "/page/file": self._file,
        }

    async def _names(self, request: Request) -> Response:
        text = request.query_params.get("text", "")[:200]
        return _reply([asdict(each) for each in await self._in_thread(self._suggested, text)])

    def _suggested(self, text: str) -> list[Suggestion]:
        return self._known.suggested(text)

    async def _map(self, _request: Request) -> Response:
        content = await self._in_thread(self._map_content)
        return Response(content, headers={"content-encoding": "gzip"}, media_type=_JSON)

    async def _offers(self, _request: Request) -> Response:
        """What the page can ask for: conditions, as every index has them, and kinds of files."""
        has_cards = cards_file().is_file()
        table = (
            each
            for each in conditions_of(Filter)
            if each.is_label or each.is_range or (each.words and has_cards)
        )
        return _reply({"conditions": [asdict(each) for each in table], "files": dict(READ)})

    def _map_content(self) -> bytes:
        """The map, compressed once: it is megabytes, and the same for all readers."""
        catalogue = self._known
        if self._columns is None or self._columns[0] is not catalogue:
            text = json.dumps(asdict(catalogue.columns()))
            self._columns = (catalogue, gzip.compress(text.encode(), 6))
        return self._columns[1]

    async def _computed(self, compute: Callable[[Asked], object], request: Request) -> Response:
        async with self._body(request) as body:
            return _reply(await self._in_thread(lambda: compute(_asked(body))))

    @asynccontextmanager
    async def _body(self, request: Request) -> AsyncIterator[bytes]:
        """The body of a request, whose bytes count as long as it is worked on."""
        body = await self._uploads.read(partial(read_body, request, self._config.max_message_bytes))
        let_go = self._uploads.hold(request.client.host if request.client else "", len(body))
        try:
            yield body
        finally:
            let_go()

    def _model(self, asked: Asked) -> object:
        return asdict(model_view(self._models.find(asked, self._known), self._uses))

    async def _diff(self, request: Request) -> Response:
        """Two models side by side; large ones are compared in a process beside."""
        async with self._body(request) as body:
            sides = await self._in_thread(self._sides, body)
            if _are_small(sides):
                report = await self._in_thread(comparison, *sides, self._config.max_call_nodes)
            else:
                report = await self._compared_apart(request, sides)
            return _reply(await self._in_thread(self._with_users, report))

    def _sides(self, body: bytes) -> list[Architecture | Asked]:
        """Two models; a graph that came stays as it came where to read it would take long."""
        parts = [_part(_asked(body), side) for side in _SIDES]
        is_large = len(body) > _LARGE_BYTES
        return [
            each if is_large and "graph" in each else self._models.find(each, self._known)
            for each in parts
        ]

    async def _compared_apart(
        self, request: Request, sides: Sequence[Architecture | Asked]
    ) -> dict[str, Any]:
        config = self._config
        bounds = {"max_nodes": config.max_nodes, "max_edges": config.max_edges}
        task = {"kind": "comparison", "bounds": bounds, "max_nodes": config.max_call_nodes}
        async with self._comparisons.taken(), _set_when_left(request) as ending:
            answer = await asyncio.to_thread(
                lambda: in_directory(task, sides_as_json(sides), config.max_call_s, ending)
            )
        report: dict[str, Any] = json.loads(answer)
        return report

    def _with_users(self, report: dict[str, Any]) -> dict[str, Any]:
        """A comparison with how many architectures use each block, where that was counted."""
        if self._uses is not None:
            for side in _SIDES:
                codes = [int(motif["code"], 16) for motif in report[side]["motifs"]]
                for motif, users in zip(
                    report[side]["motifs"], self._uses.how_many(codes), strict=True
                ):
                    motif["users"] = users
        return report

    def _users(self, asked: Asked) -> object:
        text, family = (str(asked.get(name, "")) for name in ("code", "family"))
        code = block_code(text)
        if code is None:
            raise InvalidQueryError("code", f"wanted 16 hexadecimal digits, came {text[:40]!r}")
        if self._sources.extras.uses is None:
            raise UnknownArchitectureError(
                "the users of this index's blocks were not counted; `nar atlas draw` counts them"
            )
        uses, names = self._sources.extras.uses
        found = users_of_blocks([code], uses, [self._known.names.get(name) for name in names])
        users = found.of_family(family)
        return {
            "code": text,
            "total": len(users),
            "families": list(found.families.items()),
            "users": [asdict(user) for user in users[:_NAMED]],
        }

    async def _file(self, request: Request) -> Response:
        name = request.query_params.get("name", "")[:200]
        parts = chunks_of(request, self._config.max_file_bytes)
        graph = await self._files.graph(name, parts, partial(_set_when_left, request))
        return await message_reply(graph, "")

    async def _in_thread(self, work: Callable[..., Any], *arguments: object) -> Any:  # noqa: ANN401
        async with self._turns:
            return await asyncio.to_thread(work, *arguments)

    @property
    def _uses(self) -> Uses | None:
        return self._sources.extras.uses[0] if self._sources.extras.uses else None

    @property
    def _known(self) -> Catalogue:
        """What the index holds; what has changed in it is seen after a while."""
        with self._reading:
            index, now = self._sources.index, time.monotonic()
            if self._catalogue is None or now - self._looked_s > _LOOK_S:
                # Labels move rows into a scope and out of it, whose number may stay the same.
                is_part = isinstance(index, ScopedIndex)
                if (
                    self._catalogue is None
                    or is_part
                    or index.count() != len(self._catalogue.names)
                ):
                    self._catalogue = read_catalogue(index, self._sources.extras.points)
                self._looked_s = now
            return self._catalogue


def _are_small(sides: Sequence[Architecture | Asked]) -> bool:
    known = [each for each in sides if isinstance(each, Architecture)]
    return len(known) == len(sides) and sum(each.graph.nodes for each in known) <= _LARGE_NODES


@asynccontextmanager
async def _set_when_left(request: Request) -> AsyncIterator[Event]:
    """An event that is set once the sender of a request whose body was read has left."""
    left = asyncio.ensure_future(_until_left(request))
    ending = Event()
    left.add_done_callback(lambda _: ending.set())
    try:
        yield ending
    finally:
        left.cancel()


async def _until_left(request: Request) -> None:
    """Wait until the sender of a request whose body was read has left."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _asked(body: bytes) -> Asked:
    """A JSON object.

    Raises:
        InvalidQueryError: The body is no JSON object.
    """
    try:
        asked = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise InvalidQueryError("body", f"wanted JSON, came {error}") from error
    return _object(asked, "body")


def _part(asked: Asked, side: str) -> Asked:
    return _object(asked.get(side), side)


def _object(given: object, field: str) -> Asked:
    if not isinstance(given, dict):
        raise InvalidQueryError(field, f"wanted an object, came {type(given).__name__}")
    return given


def _reply(report: object) -> Response:
    return Response(json.dumps(report), media_type=_JSON)


def atlas_extras(atlas: Atlas, names: tuple[str, ...]) -> AtlasExtras:
    """The map and the table of uses that lie beside the vectors of an atlas.

    Args:
        atlas: The atlas.
        names: Names of its architectures, in the order of the corpus.

    Raises:
        CorpusError: The map or the table of uses is damaged.
    """
    points, uses = read_map(atlas), read_uses(atlas)
    return AtlasExtras(
        {} if points is None else dict(zip(names, points, strict=True)),
        None if uses is None else (uses, names),
    )


def page_of(
    config: ServerConfig, graphs: Graphs | None, extras: AtlasExtras
) -> Callable[[WholeIndex], Site]:
    """A function that makes the parts of the page for an index, once it is open."""

    def make(index: WholeIndex) -> Site:
        sources = Sources(index, graphs, extras)
        pages = Pages(sources, config)
        Thread(target=pages.warm_up, name="page", daemon=True).start()
        return Site(pages.by_path(), STATIC)

    return make
