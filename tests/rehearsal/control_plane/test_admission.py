"""What the real API server admits and refuses; every refusal in its own words, at the right resource."""

from __future__ import annotations

import pytest

from rehearsal.control_plane.admission import admit
from rehearsal.control_plane.client import Client
from rehearsal.control_plane.objects.manifest import Manifest
from rehearsal.providers.values import UNKNOWN
from tests.rehearsal.control_plane.conftest import lines
from tests.rehearsal.control_plane.objects import container, deployment, made, namespace, service, template, urn

RESTRICTED = "pod-security.kubernetes.io/enforce"


def named(report):
    return [(each.kind, each.name) for each in report.admitted]


def test_right_objects_are_admitted_in_whatever_order_they_come(ask):
    report = ask(
        deployment("right", "web", priorityClassName="urgent", serviceAccountName="web"),
        service("right", "web"),
        made("v1", "Pod", "alone", "right", spec=template()["spec"]),
        made("v1", "ServiceAccount", "web", "right"),
        made("scheduling.k8s.io/v1", "PriorityClass", "urgent", value=1000),
        made("v1", "ConfigMap", "text", "right", data={"emoji": "\N{GRINNING FACE} and a \\u0041"}),
        namespace("right"),
        made("v1", "ConfigMap", "elsewhere", data={}),
    )
    assert lines(report) == []
    assert named(report) == [
        ("Deployment", "right/web"),
        ("Pod of Deployment", "right/web-pod"),
        ("Service", "right/web"),
        ("Pod", "right/alone"),
        ("ServiceAccount", "right/web"),
        ("PriorityClass", "urgent"),
        ("ConfigMap", "right/text"),
        ("Namespace", "right"),
        ("ConfigMap", "default/elsewhere"),
    ]
    assert report.admitted[0].urn == report.admitted[1].urn == "urn:pulumi:dev::p::Deployment::web"


def test_only_what_others_are_judged_by_is_created(ask, server):
    assert lines(ask(namespace("dry"), service("dry", "web"), deployment("dry", "web"))) == []
    with Client(server) as client:
        assert client.get("/api/v1/namespaces/dry").ok
        assert client.get("/api/v1/namespaces/dry/serviceaccounts/default").ok
        for path in ("/api/v1/namespaces/dry/services", "/apis/apps/v1/namespaces/dry/deployments"):
            assert client.get(path).body["items"] == []


WRONG_SELECTOR = deployment("space", "selector")
WRONG_SELECTOR["spec"]["selector"] = {"matchLabels": {"app": "y"}}
UPPER_CASE = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end "
    "with an alphanumeric character (e.g. 'my-name', or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            deployment("space", "typo", contaners=[]),
            "failed to create typed patch object (space/typo; apps/v1, Kind=Deployment): "
            ".spec.template.spec.contaners: field not declared in schema",
        ),
        (
            service("space", "Web"),
            f'Service "Web" is invalid: metadata.name: Invalid value: "Web": {UPPER_CASE}',
        ),
        (
            service("space", "port", 70000),
            'Service "port" is invalid: [spec.ports[0].port: Invalid value: 70000: must be between 1 and 65535, '
            "inclusive, spec.ports[0].targetPort: Invalid value: 70000: must be between 1 and 65535, inclusive]",
        ),
        (
            deployment("space", "no-image", {"name": "server"}),
            'Deployment.apps "no-image" is invalid: spec.template.spec.containers[0].image: Required value',
        ),
        (
            WRONG_SELECTOR,
            'Deployment.apps "selector" is invalid: spec.template.metadata.labels: Invalid value: {"app":"x"}: '
            "`selector` does not match template `labels`",
        ),
        (
            deployment("space", "cpu", container(resources={"requests": {"cpu": "2"}, "limits": {"cpu": "1"}})),
            'Deployment.apps "cpu" is invalid: spec.template.spec.containers[0].resources.requests: Invalid value: '
            '"2": must be less than or equal to cpu limit of 1',
        ),
        (deployment("nowhere", "web"), 'namespaces "nowhere" not found'),
        (
            made("v1", "ConfigMap", "numbers", "space", data={"a": 1}),
            "failed to create typed patch object (space/numbers; /v1, Kind=ConfigMap): .data.a: expected string, "
            "got &value.valueUnstructured{Value:1}",
        ),
    ],
    ids=lambda value: value["metadata"]["name"] if isinstance(value, dict) else "",
)
def test_a_wrong_object_is_refused_in_the_servers_words_at_its_resource(ask, space, body, message):
    report = ask(body)
    assert report.admitted == ()
    assert lines(report) == [
        f"{urn(body)}: {body['kind']} {body['metadata']['namespace']}/{body['metadata']['name']}: {message}"
    ]


def test_every_refusal_is_collected(ask):
    report = ask(
        service("several", "A"), namespace("several"), service("several", "b"), service("several", "C"), namespace("N")
    )
    assert [(each.kind, each.name) for each in report.refusals] == [
        ("Service", "several/A"),
        ("Service", "several/C"),
        ("Namespace", "N"),
    ]
    assert named(report) == [("Namespace", "several"), ("Service", "several/b")]


def test_a_pod_that_its_namespace_forbids_is_refused_where_its_deployment_is_not(ask):
    privileged = container(securityContext={"privileged": True})
    report = ask(namespace("locked", **{RESTRICTED: "restricted"}), deployment("locked", "root", privileged))
    assert named(report) == [("Namespace", "locked"), ("Deployment", "locked/root")]
    assert lines(report) == [
        'urn:pulumi:dev::p::Deployment::root: Pod of Deployment locked/root-pod: pods "root-pod" is forbidden: '
        'violates PodSecurity "restricted:latest": privileged (container "server" must not set '
        'securityContext.privileged=true), allowPrivilegeEscalation != false (container "server" must set '
        'securityContext.allowPrivilegeEscalation=false), unrestricted capabilities (container "server" must set '
        'securityContext.capabilities.drop=["ALL"]), runAsNonRoot != true (pod or container "server" must set '
        'securityContext.runAsNonRoot=true), seccompProfile (pod or container "server" must set '
        'securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")'
    ]


