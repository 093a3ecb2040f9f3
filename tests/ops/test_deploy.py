"""The files of ops/deploy are what their readers accept, and name only commands and settings that exist."""

import re
import shlex
import shutil
import subprocess
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from leadwire.infrastructure import db, settings
from leadwire.infrastructure.settings import Settings
from tests.ops.command_line import parsed

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "ops" / "deploy"
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))
SETTINGS = {f"LEADWIRE_{field.name.upper()}" for field in msgspec.structs.fields(Settings)}


def compose() -> dict[str, Any]:
    whole: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    return whole


def config_map() -> dict[str, Any]:
    one: dict[str, Any] = yaml.safe_load((DEPLOY / "kubernetes" / "settings" / "config.yaml").read_text())
    return one


@pytest.mark.parametrize("path", [path for path in DEPLOY.rglob("*") if path.is_file()], ids=lambda path: path.name)
def test_every_setting_that_is_named_exists(path: Path) -> None:
    assert set(re.findall(r"LEADWIRE_[A-Z_]+[A-Z]", path.read_text())) <= SETTINGS


def test_every_command_in_the_readme_exists() -> None:
    commands = re.findall(r"`(leadwire [a-z][^`]*)`", (DEPLOY / "README.md").read_text())
    assert len(commands) > 5
    for command in commands:
        parsed(*shlex.split(command)[1:])


def test_a_pooler_is_told_to_ignore_each_setting_that_a_process_connects_with() -> None:
    """PgBouncer knows two of them itself, and refuses whoever sends another one that it does not ignore."""
    (ignored,) = re.findall(r"`ignore_startup_parameters = ([a-z_,]+)`", (DEPLOY / "README.md").read_text())
    assert set(ignored.split(",")) == {"jit", *db._PROCESS, *db._JOBS, *db._INDEXES_ONLY}


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_a_unit_runs_a_command_of_ours(unit: Path) -> None:
    started = re.findall(r"^ExecStart=/opt/leadwire/bin/leadwire (.+)$", unit.read_text(), re.MULTILINE)
    assert len(started) == 1
    parsed(*started[0].replace("%i", "8001").split())


def test_serve_may_lower_the_priority_of_a_thread():
    """A call that is filtered ends the process."""
    unit = (DEPLOY / "systemd" / "leadwire-serve@.service").read_text()
    assert unit.index("\nSystemCallFilter=setpriority\n") > unit.index("\nSystemCallFilter=~@privileged @resources\n")


@pytest.mark.parametrize("unit", [unit for unit in UNITS if "@" in unit.name], ids=lambda unit: unit.stem)
def test_systemd_starts_a_process_again_however_often_it_has_failed(unit: Path) -> None:
    """By default it gives up after five starts within 10 s."""
    lines = unit.read_text().splitlines()
    assert {"Restart=always", "StartLimitIntervalSec=0"} <= set(lines)
    assert lines.index("StartLimitIntervalSec=0") < lines.index("[Service]")


@pytest.mark.parametrize("unit", [unit for unit in UNITS if "@" in unit.name], ids=lambda unit: unit.stem)
def test_a_process_can_tell_when_it_was_started(unit: Path) -> None:
    """Its metrics `process_*`, which alerts and plots ask for, take /proc/stat: without it there is none of them."""
    assert "process_start_time_seconds" in (ROOT / "ops" / "prometheus" / "rules.yml").read_text()
    assert "ProcSubset=pid" not in unit.read_text()


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd here")
@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_systemd_understands_a_unit_and_finds_it_hardened(unit: Path, tmp_path: Path) -> None:
    for path in (DEPLOY / "systemd").glob("*.target"):
        shutil.copy(path, tmp_path)
    there = tmp_path / unit.name.replace("@", "@8001")
    there.write_text(re.sub(r"^ExecStart=.*", "ExecStart=/bin/true", unit.read_text(), flags=re.MULTILINE))
    told = subprocess.run(["systemd-analyze", "verify", there], capture_output=True, text=True, check=False)
    assert (told.returncode, told.stderr) == (0, "")  # it tells a misspelled line, and exits 0
    secured = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", "--threshold=20", there],  # tenths of 10
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert secured.returncode == 0, secured.stdout


