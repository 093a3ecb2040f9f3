"""A small DNS server on 127.0.0.1, over UDP and, for what is too long for that, TCP."""

import asyncio
import contextlib

import dns.flags
import dns.message
import dns.rcode
import dns.rrset
import pytest
from msgspec import structs

from leadwire.infrastructure import settings, txt_records

_LARGEST = 512  # bytes over UDP: the rest has to be asked for by TCP


class DnsServer(asyncio.DatagramProtocol):
    """`texts`: the TXT records of each name, in lower case; a record in parts is a tuple. `faults`: rcodes instead, or
    None for no answer at all.
    """

    def __init__(self):
        self.texts, self.faults, self.asked = {}, {}, []

    def connection_made(self, transport):
        self.transport = transport

    def datagram_received(self, data, sender):
        if (answer := self._answer(data)) is None:
            return
        wire = answer.to_wire()
        if len(wire) > _LARGEST:
            answer.answer.clear()
            answer.flags |= dns.flags.TC
            wire = answer.to_wire()
        self.transport.sendto(wire, sender)

    async def stream(self, reader, writer):
        with contextlib.suppress(asyncio.IncompleteReadError):
            size = int.from_bytes(await reader.readexactly(2))
            if answer := self._answer(await reader.readexactly(size)):
                wire = answer.to_wire()
                writer.write(len(wire).to_bytes(2) + wire)
        writer.close()

    def _answer(self, data):
        query = dns.message.from_wire(data)
        (question,) = query.question
        name = question.name.to_text(omit_final_dot=True).lower()
        self.asked.append(name)
        answer = dns.message.make_response(query)
        if name in self.faults:
            if self.faults[name] is None:
                return None
            answer.set_rcode(self.faults[name])
        elif name not in self.texts:
            answer.set_rcode(dns.rcode.NXDOMAIN)
        elif records := self.texts[name]:
            parts = [record if isinstance(record, tuple) else (record,) for record in records]
            quoted = [" ".join(f'"{part}"' for part in record) for record in parts]
            answer.answer.append(dns.rrset.from_text_list(question.name, 300, "IN", "TXT", quoted))
        return answer


@contextlib.asynccontextmanager
async def dns_server():
    """The server, inside the block; `address` is where it is."""
    made, loop = DnsServer(), asyncio.get_running_loop()
    streams = await asyncio.start_server(made.stream, "127.0.0.1", 0)
    made.address = streams.sockets[0].getsockname()
    datagrams, _ = await loop.create_datagram_endpoint(lambda: made, local_addr=made.address)
    try:
        yield made
    finally:
        datagrams.close()
        streams.close()


@pytest.fixture
async def resolver(database, monkeypatch):
    """The resolver that this process asks."""
    async with dns_server() as made:
        told = structs.replace(settings.get(), dns_resolver=made.address)
        monkeypatch.setattr(settings, "get", lambda: told)
        monkeypatch.setattr(txt_records, "_PATIENCE", 60.0)  # for a slow machine
        yield made
