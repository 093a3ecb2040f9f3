"""Deliveries through an operator's proxy: what it refuses is told, retried, and never lost."""

import ssl

import trustme

from leadwire.domain.webhooks import explain, reads
from tests import make
from tests.delivery.transport import hostile
from tests.delivery.transport.connect_proxy import connect_proxy
from tests.delivery.transport.test_proxy import NAME, PUBLIC, Sending
from tests.delivery.wired import endpoint


async def test_a_refusal_is_an_attempt_with_its_reason_and_the_retry_arrives(workspace, bot, wire, db_clock):
    ca = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    ca.issue_cert(NAME).configure_cert(context)
    async with hostile.server(hostile.answers, context) as port, connect_proxy({f"{PUBLIC}:443": port}) as proxy:
        await wire.transport.aclose()
        wire.transport = Sending(proxy, ca)
        made = await endpoint(workspace, f"https://{NAME}/")
        await make.lead(workspace, bot)
        proxy.answer = b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n"
        (refused,) = await wire.turn()
        assert (refused.outcome, refused.error) == ("proxy_error", "proxy refused: 407")
        proxy.answer = b"as usual"
        await db_clock.forward(61)
        (done,) = await wire.turn()
        assert (done.outcome, done.http_status) == ("delivered", 204)
    (delivery,) = await reads.deliveries_of(workspace, done.job.entry.key.event_id, made.id)
    assert [attempt.outcome for attempt in delivery.history] == ["proxy_error", "delivered"]
    assert "proxy" in explain.meaning(delivery.history[0])
