"""Karpenter's charts with our values: what they render, and what a real API server says to it."""

import json
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from infra.cluster.system_nodes import SYSTEM_LABEL
from infra.karpenter.controller import CONTROLLER_IMAGE, DIGESTS, FEATURE_GATES, KarpenterSettings, values
from infra.naming import KARPENTER_NAMESPACE, KARPENTER_SERVICE_ACCOUNT
from rehearsal.control_plane.client import ApiServer
from rehearsal.control_plane.objects.manifest import Report
from tests.rehearsal.node_supply.conftest import KARPENTERS
from tests.rehearsal.node_supply.karpenter_chart import (
    CONTROLLER,
    DEFINITIONS,
    Body,
    chart_values,
    definitions,
    render,
)
from tests.rehearsal.node_supply.test_device_plugin import unknown

SETTINGS = {
    "v1.14.1": KarpenterSettings(version="1.14.1"),
    "v1.15.2": KarpenterSettings(version="1.15.2", digest="sha256:" + "0" * 64),
}

CORE_1_14 = (
    "ReservedCapacity=true,SpotToSpotConsolidation=false,NodeRepair=false,NodeOverlay=false,StaticCapacity=false,"
    "CapacityBuffer=false"
)
GATES = {
    "v1.14.1": {"FEATURE_GATES": CORE_1_14},
    "v1.15.2": {
        "FEATURE_GATES": f"{CORE_1_14},TerminateFirstDrift=false,TerminateFirstRepair=false,"
        "PodDeletionCostManagement=false",
        "AWS_FEATURE_GATES": "NodeClassCEL=false,DRANVIDIAGPU=false,DRAEFA=false,RebootForRepair=false",
    },
}

every_release = pytest.mark.parametrize("release", KARPENTERS)


@pytest.fixture
def served(karpenter: tuple[ApiServer, Path]) -> str:
    """The release whose definitions the API server of this test has."""
    return karpenter[1].name


def given(release: str, *, static_capacity: bool = False) -> Body:
    return values(SETTINGS[release], cluster_name="my-cluster", queue_name="my-queue", static_capacity=static_capacity)


@cache
def _rendered(release: str, *, static_capacity: bool = False) -> str:
    return json.dumps(render(CONTROLLER, release, given(release, static_capacity=static_capacity), "--skip-crds"))


def rendered(release: str) -> list[Body]:
    return json.loads(_rendered(release))


def one(kind: str, release: str) -> Body:
    (found,) = [body for body in rendered(release) if body["kind"] == kind]
    return found


def pod(release: str) -> Body:
    return one("Deployment", release)["spec"]["template"]["spec"]


def environment(release: str) -> dict[str, Any]:
    (container,) = pod(release)["containers"]
    return {each["name"]: each.get("value") for each in container["env"]}


def admitted(report: Report) -> list[tuple[str, str]]:
    assert report.refusals == ()
    assert [warning for each in report.admitted for warning in each.warnings] == []
    return sorted((each.kind, each.name) for each in report.admitted)


def test_both_minor_releases_that_settings_take_are_tried() -> None:
    assert {one.minor for one in SETTINGS.values()} == set(FEATURE_GATES)
    assert set(SETTINGS) == set(KARPENTERS)


def test_every_object_of_the_controllers_chart_is_admitted(ask: Callable[..., Report], served: str) -> None:
    """A pod of the Deployment too, with the account that the chart makes."""
    assert admitted(ask(*rendered(served))) == [
        ("ClusterRole", "karpenter"),
        ("ClusterRole", "karpenter-admin"),
        ("ClusterRole", "karpenter-core"),
        ("ClusterRoleBinding", "karpenter"),
        ("ClusterRoleBinding", "karpenter-core"),
        ("Deployment", "kube-system/karpenter"),
        ("Pod of Deployment", "kube-system/karpenter-pod"),
        ("PodDisruptionBudget", "kube-system/karpenter"),
        ("Role", "kube-system/karpenter"),
        ("Role", "kube-system/karpenter-dns"),
        ("RoleBinding", "kube-system/karpenter"),
        ("RoleBinding", "kube-system/karpenter-dns"),
        ("Service", "kube-system/karpenter"),
        ("ServiceAccount", "kube-system/karpenter"),
    ]