def test_compose_starts_every_process_after_the_migration_and_stops_none_too_early() -> None:
    services = compose()["services"]
    ours = {name: one for name, one in services.items() if one["image"].startswith("leadwire:")}
    assert set(ours) == {"migrate", "serve-1", "serve-2", "relay", "deliver", "background", "doctor"}
    for name, one in ours.items():
        assert parsed(*one["command"]).info_name == name.partition("-")[0]
        conditions = {other: how["condition"] for other, how in one["depends_on"].items()}
        if name != "migrate":
            assert conditions["migrate"] == "service_completed_successfully"
        assert one["read_only"], name
        assert one["cap_drop"] == ["ALL"], name
    assert int(services["deliver"]["stop_grace_period"].removesuffix("s")) > 2 * Settings().delivery_timeout
    assert services["serve-1"] == services["serve-2"]
    for name, one in services.items():
        tag = one["image"].partition(":")[2]
        assert tag, name
        assert tag != "latest", name
        assert "healthcheck" in one, name
    redis = services["valkey"]["command"]
    assert redis[redis.index("--maxmemory-policy") + 1] == "noeviction"
    assert redis[redis.index("--appendonly") + 1] == "yes"


def test_compose_volumes_secrets_and_connections_are_there() -> None:
    whole = compose()
    used = {volume.partition(":")[0] for one in whole["services"].values() for volume in one.get("volumes", [])}
    assert {name for name in used if "/" not in name} == set(whole["volumes"])
    assert all((DEPLOY / name).exists() for name in used if "/" in name)
    assert not re.search(r"(PASSWORD|SECRET_KEY): [^$\s\"]", (DEPLOY / "compose.yaml").read_text())
    processes = sum(
        one.get("deploy", {}).get("replicas", 1) for name, one in whole["services"].items() if name != "postgres"
    )
    postgres = whole["services"]["postgres"]["command"]
    allowed = int(next(part for part in postgres if part.startswith("max_connections")).partition("=")[2])
    assert allowed > Settings().pool_size * (processes + 1) + 10


def test_compose_brings_the_dashboards_and_the_targets_of_prometheus_where_they_are_looked_for() -> None:
    services = compose()["services"]
    places = dict(volume.split(":")[:2] for volume in services["grafana"]["volumes"])
    (provider,) = yaml.safe_load((ROOT / "ops" / "grafana" / "provisioning.yaml").read_text())["providers"]
    assert places["../grafana"] == provider["options"]["path"]
    (job,) = yaml.safe_load((ROOT / "ops" / "prometheus" / "prometheus.yml").read_text())["scrape_configs"]
    (found,) = job["dns_sd_configs"]
    assert set(found["names"]) < set(services)
    assert f"LEADWIRE_TELEMETRY_PORT={found['port']}" in (DEPLOY / "Containerfile").read_text()


def test_the_container_file_pins_what_it_builds_on_and_does_not_run_as_root() -> None:
    text = (DEPLOY / "Containerfile").read_text()
    lines = [line.split(maxsplit=1) for line in text.splitlines() if line and line[0].isupper()]
    images = [rest.split()[0] for word, rest in lines if word == "FROM"] + re.findall(r"--from=(\S+/\S+:\S+)", text)
    assert len(images) == 3
    assert all(":" in image and not image.endswith(":latest") for image in images)
    assert len({image for image in images if image.startswith("python:")}) == 1  # or the environment points nowhere
    assert [rest for word, rest in lines if word == "USER"] == ["10001:10001"]
    copied = [rest.split()[:-1] for word, rest in lines if word == "COPY" and not rest.startswith("--from")]
    assert all((ROOT / name).exists() for names in copied for name in names)
    entry, command = (yaml.safe_load(rest) for word, rest in lines if word in {"ENTRYPOINT", "CMD"})
    assert entry == ["leadwire"]
    parsed(*command)