def test_what_the_server_warns_of_is_kept(ask):
    warned = namespace("warned", **{"pod-security.kubernetes.io/warn": "baseline"})
    report = ask(warned, deployment("warned", "host", hostNetwork=True))
    assert lines(report) == []
    warning = 'would violate PodSecurity "baseline:latest": host namespaces (hostNetwork=true)'
    assert [each.warnings for each in report.admitted] == [(), (warning,), (warning,)]


@pytest.mark.parametrize(
    ("pod", "message"),
    [
        ({"priorityClassName": "absent"}, "no PriorityClass with name absent was found"),
        (
            {"serviceAccountName": "absent"},
            'error looking up service account space/absent: serviceaccount "absent" not found',
        ),
        (
            {"runtimeClassName": "absent"},
            'pod rejected: RuntimeClass "absent" not found',
        ),
    ],
    ids=["priority class", "service account", "runtime class"],
)
def test_a_pod_with_something_that_is_not_there_is_refused(ask, space, pod, message):
    assert lines(ask(deployment(space, "lacks", **pod))) == [
        'urn:pulumi:dev::p::Deployment::lacks: Pod of Deployment space/lacks-pod: pods "lacks-pod" is forbidden: '
        f"{message}"
    ]


def test_a_limit_range_speaks_on_pods(ask):
    limits = {"limits": [{"type": "Container", "max": {"memory": "1Gi"}, "default": {"memory": "1Gi"}}]}
    large = container(resources={"limits": {"memory": "2Gi"}})
    report = ask(
        namespace("ranged"),
        deployment("ranged", "small"),
        deployment("ranged", "large", large),
        made("v1", "LimitRange", "memory", "ranged", spec=limits),
    )
    assert lines(report) == [
        'urn:pulumi:dev::p::Deployment::large: Pod of Deployment ranged/large-pod: pods "large-pod" is forbidden: '
        "maximum memory usage per Container is 1Gi, but limit is 2Gi"
    ]


def test_a_quota_speaks_on_pods(ask):
    fits, large = (container(resources={"limits": {"cpu": cpu}}) for cpu in ("1", "2"))
    report = ask(
        namespace("quota"),
        made("v1", "ResourceQuota", "cpu", "quota", spec={"hard": {"limits.cpu": "1"}}),
        deployment("quota", "fits", fits),
        deployment("quota", "large", large),
        deployment("quota", "silent"),
    )
    assert [refusal.message for refusal in report.refusals] == [
        'pods "large-pod" is forbidden: exceeded quota: cpu, requested: limits.cpu=2, used: limits.cpu=0, '
        "limited: limits.cpu=1",
        'pods "silent-pod" is forbidden: failed quota: cpu: must specify limits.cpu for: server',
    ]


def test_every_kind_of_workload_has_its_pod_asked_for(ask, space):
    once = template(restartPolicy="Never", priorityClassName="absent")
    ever = template(priorityClassName="absent")
    selector = {"matchLabels": {"app": "x"}}
    report = ask(
        made("apps/v1", "DaemonSet", "a", space, spec={"selector": selector, "template": ever}),
        made("apps/v1", "StatefulSet", "b", space, spec={"selector": selector, "template": ever, "serviceName": "b"}),
        made("batch/v1", "Job", "c", space, spec={"template": once}),
        made(
            "batch/v1", "CronJob", "d", space, spec={"schedule": "@daily", "jobTemplate": {"spec": {"template": once}}}
        ),
    )
    assert [(each.kind, each.name) for each in report.refusals] == [
        ("Pod of DaemonSet", "space/a-pod"),
        ("Pod of StatefulSet", "space/b-pod"),
        ("Pod of Job", "space/c-pod"),
        ("Pod of CronJob", "space/d-pod"),
    ]


def test_the_pod_of_a_stateful_set_has_the_volumes_of_its_claims(ask, space):
    mounted = container(volumeMounts=[{"name": "cache", "mountPath": "/cache"}])
    claim = {
        "metadata": {"name": "cache"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }
    spec = {
        "selector": {"matchLabels": {"app": "x"}},
        "serviceName": "x",
        "template": template(mounted),
        "volumeClaimTemplates": [claim],
    }
    report = ask(made("apps/v1", "StatefulSet", "claims", space, spec=spec))
    assert lines(report) == []
    assert named(report)[1] == ("Pod of StatefulSet", "space/claims-pod")


def test_the_longest_name_of_a_workload_still_makes_a_pod(ask, space):
    assert lines(ask(deployment(space, "a" * 253))) == []


def test_an_object_with_a_value_that_only_up_would_tell_is_refused(ask):
    body = deployment("space", "unknown", container(env=[{"name": "A", "value": UNKNOWN}]))
    assert lines(ask(body)) == [
        "urn:pulumi:dev::p::Deployment::unknown: Deployment space/unknown: "
        "spec.template.spec.containers[0].env[0].value is unknown: only `up` would tell, so the object cannot be "
        "checked"
    ]


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("apiVersion", "urn:x: Service space/web: apiVersion is missing"),
        ("kind", "urn:x: object space/web: kind is missing"),
        ("metadata", "urn:x: Service (no name): metadata.name is missing"),
    ],
)
def test_what_is_no_object_is_refused(server, key, message):
    body = {name: value for name, value in service("space", "web").items() if name != key}
    assert lines(admit(server, [Manifest(urn="urn:x", body=body)])) == [message]
