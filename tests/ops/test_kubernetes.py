"""The manifests are what Kubernetes accepts, file by file and as each form is rendered."""

import functools
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from leadwire.delivery import streams
from leadwire.delivery.worker.slots import SLOW_FACTOR
from leadwire.infrastructure.settings import Settings
from tests.ops.command_line import parsed

DEPLOY = Path(__file__).parents[2] / "ops" / "deploy"
FOLDERS = sorted(path.parent for path in (DEPLOY / "kubernetes").glob("*/kustomization.yaml"))
FORMS = ("one-node", "ha", "cluster", "engines", "migrate", "monitoring")  # what can be applied
OPERATORS = (  # whose schemas are not at hand
    "cnpg.io/", "gateway.networking.k8s.io/", "keda.sh/", "monitoring.coreos.com/", "opstreelabs.in/"
)  # fmt: skip

needs_kubectl = pytest.mark.skipif(shutil.which("kubectl") is None, reason="no kubectl here, which renders")


def documents() -> Iterator[dict[str, Any]]:
    """Every manifest as it is written."""
    for folder in FOLDERS:
        for path in folder.glob("*.yaml"):
            if path.name != "kustomization.yaml":
                yield from yaml.safe_load_all(path.read_text())


@functools.cache
def rendered(form: str) -> list[dict[str, Any]]:
    done = subprocess.run(
        ["kubectl", "kustomize", DEPLOY / "kubernetes" / form], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    return list(yaml.safe_load_all(done.stdout))


def of_kind(kind: str, among: list[dict[str, Any]] | None = None) -> list[dict[str, Any]]:
    return [one for one in among or documents() if one["kind"] == kind]


def containers() -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    for kind in ("Deployment", "Job"):
        for one in of_kind(kind):
            pod = one["spec"]["template"]["spec"]
            yield pod, pod["containers"][0]


def accepted(among: list[dict[str, Any]]) -> int:
    """How many documents have been checked against the schemas of Kubernetes; raises for one that breaks its own."""
    checked = [one for one in among if not any(name in one["apiVersion"] for name in OPERATORS)]
    for one in checked:
        kubernetes_validate.validate(one, "1.37", strict=True)
    return len(checked)


def test_kubernetes_accepts_every_manifest() -> None:
    assert accepted(list(documents())) >= 14


def test_a_misspelled_manifest_would_be_found() -> None:
    (one,) = [one for one in of_kind("Deployment") if one["metadata"]["name"] == "leadwire-deliver"]
    container = one["spec"]["template"]["spec"]["containers"][0]
    container["livenessProb"] = container.pop("livenessProbe")
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(one, "1.37", strict=True)


def test_every_pod_runs_a_command_of_ours_confined_and_with_time_to_finish() -> None:
    for pod, container in containers():
        context = parsed(*container["args"])
        assert context.info_name == container["name"]
        assert container["securityContext"]["readOnlyRootFilesystem"]
        assert pod["securityContext"]["runAsNonRoot"]
        if container["name"] == "deliver":
            assert pod["terminationGracePeriodSeconds"] > 2 * Settings().delivery_timeout
        if container["name"] != "migrate":
            ports = {port["name"]: port["containerPort"] for port in container["ports"]}
            assert container["readinessProbe"]["httpGet"]["port"] in ports
            # Only what a restart mends ends a pod: neither a server that is away nor a port that is full.
            for probe in ("startupProbe", "livenessProbe"):
                asked = {name: container[probe]["httpGet"][name] for name in ("path", "port")}
                assert asked == {"path": "/health/live", "port": "telemetry"}
            assert ports.get("http", 8000) == parsed("serve").params["port"]
            image = (DEPLOY / "Containerfile").read_text()
            assert f"LEADWIRE_TELEMETRY_PORT={ports['telemetry']}" in image


def test_budgets_services_and_scalers_point_at_pods_that_exist() -> None:
    deployments = {one["metadata"]["name"]: one["spec"]["selector"]["matchLabels"] for one in of_kind("Deployment")}
    assert [one["spec"]["selector"]["matchLabels"] for one in of_kind("PodDisruptionBudget")] == list(
        deployments.values()
    )
    (service,) = [one for one in of_kind("Service") if one["metadata"]["name"] == "leadwire"]
    assert service["spec"]["selector"] == deployments["leadwire-serve"]
    scaled = [*of_kind("ScaledObject"), *of_kind("HorizontalPodAutoscaler")]
    targets = {one["spec"]["scaleTargetRef"]["name"] for one in scaled}
    assert targets == {"leadwire-serve", "leadwire-deliver"}
    for one in of_kind("Deployment"):  # a number in the file would be put back at every deployment
        assert ("replicas" in one["spec"]) == (one["metadata"]["name"] not in targets)


def test_workers_are_scaled_by_the_length_of_every_stream() -> None:
    """A finished entry is deleted, so the length is lag and pending in one."""
    (one,) = of_kind("ScaledObject")
    triggers = one["spec"]["triggers"]
    assert [trigger["metadata"]["stream"] for trigger in triggers] == streams.names(Settings().stream_shards)
    for trigger in triggers:
        assert trigger["type"] == "redis-streams"
        assert set(trigger["metadata"]) == {
            "stream",
            "streamLength",
            "databaseIndex",
        }  # a group would mean pending only
    modifiers = one["spec"]["advanced"]["scalingModifiers"]
    assert modifiers["formula"] == " + ".join(trigger["name"] for trigger in triggers)
    places = Settings().delivery_concurrency * (1 + SLOW_FACTOR)
    assert {modifiers["target"], *(trigger["metadata"]["streamLength"] for trigger in triggers)} == {str(places)}
    secrets = {one["metadata"]["name"] for one in of_kind("TriggerAuthentication")}
    assert {trigger["authenticationRef"]["name"] for trigger in triggers} == secrets


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.name)
def test_a_kustomization_holds_every_file_beside_it(folder: Path) -> None:
    named = yaml.safe_load((folder / "kustomization.yaml").read_text()).get("resources", [])
    files = {path.name for path in folder.glob("*.yaml")} - {"kustomization.yaml"}
    assert {name for name in named if "/" not in name} == files


