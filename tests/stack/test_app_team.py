"""The example of an application team, under mocks: a stack reference that answers with what this program exports."""

import ast
import json
import runpy
import subprocess
import sys
from typing import Any

import pulumi
import pytest
import yaml

import outputs
from tests.harness import ROOT, Recording, record_main

APP = ROOT / "examples" / "app-team"
CONFIG = yaml.safe_load((APP / "Pulumi.dev.yaml").read_text())["config"]
DEPLOYMENT = "kubernetes:apps/v1:Deployment"


@pytest.fixture
def recorded(dev: Recording, monkeypatch: pytest.MonkeyPatch) -> Recording:
    """The example as it is."""
    monkeypatch.syspath_prepend(APP)
    pulumi.runtime.set_all_config({key: value for key, value in CONFIG.items() if isinstance(value, str)})
    stacks = {CONFIG["app-team:platform"]: dev.outputs}
    try:
        return record_main(APP / "__main__.py", project="app-team", stacks=stacks)
    finally:
        sys.modules.pop("client", None)


def pod(recording: Recording) -> dict[str, Any]:
    return recording.one(DEPLOYMENT).inputs["spec"]["template"]["spec"]


def test_the_interface_is_one_module_that_stands_alone() -> None:
    assert (APP / "outputs.py").resolve() == ROOT / "outputs.py"
    tree = ast.parse((ROOT / "outputs.py").read_text())
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    imported |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    packages = {name.partition(".")[0] for name in imported}
    assert packages - sys.stdlib_module_names == {"pulumi", "pydantic"}


def test_the_example_pins_what_the_platform_pins() -> None:
    pins = (APP / "requirements.txt").read_text().split()
    assert {pin.partition("==")[0] for pin in pins} == {"pulumi", "pulumi-kubernetes", "pydantic"}
    assert set(pins) <= set((ROOT / "requirements.in").read_text().split())


def test_everything_goes_to_the_published_cluster(recorded: Recording, dev: Recording) -> None:
    assert CONFIG["pulumi:disable-default-providers"] == ["kubernetes"]
    provider = recorded.one("pulumi:providers:kubernetes")
    assert provider.inputs["kubeconfig"] == dev.outputs["kubeconfig"]
    assert provider.inputs["clusterIdentifier"] == dev.outputs["clusterEndpoint"]
    objects = [r for r in recorded.registered if r.kind.startswith("kubernetes:")]
    assert {r.kind.rpartition(":")[2] for r in objects} == {"Namespace", "NetworkPolicy", "Deployment"}
    assert {r.provider.rpartition("::")[0] for r in objects} == {provider.urn}
    assert {r.parent.rpartition("::")[0].rpartition("::")[2] for r in objects} == {"app-team:index:Client"}


def test_the_client_knows_the_server_from_the_platform_alone(recorded: Recording, dev: Recording) -> None:
    server = dev.outputs["servers"]["gemma"]
    (container,) = pod(recorded)["containers"]
    assert {item["name"]: item["value"] for item in container["env"]} == {
        "OPENAI_BASE_URL": server["url"],
        "MODEL": server["model"],
    }
    assert recorded.outputs == {"url": server["url"], "model": server["model"]}


def test_a_server_that_the_platform_does_not_have_is_refused_in_one_line(
    dev: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(APP)
    chosen = runpy.run_path(str(APP / "client.py"))["chosen"]
    platform = outputs.Platform.model_validate(dev.outputs)
    assert chosen(platform, "gemma") == platform.servers["gemma"]
    with pytest.raises(pulumi.RunError) as refused:
        chosen(platform, "qwen")
    assert str(refused.value) == 'app-team:server: "qwen"; the platform serves gemma'
    with pytest.raises(pulumi.RunError, match=r'^app-team:server: "qwen"; the platform serves nothing$'):
        chosen(platform.model_copy(update={"servers": {}}), "qwen")


def test_the_pod_meets_the_restricted_profile_that_its_namespace_enforces(recorded: Recording) -> None:
    labels = recorded.one("kubernetes:core/v1:Namespace").inputs["metadata"]["labels"]
    assert labels == {"pod-security.kubernetes.io/enforce": "restricted"}
    spec = pod(recorded)
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert spec["securityContext"]["runAsUser"] > 0  # the image's user is a name, which kubelet cannot compare with 0
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    (container,) = spec["containers"]
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert spec["automountServiceAccountToken"] is False
    assert container["resources"].keys() == {"requests", "limits"}
    assert container["image"] == "curlimages/curl:8.11.1"


def test_the_pod_reaches_dns_and_the_servers_and_nothing_else(recorded: Recording, dev: Recording) -> None:
    policy = recorded.one("kubernetes:networking.k8s.io/v1:NetworkPolicy")
    assert policy.inputs["spec"]["podSelector"] == {}
    assert policy.inputs["spec"]["policyTypes"] == ["Ingress", "Egress"]
    assert "ingress" not in policy.inputs["spec"]
    servers, dns = policy.inputs["spec"]["egress"]
    assert servers == {"to": [_namespace(dev.outputs["namespace"])]}
    ports = [{"port": 53, "protocol": "UDP"}, {"port": 53, "protocol": "TCP"}]
    assert dns == {"to": [_namespace("kube-system")], "ports": ports}
    assert policy.urn in recorded.needs(recorded.one(DEPLOYMENT).urn)


def _namespace(name: str) -> dict[str, Any]:
    return {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": name}}}


def test_the_script_asks_the_server_with_a_body_that_is_json(recorded: Recording) -> None:
    (container,) = pod(recorded)["containers"]
    shell, flag, script = container["command"]
    instead = 'curl() { for each in "$@"; do echo "$each"; done; exit 0; }\n'
    environment = {item["name"]: item["value"] for item in container["env"]}
    done = subprocess.run([shell, flag, instead + script], env=environment, capture_output=True, text=True, check=True)
    said = done.stdout.splitlines()
    assert said[-1] == f"{environment['OPENAI_BASE_URL']}/chat/completions"
    body = json.loads(said[said.index("--json") + 1])
    assert body["model"] == environment["MODEL"]
    assert body["messages"][0]["role"] == "user"
