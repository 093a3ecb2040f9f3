"""TXT records, asked of our resolver. Whatever the name, nothing else is asked and nothing is fetched from it."""

from typing import Final

from leadwire.infrastructure import settings

_PATIENCE: Final = 5.0  # seconds for everything: UDP, and TCP for what is long


class Unanswered(Exception):
    """Nobody told the records. `fault`: no_domain, name_servers or unreachable."""

    def __init__(self, fault: str) -> None:
        super().__init__(fault)
        self.fault = fault


async def read(name: str) -> list[str]:
    """The texts of a name's TXT records; none where it has no such record. Raise Unanswered."""
    import dns.asyncresolver  # 5 MB, which few processes need

    address = settings.get().dns_resolver
    try:
        resolver = dns.asyncresolver.Resolver(configure=address is None)
        if address:
            resolver.nameservers, resolver.port = [address[0]], address[1]
        resolver.lifetime = _PATIENCE
        answer = await resolver.resolve(f"{name}.", "TXT")
    except dns.resolver.NoAnswer:
        return []
    except dns.resolver.NXDOMAIN as error:
        raise Unanswered("no_domain") from error
    except dns.exception.DNSException as error:  # without a configuration, too
        answered = any(tried[4] is not None for tried in error.kwargs.get("errors", ()))
        raise Unanswered("name_servers" if answered else "unreachable") from error
    return [b"".join(record.strings).decode(errors="replace") for record in answer]