def test_every_definition_of_the_other_chart_is_admitted(ask: Callable[..., Report], served: str) -> None:
    """Not with a dry run: they are installed and served."""
    assert admitted(ask(*render(DEFINITIONS, served, {}))) == [
        ("CustomResourceDefinition", "capacitybuffers.autoscaling.x-k8s.io"),
        ("CustomResourceDefinition", "ec2nodeclasses.karpenter.k8s.aws"),
        ("CustomResourceDefinition", "nodeclaims.karpenter.sh"),
        ("CustomResourceDefinition", "nodeoverlays.karpenter.sh"),
        ("CustomResourceDefinition", "nodepools.karpenter.sh"),
    ]


@every_release
def test_the_definitions_that_pools_are_judged_by_are_those_of_the_chart(release: str) -> None:
    def by_name(bodies: list[Body]) -> dict[str, Body]:
        return {body["metadata"]["name"]: body for body in bodies}

    assert by_name(render(DEFINITIONS, release, {})) == by_name(definitions(release))


@every_release
def test_only_the_chart_of_definitions_brings_any(release: str) -> None:
    """Both charts have them, the controller's where Helm passes them over when told (`skip_crds`)."""
    assert [body for body in rendered(release) if body["kind"] == "CustomResourceDefinition"] == []
    told_otherwise = render(CONTROLLER, release, given(release), "--include-crds")
    also = [body for body in told_otherwise if body["kind"] == "CustomResourceDefinition"]
    assert len(also) == len(definitions(release)) == 5


@every_release
def test_every_value_is_one_that_the_chart_has(release: str) -> None:
    """Helm passes an unknown one over in silence. Of the node selector, any label is a value."""
    ours = given(release)
    assert unknown(ours, chart_values(CONTROLLER, release)) == [f"nodeSelector.{SYSTEM_LABEL}"]


@every_release
def test_the_gates_are_exactly_those_of_the_chart_at_its_defaults(release: str) -> None:
    """`null` there is "not said", which is off."""
    theirs = {key: of for key, of in chart_values(CONTROLLER, release)["settings"].items() if "gates" in key.lower()}
    assert {key: {gate: bool(on) for gate, on in of.items()} for key, of in theirs.items()} == FEATURE_GATES[
        SETTINGS[release].minor
    ]


@every_release
def test_the_gates_arrive_at_the_controller(release: str) -> None:
    assert {name: text for name, text in environment(release).items() if "GATES" in name} == GATES[release]


@every_release
def test_static_capacity_is_one_gate_and_nothing_else(release: str) -> None:
    on, off = _rendered(release, static_capacity=True), _rendered(release, static_capacity=False)
    assert (on.count("StaticCapacity=true"), off.count("StaticCapacity=false")) == (1, 1)
    assert on.replace("StaticCapacity=true", "StaticCapacity=false") == off


@every_release
def test_the_image_is_the_one_of_the_settings_by_digest(release: str) -> None:
    """The chart of the module says another release: nothing of it may come through."""
    settings = SETTINGS[release]
    theirs = chart_values(CONTROLLER, release)["controller"]["image"]
    assert theirs["tag"] != settings.version
    (container,) = pod(release)["containers"]
    digest = settings.digest or DIGESTS[settings.version]
    assert container["image"] == f"public.ecr.aws/karpenter/controller:{settings.version}@{digest}"
    assert theirs["repository"] == CONTROLLER_IMAGE


def test_a_known_digest_is_the_one_that_the_next_release_names() -> None:
    image = chart_values(CONTROLLER, "v1.15.2")["controller"]["image"]
    assert {image["tag"]: image["digest"]} == DIGESTS


