from __future__ import annotations

import asyncio

import anyio.to_thread
from starlette.types import Message, Receive, Scope, Send

from lastseen.server.middleware import RobotFirst


async def _nothing() -> Message:
    return {"type": "http.request"}


async def _nowhere(message: Message) -> None:
    return


def tokens() -> float:
    return anyio.to_thread.current_default_thread_limiter().total_tokens


def scope(path: str) -> Scope:
    return {"type": "http", "path": path}


def test_no_question_is_begun_while_a_frame_is_taken() -> None:
    async def run() -> list[float]:
        seen = []

        async def app(asked: Scope, receive: Receive, send: Send) -> None:
            seen.append(tokens())

        first = RobotFirst(app, readers=4, patience=10.0)
        anyio.to_thread.current_default_thread_limiter().total_tokens = 4
        await first(scope("/stats"), _nothing, _nowhere)
        await first(scope("/ingest/frames"), _nothing, _nowhere)
        return [*seen, tokens()]

    assert asyncio.run(run()) == [4, 0, 4]


def test_questions_do_not_wait_longer_than_the_patience_and_get_their_share() -> None:
    async def run() -> list[float]:
        seen = []

        async def slow(asked: Scope, receive: Receive, send: Send) -> None:
            seen.append(tokens())
            await asyncio.sleep(0.1)
            seen.append(tokens())

        first = RobotFirst(slow, readers=4, patience=0.02)
        for _ in range(2):
            await first(scope("/ingest/frames"), _nothing, _nowhere)
        # the next frame at once after a long hold goes without one
        quick = RobotFirst(slow, readers=4, patience=10.0)
        for _ in range(2):
            await quick(scope("/ingest/frames"), _nothing, _nowhere)
        return seen

    assert asyncio.run(run()) == [0, 4, 0, 4, 0, 0, 4, 4]
