"""Both clients behind the methods of one: what is tested of them is written once."""

import asyncio
import inspect
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from typing import Any, Final, Self

from nar.client.async_client import AsyncClient
from nar.client.client import Client


class Awaiting:
    """An `AsyncClient` on an event loop of its own; its methods wait, as those of `Client` do."""

    def __init__(self, *arguments: object, **settings: object) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()
        try:
            self._client = self._run(_opened(partial(AsyncClient, *arguments, **settings)))
        except BaseException:
            self._end()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def close(self) -> None:
        self._run(self._client.close())
        self._end()

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return partial(self._call, getattr(self._client, name))

    def _call(self, method: Callable[..., Any], *arguments: object, **settings: object) -> Any:
        begun = method(*arguments, **settings)
        return self._each(begun) if inspect.isasyncgen(begun) else self._run(begun)

    def _each(self, items: AsyncIterator[Any]) -> Iterator[Any]:
        ended = object()
        try:
            while (item := self._run(_next(items, ended))) is not ended:
                yield item
        finally:
            self._run(items.aclose())

    def _run(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def _end(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


async def _opened(make: Callable[[], AsyncClient]) -> AsyncClient:
    return make()


async def _next(items: AsyncIterator[Any], ended: object) -> Any:
    return await anext(items, ended)


CLIENTS: Final = {"blocking": Client, "awaiting": Awaiting}