@every_release
def test_the_controller_is_told_cluster_queue_and_pace(release: str) -> None:
    found = environment(release)
    assert found["CLUSTER_NAME"] == "my-cluster"
    assert found["INTERRUPTION_QUEUE"] == "my-queue"
    assert found["BATCH_IDLE_DURATION"] == "1s"
    assert found["IGNORE_DRA_REQUESTS"] == "true"
    # asked of AWS and of EKS, because nothing says otherwise
    assert {"ISOLATED_VPC", "CLUSTER_ENDPOINT", "CLUSTER_CA_BUNDLE", "EKS_CONTROL_PLANE"}.isdisjoint(found)


@every_release
def test_its_pods_are_the_ones_that_the_association_gives_credentials(release: str) -> None:
    account = one("ServiceAccount", release)
    assert account["metadata"]["name"] == pod(release)["serviceAccountName"] == KARPENTER_SERVICE_ACCOUNT == "karpenter"
    assert account["metadata"].get("annotations") is None
    spaces = {body["metadata"].get("namespace", KARPENTER_NAMESPACE) for body in rendered(release)}
    assert spaces == {KARPENTER_NAMESPACE} == {"kube-system"}
    (container,) = pod(release)["containers"]
    assert container["resources"] == {name: {"cpu": "1", "memory": "1Gi"} for name in ("requests", "limits")}


@every_release
def test_the_account_keeps_its_name_whatever_the_release_is_called(release: str) -> None:
    """The chart derives it from that name otherwise, and the association would miss it."""
    bodies = render(CONTROLLER, release, {**given(release), "fullnameOverride": "other"})
    assert [body["metadata"]["name"] for body in bodies if body["kind"] == "ServiceAccount"] == ["karpenter"]
    assert [body["metadata"]["name"] for body in bodies if body["kind"] == "Deployment"] == ["other"]


@every_release
def test_two_replicas_stand_on_two_system_nodes_in_two_zones(release: str) -> None:
    """Why the system nodes are two or more in two zones. They carry no taint, so tolerations decide nothing."""
    deployment, spec = one("Deployment", release), pod(release)
    assert deployment["spec"]["replicas"] == 2
    assert spec["nodeSelector"] == {SYSTEM_LABEL: "true", "kubernetes.io/os": "linux"}
    mine = {"matchLabels": deployment["spec"]["template"]["metadata"]["labels"]}
    assert deployment["spec"]["selector"] == mine
    rules = "requiredDuringSchedulingIgnoredDuringExecution"
    assert spec["affinity"] == {
        "nodeAffinity": {
            rules: {
                "nodeSelectorTerms": [
                    {"matchExpressions": [{"key": "karpenter.sh/nodepool", "operator": "DoesNotExist"}]}
                ]
            }
        },
        "podAntiAffinity": {rules: [{"topologyKey": "kubernetes.io/hostname", "labelSelector": mine}]},
    }
    assert spec["topologySpreadConstraints"] == [
        {
            "maxSkew": 1,
            "topologyKey": "topology.kubernetes.io/zone",
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": mine,
        }
    ]
    assert spec["tolerations"] == [{"key": "CriticalAddonsOnly", "operator": "Exists"}]


@every_release
def test_nothing_pushes_the_controller_aside(release: str) -> None:
    assert pod(release)["priorityClassName"] == "system-cluster-critical"
    assert pod(release)["dnsPolicy"] == "ClusterFirst"
    budget = one("PodDisruptionBudget", release)["spec"]
    assert budget["maxUnavailable"] == 1
    assert budget["selector"] == one("Deployment", release)["spec"]["selector"]


@every_release
def test_no_webhook_stands_between_the_api_server_and_anything(release: str) -> None:
    """Nothing to wait for, and nothing that refuses every object when its pods are gone."""
    bodies: list[Mapping[str, Any]] = [*rendered(release), *render(DEFINITIONS, release, {})]
    kinds = {body["kind"] for body in bodies}
    assert {kind for kind in kinds if "Webhook" in kind} == set()
    conversions = [body["spec"].get("conversion") for body in bodies if body["kind"] == "CustomResourceDefinition"]
    assert conversions == [None] * 5
