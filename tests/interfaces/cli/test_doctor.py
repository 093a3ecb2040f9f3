"""`leadwire doctor` finds what is wrong, says how to mend it, and says nothing about what is right but that it is."""

import asyncio
import json
import re
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from ops.drills import redis_topologies
from redis import Redis

from leadwire.infrastructure.settings import Settings, read
from leadwire.interfaces.cli.checks import environment, finding, redis
from leadwire.interfaces.cli.checks.finding import Finding
from leadwire.interfaces.http import NOT_TRUSTED
from leadwire_development.embedded import Services, services
from tests.flows.commands import data_directory, free_port, run
from tests.interfaces.cli.conftest import KEY, examined

INFO: dict[str, Any] = {
    "redis_version": "7.2.4", "role": "master", "cluster_enabled": 0, "maxmemory": 0, "used_memory": 2**20,
    "maxmemory_policy": "noeviction", "aof_enabled": 1, "rdb_last_bgsave_status": "ok",
}  # fmt: skip
OF_CLUSTERS = {"Redis primary", "Redis slots"}
OF_EGRESS = {about for about in finding._PROBLEMS if about.startswith("egress: ")}


def bad(findings: list[Finding]) -> dict[str, str]:
    """What is not as it should be: what about, and how bad. Each has a fix."""
    assert all(one.fix for one in findings if one.level != "ok")
    return {one.about: one.level for one in findings if one.level != "ok"}


@pytest.fixture
def evicting(servers: Services) -> Iterator[None]:
    """The Redis of the tests, as one that keeps little and forgets."""
    client: Any = Redis.from_url(servers.redis_url)
    client.config_set("maxmemory", "900mb")
    client.config_set("maxmemory-policy", "allkeys-lru")
    client.config_set("appendonly", "no")
    yield
    client.config_set("appendonly", "yes")
    client.config_set("maxmemory-policy", "noeviction")
    client.config_set("maxmemory", "0")
    client.close()


def test_a_server_that_does_not_keep_what_it_is_given_is_an_error(sound: dict[str, str], evicting: None) -> None:
    code, found = examined(**sound)
    assert code == 1
    # The servers of the tests are not durable, which is just what it has to find.
    wrong = {about: one["level"] for about, one in found.items() if one["level"] != "ok" and about != "space"}
    assert wrong == {
        "PostgreSQL fsync": "error",
        "PostgreSQL full_page_writes": "error",
        "PostgreSQL synchronous_commit": "error",
        "Redis eviction": "error",
        "Redis persistence": "warning",
    }
    assert "fsync = on" in found["PostgreSQL fsync"]["fix"]
    assert "noeviction" in found["Redis eviction"]["fix"]
    assert {
        "migrations",
        "secret key fits",
        "clock of PostgreSQL",
        "clock of Redis",
        *finding._PROBLEMS,
    } - OF_CLUSTERS - OF_EGRESS <= set(found)


def test_a_new_installation_lacks_its_migrations_and_after_them_nothing() -> None:
    with data_directory() as directory:
        settings = {"DATA_DIR": str(directory), "SECRET_KEY": KEY}
        with services(Settings(data_dir=directory)):  # makes the servers, and no tables
            pass
        code, found = examined(**settings)
        assert (code, found["migrations"]["fix"]) == (1, "run: leadwire migrate")
        assert run("migrate", **settings).returncode == 0
        code, found = examined(**settings)
        assert (code, [about for about, one in found.items() if one["level"] != "ok"]) == (0, [])
        told = run("doctor", **settings)
        assert (told.returncode, told.stdout.splitlines()[-1]) == (0, "No problems found.")


def test_what_is_away_and_what_has_no_address_are_findings_among_the_others(sound: dict[str, str]) -> None:
    nowhere = sound | {"DATABASE_URL": f"postgresql://x@127.0.0.1:{free_port()}/x", "REDIS_URL": "nonsense://"}
    code, found = examined(**nowhere)
    assert code == 1
    assert found["PostgreSQL answers"]["level"] == found["Redis address"]["level"] == "error"
    assert found["lease"]["level"] == "ok"