@needs_kubectl
@pytest.mark.parametrize("form", FORMS)
def test_kubernetes_accepts_a_form_as_it_is_rendered(form: str) -> None:
    told = (DEPLOY / "README.md").read_text()
    assert f"kubernetes/{form}" in told
    whole = rendered(form)
    assert accepted(whole) >= (0 if form == "monitoring" else 2)
    text = yaml.safe_dump(whole)
    (image,) = yaml.safe_load((DEPLOY / "kubernetes" / "settings" / "kustomization.yaml").read_text())["images"]
    ours = set(re.findall(r"image: (\S*leadwire\S*)", text))
    assert ours <= {f"{image['newName']}:{image['newTag']}"}
    configured = {one["metadata"]["name"] for one in of_kind("ConfigMap", whole)}
    assert set(re.findall(r"configMapRef:\s+name: (\S+)", text)) <= configured
    for secret in set(re.findall(r"secret(?:KeyRef|Ref):\s+(?:key: \S+\s+)?name: (\S+)", text)):
        assert f"kubectl create secret generic {secret} " in told


@needs_kubectl
def test_one_node_has_one_of_each_and_the_servers_that_its_addresses_name() -> None:
    whole = rendered("one-node")
    assert [one["spec"]["replicas"] for one in of_kind("Deployment", whole)] == [1] * 4
    assert not [one for kind in ("ScaledObject", "HorizontalPodAutoscaler") for one in of_kind(kind, whole)]
    servers = {one["metadata"]["name"] for one in of_kind("StatefulSet", whole)}
    assert servers == {"postgres", "valkey"} == {one["spec"]["serviceName"] for one in of_kind("StatefulSet", whole)}
    for one in of_kind("Service", whole):
        selector = one["spec"]["selector"]
        pods = [
            pod["spec"]["template"]["metadata"]["labels"]
            for kind in ("StatefulSet", "Deployment")
            for pod in of_kind(kind, whole)
        ]
        assert [labels for labels in pods if selector.items() <= labels.items()]
    told = (DEPLOY / "README.md").read_text()
    for name in servers:
        assert re.search(rf"LEADWIRE_[A-Z]+_URL=\S+//(?:\S+@)?{name}\b", told)


@needs_kubectl
def test_a_cluster_is_ha_whose_workers_are_scaled_by_a_redis_cluster() -> None:
    ha, cluster = rendered("ha"), rendered("cluster")
    for one in of_kind("Deployment", ha):
        (spread,) = one["spec"]["template"]["spec"]["topologySpreadConstraints"]
        assert spread["whenUnsatisfiable"] == "DoNotSchedule"
    assert {one["kind"] for one in cluster if one not in ha} == {"ScaledObject", "TriggerAuthentication"}
    (scaled,) = of_kind("ScaledObject", cluster)
    assert {trigger["type"] for trigger in scaled["spec"]["triggers"]} == {"redis-cluster-streams"}
    (access,) = of_kind("TriggerAuthentication", cluster)
    assert [one["parameter"] for one in access["spec"]["secretTargetRef"]] == ["addresses", "password"]


def test_no_clock_ends_a_migration():
    """An index waits for older readers, however long that takes, and one that was not finished begins anew."""
    (job,) = of_kind("Job")
    assert "activeDeadlineSeconds" not in job["spec"] | job["spec"]["template"]["spec"]