@pytest.mark.flow
def test_the_container_files_steps_make_an_installation_that_runs(tmp_path: Path) -> None:
    """Its COPY and RUN lines up to the last stage, done here, at no place but this one."""
    build = (DEPLOY / "Containerfile").read_text().split("\nFROM ")[1]
    for line in build.splitlines():
        word, _, rest = line.partition(" ")
        if word == "COPY" and not rest.startswith("--from"):
            *names, target = rest.split()
            for name in names:
                whole = ROOT / name
                if whole.is_dir():
                    shutil.copytree(whole, tmp_path / target, dirs_exist_ok=True)
                else:
                    (tmp_path / target).mkdir(parents=True, exist_ok=True)
                    shutil.copy(whole, tmp_path / target)
        elif word == "RUN":
            made = subprocess.run(shlex.split(rest), cwd=tmp_path, capture_output=True, text=True, check=False)
            assert made.returncode == 0, made.stderr
    shutil.rmtree(tmp_path / "src")  # not editable: the environment alone is copied on
    python = tmp_path / ".venv" / "bin" / "python"
    code = (
        "from leadwire.processes import serve; from leadwire.infrastructure.db import migrations; "
        "print(len(migrations.files()) > 4)"
    )
    told = subprocess.run([python, "-c", code], cwd="/", capture_output=True, text=True, check=False)
    assert (told.stdout, told.stderr) == ("True\n", "")
    absent = subprocess.run([python, "-c", "import pytest"], cwd="/", capture_output=True, check=False)
    assert absent.returncode == 1


def test_the_configuration_can_be_read() -> None:
    settings.read(config_map()["data"])
    lines = (DEPLOY / "systemd" / "leadwire.env").read_text().splitlines()
    settings.read(dict(line.split("=", 1) for line in lines if line and not line.startswith("#")))


def test_the_environment_is_the_same_for_systemd_docker_and_a_shell() -> None:
    """Docker keeps quotes, and a shell needs them around some characters."""
    file = DEPLOY / "systemd" / "leadwire.env"
    lines = [line for line in file.read_text().splitlines() if line and not line.startswith("#")]
    shell = ["bash", "-ec", f"set -a; . {file}; env"]
    told = subprocess.run(shell, env={}, capture_output=True, text=True, check=False)
    assert (told.returncode, told.stderr) == (0, "")
    assert set(lines) <= set(told.stdout.splitlines())


def test_every_way_to_run_it_names_the_public_address_and_the_proxies() -> None:
    """Else all callers share one address: a few wrong sign-ins lock everybody out."""
    told = compose()
    environment = told["services"]["serve-1"]["environment"]
    assert environment["LEADWIRE_PUBLIC_URL"].startswith("${LEADWIRE_PUBLIC_URL:?"), "it must be set"
    proxy = told["services"]["proxy"]["networks"]["default"]["ipv4_address"]
    assert environment["LEADWIRE_TRUSTED_PROXIES"] == f"{proxy}/32"
    (range_,) = told["networks"]["default"]["ipam"]["config"]
    assert ip_address(proxy) in ip_network(range_["subnet"])
    assert ip_address(proxy) not in ip_network(range_["ip_range"])
    chosen = config_map()["data"]
    file = dict(
        line.split("=", 1)
        for line in (DEPLOY / "systemd" / "leadwire.env").read_text().splitlines()
        if line and not line.startswith("#")
    )
    for one in (chosen, file):
        read = settings.read({name: value for name, value in one.items() if name.startswith("LEADWIRE_") and value})
        assert read.public_url.startswith("https://")
        assert read.trusted_proxies