def test_each_host_of_the_database_is_told_of(sound: dict[str, str]) -> None:
    url, about = sound["DATABASE_URL"], "PostgreSQL hosts"
    place = url.partition("host=")[2].partition("&")[0]
    assert examined(**sound)[1][about]["says"] == "one"
    _, found = examined(**sound | {"DATABASE_URL": url.replace(place, f"/nowhere,{place}")})
    assert found[about]["level"] == "warning"
    assert found[about]["says"].startswith("/nowhere:5432: ")
    assert found[about]["says"].endswith(f"{place}:5432: primary")
    _, found = examined(**sound | {"DATABASE_URL": url.replace(place, f"{place},{place}/")})
    assert found[about]["level"] == "error"


def test_a_host_that_is_silent_does_not_hide_what_the_primary_tells(sound: dict[str, str]) -> None:
    """The old primary after a failover, dark or frozen."""
    place = sound["DATABASE_URL"].partition("host=")[2].partition("&")[0]
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        url = sound["DATABASE_URL"].replace(f"={place}", f"=127.0.0.1,{place}").replace("=5432", f"={port},5432")
        _, found = examined(**sound | {"DATABASE_URL": url})
    assert found["connection pooler"]["level"] == found["migrations"]["level"] == "ok"
    assert found["PostgreSQL hosts"]["level"] == "warning"
    assert found["PostgreSQL hosts"]["says"] == (f"127.0.0.1:{port}: no answer within 5 s; {place}:5432: primary")


def test_a_quota_near_its_end_and_an_interrupted_deletion_are_told_of(sound: dict[str, str], servers: Services) -> None:
    made = json.loads(run("workspaces", "create", "Acme", "--json", **sound).stdout)["id"]
    assert run("workspaces", "quota", made, "users", "1", **sound).returncode == 0  # the link of its first admin
    _, found = examined(**sound)
    assert (found["quotas"]["level"], f"Acme ({made}): 1 of 1 users" in found["quotas"]["says"]) == ("warning", True)
    assert found["deleted workspaces"]["level"] == "ok"

    async def interrupted() -> None:
        connection = await asyncpg.connect(servers.database_url)
        await connection.execute(
            "UPDATE workspace SET deletion_began_at = now(), suspended_at = now() WHERE id = $1", made
        )
        await connection.close()

    asyncio.run(interrupted())
    _, found = examined(**sound)
    assert f"Acme ({made})" in found["deleted workspaces"]["says"]
    assert run("workspaces", "delete", made, "--yes", "Acme", **sound).returncode == 0
    _, found = examined(**sound)
    assert [found[about]["level"] for about in ("quotas", "deleted workspaces")] == ["ok", "ok"]


def test_a_key_that_does_not_open_the_secrets_is_an_error(sound: dict[str, str]) -> None:
    other = "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE="
    made = run("endpoints", "create", "--url", "https://example.com/", "--event", "lead.created", "--json", **sound)
    assert made.returncode == 0, made
    about = "secret key fits"
    assert examined(**sound)[1][about]["level"] == "ok"
    _, found = examined(**sound | {"SECRET_KEY": other})
    assert (found[about]["level"], "encrypted with a key" in found[about]["says"]) == ("error", True)
    assert examined(**sound | {"SECRET_KEY": f"{other},{KEY}"})[1][about]["level"] == "ok"
    assert run("endpoints", "delete", json.loads(made.stdout)["id"], **sound).returncode == 0


def test_an_installation_that_names_neither_its_address_nor_its_proxies_is_warned() -> None:
    production = {"LEADWIRE_DATABASE_URL": "postgresql://db.example.com/leadwire"}
    both = {"public address": "warning", "trusted proxies": "warning"}
    assert bad(environment._in_front(Settings(), production)) == both
    assert bad(environment._in_front(Settings(), {})) == {}, "a trial on this machine"
    beside_up = read({"LEADWIRE_PUBLIC_URL": "http://127.0.0.1:8000"})
    assert bad(environment._in_front(beside_up, production)) == {}, "a command that took over the settings of `up`"
    public = read({"LEADWIRE_PUBLIC_URL": "https://leads.example.com"})
    assert bad(environment._in_front(public, {})) == {"trusted proxies": "warning"}
    named = read({"LEADWIRE_PUBLIC_URL": "https://x.example.com", "LEADWIRE_TRUSTED_PROXIES": "10.0.42.0/28"})
    assert bad(environment._in_front(named, production)) == {}


