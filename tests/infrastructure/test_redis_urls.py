"""The forms of LEADWIRE_REDIS_URL: what each makes a client of, and what is refused."""

from typing import Any

import pytest
from redis.asyncio import SSLConnection
from redis.asyncio.cluster import RedisCluster
from redis.asyncio.sentinel import SentinelManagedSSLConnection

from leadwire.infrastructure.errors import OperatorError
from leadwire.infrastructure.redis_pool import create_client


def known(options: dict[str, Any]) -> dict[str, Any]:
    """Host, port and credentials."""
    return {name: options[name] for name in ("host", "port", "username", "password") if options.get(name) is not None}


def test_a_sentinel_group_has_credentials_of_its_servers_and_of_its_sentinels() -> None:
    pool: Any = create_client(
        "redis+sentinel://ada:s%2Cc@one:26380,[::1]/streams?sentinel_password=other&db=3"
    ).connection_pool
    assert pool.service_name == "streams"
    assert known(pool.connection_kwargs) == {"username": "ada", "password": "s,c"}
    assert pool.connection_kwargs["db"] == 3
    assert [known(one.connection_pool.connection_kwargs) for one in pool.sentinel_manager.sentinels] == [
        {"host": "one", "port": 26380, "password": "other"},
        {"host": "::1", "port": 26379, "password": "other"},
    ]


def test_with_tls_the_sentinels_are_asked_over_it_as_well() -> None:
    pool: Any = create_client("rediss+sentinel://one,two/streams?ssl_ca_certs=/ca.pem&socket_timeout=7").connection_pool
    assert issubclass(pool.connection_class, SentinelManagedSSLConnection)
    assert (pool.connection_kwargs["ssl_ca_certs"], pool.connection_kwargs["socket_timeout"]) == ("/ca.pem", 7)
    for one in pool.sentinel_manager.sentinels:
        assert issubclass(one.connection_pool.connection_class, SSLConnection)
        assert one.connection_pool.connection_kwargs["ssl_ca_certs"] == "/ca.pem"


@pytest.mark.parametrize("scheme", ["redis", "rediss"])
def test_a_cluster_is_learned_from_any_of_its_servers(scheme: str) -> None:
    client: Any = create_client(f"{scheme}+cluster://ada:secret@one:7000,two,[::1]:7001")
    assert isinstance(client, RedisCluster)
    nodes = client.nodes_manager.startup_nodes.values()
    assert [(one.name, known(one.connection_kwargs)) for one in nodes] == [
        (name, known({"host": host, "port": port, "username": "ada", "password": "secret"}))
        for name, host, port in (("one:7000", "one", 7000), ("two:6379", "two", 6379), ("::1:7001", "::1", 7001))
    ]
    assert all(issubclass(one.connection_class, SSLConnection) == (scheme == "rediss") for one in nodes)


@pytest.mark.parametrize("url", ["redis://one", "redis+sentinel://one/streams", "redis+cluster://one"])
def test_a_patient_client_waits_longer_unless_the_address_says_how_long(url: str) -> None:
    def times(client: Any) -> tuple[float, float]:
        nodes = [*client.nodes_manager.startup_nodes.values()] if isinstance(client, RedisCluster) else []
        options = nodes[0].connection_kwargs if nodes else client.connection_pool.connection_kwargs
        return options["socket_connect_timeout"], options["socket_timeout"]

    usual = times(create_client(url))
    assert times(create_client(url, 30.0)) == (30.0, 30.0) > usual
    assert times(create_client(url, 0.5)) == usual, "never shorter than a process waits"
    assert times(create_client(f"{url}?socket_timeout=7", 30.0)) == (30.0, 7)


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("http://one", "redis://"),
        ("redis+other://one", "redis+sentinel://HOST,HOST/NAME"),
        ("unix+cluster:///socket", "redis+cluster://HOST,HOST"),
        ("redis+sentinel://one,two", "name of their primary"),
        ("redis+sentinel://one,two/a/b", "name of their primary"),
        ("redis+sentinel:///streams", "a host is missing"),
        ("redis+cluster://", "a host is missing"),
        ("redis+cluster:one", "a host is missing"),
        ("redis://[one", "IPv6"),
        ("redis+sentinel://[one,two/streams", "IPv6"),
        ("redis+cluster://one,", "a host is missing"),
        ("redis+cluster://one:port", "port"),
        ("redis+cluster://one/2", "neither a name nor numbered databases"),
        ("redis+cluster://one?db=2", "db"),
        ("redis+cluster://one?unknown=2", "unknown"),
    ],
)
def test_what_is_no_address_of_a_redis_is_told_in_one_line(url: str, why: str) -> None:
    with pytest.raises(OperatorError, match=r"^LEADWIRE_REDIS_URL cannot be used: ") as refused:
        create_client(url.replace("://", "://ada:s3cret@", 1) if "one" in url else url)
    assert why.lower() in str(refused.value).lower()
    assert "s3cret" not in str(refused.value)
    assert "\n" not in str(refused.value)
