"""Who may speak with whom in Kubernetes: policies, the gateway, what is trusted, what is watched."""

import shutil
import subprocess
from ipaddress import ip_address, ip_network

import pytest
import yaml
from ops.prometheus import rules

from leadwire.infrastructure import settings
from tests.ops.test_kubernetes import DEPLOY, needs_kubectl, of_kind

POLICIES = {one["metadata"]["name"]: one["spec"] for one in of_kind("NetworkPolicy")}
(CONFIGURED,) = [one["data"] for one in of_kind("ConfigMap") if one["metadata"]["name"] == "leadwire"]


def ports(rules_of):
    return {port["port"] for rule in rules_of for port in rule.get("ports", [])}


def open_ports(component: str) -> set[int]:
    (one,) = [one for one in of_kind("Deployment") if one["metadata"]["name"] == f"leadwire-{component}"]
    (container,) = one["spec"]["template"]["spec"]["containers"]
    return {port["containerPort"] for port in container["ports"]}


def test_each_port_that_is_open_is_for_one_namespace():
    inside, serve = POLICIES["leadwire"]["ingress"], POLICIES["leadwire-serve"]["ingress"]
    assert open_ports("deliver") == open_ports("relay") == open_ports("background") == ports(inside)
    assert open_ports("serve") == ports(inside) | ports(serve)
    assert all([*one] == ["namespaceSelector"] for rule in (*inside, *serve) for one in rule["from"])
    assert POLICIES["leadwire"]["policyTypes"] == ["Ingress", "Egress"], "what is not allowed is refused, both ways"


def test_a_server_is_reached_by_our_processes_alone():
    """And by its operator, where there is one."""
    ours = {"podSelector": {"matchLabels": {"app.kubernetes.io/name": "leadwire"}}}
    for folder in ("one-node", "engines"):
        policies = [
            one["spec"]
            for path in (DEPLOY / "kubernetes" / folder).glob("*.yaml")
            for one in yaml.safe_load_all(path.read_text())
            if one["kind"] == "NetworkPolicy"
        ]
        assert len(policies) == 2
        for spec in policies:
            assert ours in spec["ingress"][0]["from"]
            assert all(rule["from"] for rule in spec["ingress"])
            assert ports(spec["ingress"]) & ports(POLICIES["leadwire"]["egress"])


@pytest.mark.parametrize(
    "address", ["10.0.0.1", "100.64.0.1", "127.0.0.1", "169.254.169.254", "172.20.0.1", "192.168.1.1"]
)
def test_what_is_sent_reaches_nothing_private(address):
    (rule,) = POLICIES["leadwire-outside"]["egress"]
    v4, v6 = (one["ipBlock"] for one in rule["to"])
    assert any(ip_address(address) in ip_network(one) for one in v4["except"])
    assert not ip_network(v6["cidr"]).is_private
    sending = POLICIES["leadwire-outside"]["podSelector"]["matchExpressions"][0]["values"]
    assert sending == ["serve", "deliver", "background"]  # the last sends notices to Slack, and heads of audit logs


@needs_kubectl
def test_through_a_proxy_nothing_else_is_reached(tmp_path):
    shutil.copytree(DEPLOY / "kubernetes", tmp_path / "kubernetes")
    form = tmp_path / "kubernetes" / "mine"
    form.mkdir()
    (form / "kustomization.yaml").write_text("resources: [../ha]\ncomponents: [../egress-proxy]\n")
    made = subprocess.run(["kubectl", "kustomize", form], capture_output=True, text=True, check=True)
    whole = list(yaml.safe_load_all(made.stdout))
    (policy,) = [one for one in of_kind("NetworkPolicy", whole) if one["metadata"]["name"] == "leadwire-outside"]
    (rule,) = policy["spec"]["egress"]
    (configured,) = of_kind("ConfigMap", whole)
    proxy = settings.read(configured["data"]).egress_proxy
    assert proxy == f"http://{rule['to'][0]['ipBlock']['cidr'].removesuffix('/32')}:{rule['ports'][0]['port']}"


def test_the_gateway_has_the_public_address_and_only_it_is_trusted():
    chosen = settings.read(CONFIGURED)
    (gateway,) = of_kind("Gateway")
    names = {one["hostname"] for one in gateway["spec"]["listeners"]}
    for route in of_kind("HTTPRoute"):
        names |= set(route["spec"]["hostnames"])
        assert {one["name"] for one in route["spec"]["parentRefs"]} == {gateway["metadata"]["name"]}
    assert {f"https://{name}" for name in names} == {chosen.public_url}
    (service,) = [one for one in of_kind("Service") if one["metadata"]["name"] == "leadwire"]
    (backend,) = [
        one for route in of_kind("HTTPRoute") for rule in route["spec"]["rules"] for one in rule.get("backendRefs", [])
    ]
    assert (backend["name"], backend["port"]) == ("leadwire", service["spec"]["ports"][0]["port"])
    assert all(network.prefixlen >= 24 for network in chosen.trusted_proxies), "a gateway, not all pods"


def test_prometheus_finds_every_process_and_has_the_same_rules():
    (monitor,) = of_kind("PodMonitor")
    selected = monitor["spec"]["selector"]["matchLabels"]
    for one in of_kind("Deployment"):
        labels = one["spec"]["template"]["metadata"]["labels"]
        (container,) = one["spec"]["template"]["spec"]["containers"]
        assert selected.items() <= labels.items()
        assert labels[monitor["spec"]["jobLabel"]] == "leadwire", "the alerts ask for this job"
        (endpoint,) = monitor["spec"]["podMetricsEndpoints"]
        assert endpoint["port"] in {port["name"] for port in container["ports"]}
    assert yaml.safe_load(rules.resource("x"))["spec"] == yaml.safe_load(rules.text("x"))


def test_the_commands_name_what_the_operators_make():
    told = (DEPLOY / "README.md").read_text()
    (postgres,), (sentinels,) = of_kind("Cluster"), of_kind("RedisSentinel")
    (redis,) = of_kind("RedisReplication")
    assert f"secret {postgres['metadata']['name']}-app" in told
    name, watched = sentinels["metadata"]["name"], sentinels["spec"]["redisSentinelConfig"]
    assert watched["redisReplicationName"] == redis["metadata"]["name"]
    assert f"{name}-sentinel-0.{name}-sentinel-headless:26379" in told
    assert f"@$SENTINELS/{watched['masterGroupName']} " in told
    assert f"--from-literal=master={watched['masterGroupName']}\n" in told