@pytest.mark.parametrize(
    ("networks", "wide"),
    [
        ("10.0.0.0/8", True), ("172.31.250.2/32, 10.0.42.0/23", True), ("10.0.42.0/24", False), ("fd00::/63", True),
        ("fd00::/64", False), ("0.0.0.0/0", True), ("127.0.0.0/8", False), ("", False),
    ],
)  # fmt: skip
def test_proxies_that_are_a_whole_network_are_warned_of(networks: str, wide: bool) -> None:
    settings = read({"LEADWIRE_PUBLIC_URL": "https://x.example.com", "LEADWIRE_TRUSTED_PROXIES": networks})
    found = bad(environment._in_front(settings, {}))
    assert found.get("trusted networks") == ("warning" if wide else None)


def test_a_proxy_that_was_seen_and_is_not_trusted_is_told(sound: dict[str, str], servers: Services) -> None:
    client: Any = Redis.from_url(servers.redis_url)
    client.set(NOT_TRUSTED, "")
    assert examined(**sound)[1]["requests forwarded"]["level"] == "warning"
    client.delete(NOT_TRUSTED)
    assert examined(**sound)[1]["requests forwarded"]["level"] == "ok"
    client.close()


def test_a_misspelled_setting_is_told_with_what_was_meant() -> None:
    findings = environment.check(
        Settings(secret_key=(KEY,)), {"LEADWIRE_REDRIVE_SHEDULE": "1", "LEADWIRE_POOL_SIZ": "2"}
    )
    assert [one.fix for one in findings if one.about == "settings"] == [
        "did you mean LEADWIRE_POOL_SIZE?",
        "did you mean LEADWIRE_RETRY_SCHEDULE?",
    ]


def test_what_anything_of_ours_reads_is_known() -> None:
    sources = [path.read_text() for path in (Path(__file__).parents[3] / "src").rglob("*.py")]
    read_elsewhere = re.findall(r'environ(?:\.get\(|\[)"(LEADWIRE_\w+)"', "\n".join(sources))
    assert {"LEADWIRE_LISTEN_SECRET", "LEADWIRE_TOKEN"} <= set(read_elsewhere)
    findings = environment.check(Settings(secret_key=(KEY,)), dict.fromkeys(read_elsewhere, ""))
    assert [one.says for one in findings if one.about == "settings"] == ["every LEADWIRE_ variable is known"]


def test_a_lease_with_little_to_spare_a_wide_network_and_a_readable_key_are_warnings(tmp_path: Path) -> None:
    (tmp_path / "secret.key").write_text(KEY)
    (tmp_path / "secret.key").chmod(0o644)
    chosen = read(
        {
            "LEADWIRE_LEASE": "32",
            "LEADWIRE_DATA_DIR": str(tmp_path),
            "LEADWIRE_ALLOWED_NETWORKS": "127.0.0.0/8,10.0.0.0/8",
            "LEADWIRE_DELIVERY_CONCURRENCY": "64",
        }
    )
    expected = {"lease": "warning", "secret key is kept": "warning", "networks for webhooks": "warning"}
    assert bad(environment.check(chosen, {})) == expected
    (tmp_path / "secret.key").chmod(0o600)
    assert "secret key is kept" not in bad(environment.check(chosen, {}))


@pytest.mark.parametrize(
    ("postgres", "other", "expected"),
    [
        ("postgresql:///leadwire?host=/run/postgresql", "unix:///run/redis.sock?db=0", []),
        ("postgresql://a:b@localhost/leadwire", "redis://127.0.0.1:6379/0", []),
        ("postgresql://a:b@db:5432/leadwire?sslmode=verify-full", "rediss+sentinel://one:26379,two/main", []),
        ("postgresql://a:b@db/leadwire?sslmode=require", "redis://localhost.example/0", ["PostgreSQL", "Redis"]),
        (
            "postgresql://a:b@localhost,db/leadwire",
            "redis+cluster://:b@[::1]:7000,[fd00::1]:7000",
            ["PostgreSQL", "Redis"],
        ),
    ],
)
def test_a_server_elsewhere_is_reached_by_tls_that_is_verified(postgres: str, other: str, expected: list[str]) -> None:
    chosen = read({"LEADWIRE_DATABASE_URL": postgres, "LEADWIRE_REDIS_URL": other, "LEADWIRE_SECRET_KEY": KEY})
    found = {one.about: one.level for one in environment.check(chosen, {}) if one.about.startswith("way to ")}
    assert {about for about, level in found.items() if level == "warning"} == {f"way to {name}" for name in expected}


