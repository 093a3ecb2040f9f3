"""The receiver that delivery tests rely on: it must count, answer, hang and close exactly as configured."""

import asyncio

import pytest

from tests.receiver import Receiver


async def post(receiver: Receiver, *bodies: bytes, path: str = "/hook") -> list[int]:
    """POST each body in turn on one kept-alive connection; the statuses."""
    reader, writer = await asyncio.open_connection("127.0.0.1", receiver.port)
    try:
        return [await _exchange(reader, writer, path, body) for body in bodies]
    finally:
        writer.close()


async def _exchange(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, path: str, body: bytes) -> int:
    head = (
        f"POST {path} HTTP/1.1\r\nHost: a\r\nWebhook-Id: evt_1\r\nX-Service-Attempt: 2\r\nContent-Length: {len(body)}"
    )
    writer.write(head.encode() + b"\r\n\r\n" + body)
    answer = (await reader.readuntil(b"\r\n\r\n")).decode()
    if "Content-Length: 2" in answer:
        assert await reader.readexactly(2) == b"ok"
    return int(answer.split(" ")[1])


async def test_a_delivery_is_kept_as_it_came():
    async with Receiver() as receiver:
        body = '{"event":"lead.created","data":{"name":"Zoë"}}'.encode()
        assert await post(receiver, body, path="/some/where?x=1") == [204]
        [delivery] = await receiver.received(1)
        assert (delivery.path, delivery.body, delivery.event) == ("/some/where?x=1", body, "lead.created")
        assert (delivery.webhook_id, delivery.attempt) == ("evt_1", 2)


async def test_a_connection_is_kept_alive_and_bodies_do_not_run_together():
    async with Receiver(answer=200) as receiver:
        bodies = [b"{}", b"", b"x" * 300_000, b"\r\n\r\nPOST / HTTP/1.1\r\n\r\n"]
        assert await post(receiver, *bodies) == [200] * 4
        assert [delivery.body for delivery in receiver.deliveries] == bodies


async def test_answers_are_a_number_or_a_function_of_the_delivery():
    async with Receiver() as receiver:
        receiver.answer = lambda delivery: 500 if delivery.path == "/slow" else 201
        assert await post(receiver, b"{}", path="/slow") == [500]
        assert await post(receiver, b"{}") == [201]
        receiver.answer = 410
        assert await post(receiver, b"{}") == [410]


async def test_while_hanging_it_receives_and_answers_nobody():
    async with Receiver() as receiver, asyncio.TaskGroup() as tasks:
        receiver.hang()
        posting = [tasks.create_task(post(receiver, b"{}")) for _ in range(3)]
        await receiver.received(3)
        assert not any(task.done() for task in posting)
        receiver.release()
        assert await asyncio.gather(*posting) == [[204]] * 3


async def test_it_ends_although_it_hangs():
    async with Receiver() as receiver:
        receiver.hang()
        posting = asyncio.create_task(post(receiver, b"{}"))
        await receiver.received(1)
    async with asyncio.timeout(240):
        await asyncio.wait([posting])
    if posting.exception() is not None:
        assert isinstance(posting.exception(), asyncio.IncompleteReadError | ConnectionError)


async def test_waiting_for_more_than_comes_ends_in_time():
    async with Receiver() as receiver:
        await post(receiver, b"{}")
        with pytest.raises(TimeoutError):
            await receiver.received(2, seconds=0.05)


async def test_a_sender_who_leaves_within_the_body_made_no_delivery():
    async with Receiver() as receiver:
        _, writer = await asyncio.open_connection("127.0.0.1", receiver.port)
        writer.write(b"POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\n{")
        writer.close()
        await writer.wait_closed()
        await post(receiver, b"{}")
        assert [delivery.body for delivery in await receiver.received(1)] == [b"{}"]


async def test_it_keeps_up_with_many_connections_at_once():
    async with Receiver() as receiver:
        answered = await asyncio.gather(*[post(receiver, *[b'{"event":"x"}'] * 40) for _ in range(50)])
        assert answered == [[204] * 40] * 50
        assert len(await receiver.received(2000)) == 2000