@pytest.mark.parametrize(
    ("told", "about", "level"),
    [
        ({}, None, None),
        ({"redis_version": "6.2.7"}, "Redis version", "error"),
        ({"redis_version": "7.2.4", "valkey_version": "7.2.4"}, "Redis version", "error"),
        ({"role": "slave"}, "Redis role", "error"),
        ({"cluster_enabled": 1}, "Redis Cluster", "error"),
        ({"maxmemory_policy": "volatile-ttl"}, None, None),
        ({"maxmemory_policy": "allkeys-lru", "maxmemory": 2**30}, "Redis eviction", "error"),
        ({"maxmemory": 2**20, "used_memory": 2**20 - 1}, "Redis memory", "warning"),
        ({"aof_enabled": 0}, "Redis persistence", "warning"),
        ({"rdb_last_bgsave_status": "err"}, "Redis disk", "error"),
        ({"aof_last_write_status": "err"}, "Redis disk", "error"),
    ],
)
def test_each_thing_that_a_redis_can_have_wrong(told: dict[str, Any], about: str | None, level: str | None) -> None:
    assert bad(redis.check(INFO | told)) == ({about: level} if about else {})


def test_each_primary_of_a_cluster_needs_a_replica_and_is_named() -> None:
    replica = {"ip": "10.0.0.2", "port": 6379, "state": "online", "lag": 0}
    slots = {"cluster_state": "ok", "cluster_slots_ok": 16384}
    member = INFO | {"cluster_enabled": 1, "connected_slaves": 1, "slave0": replica} | slots
    assert bad(redis.check(member, "10.0.0.1:6379")) == {}
    (found,) = [one for one in redis.check(member | {"connected_slaves": 0}, "10.0.0.1:6379") if one.level != "ok"]
    assert (found.about, found.level, found.says) == ("Redis replicas", "warning", "10.0.0.1:6379: 0 connected")


@pytest.mark.parametrize("kind", ["sentinel", "cluster"])
def test_it_looks_at_each_server_of_a_sentinel_group_or_a_cluster(sound: dict[str, str], kind: str) -> None:
    with redis_topologies.topology(kind) as group:
        chosen = sound | {"REDIS_URL": group.url}
        _, found = examined(**chosen)
        assert {about for about, one in found.items() if "Redis" in about and one["level"] != "ok"} <= {
            "Redis replicas"
        }
        for one in group.nodes[: 2 if kind == "sentinel" else 4]:
            one("CONFIG SET", "maxmemory", "900mb", "maxmemory-policy", "allkeys-lru")
        assert examined(**chosen)[1]["Redis eviction"]["level"] == "error"
        if kind == "cluster":
            _, found = examined(**sound | {"REDIS_URL": f"redis://{group.nodes[0].address}"})
            assert "redis+cluster://" in found["Redis Cluster"]["fix"]
        else:
            _, found = examined(**sound | {"REDIS_URL": f"redis+cluster://{group.first.address}"})
            assert "Cluster mode is not enabled" in found["Redis answers"]["says"]
            _, found = examined(**sound | {"REDIS_URL": group.url.replace("/streams", "/unknown")})
            assert "'unknown'" in found["Redis answers"]["says"]


def test_clocks_differ_only_by_what_the_round_trip_cannot_explain() -> None:
    assert finding.clock("c", 100.0, 109.0, 110.0).level == "ok"
    assert finding.clock("c", 100.0, 98.0, 100.1).level == "warning"
    assert finding.clock("c", 100.0, 160.0, 100.1).level == "error"
