"""What the agent may do in the cluster with `wake: external`, and who may reach the server at all.

RBAC knows neither labels nor one pod of many: a Role on pods get and patch would let one server's agent rewrite every
pod of the namespace. The admission policy narrows it to the pod that its token is bound to and to one label of it; the
token names the pod (`authentication.kubernetes.io/pod-name`, Kubernetes 1.32 and later).
"""

from collections.abc import Mapping

import pulumi

from serving.engine import PORT
from serving.front import AWAKE_LABEL
from serving.front.containers import Manifest

API = "admissionregistration.k8s.io/v1"
RBAC = "rbac.authorization.k8s.io"
POLICY = "vllm-eks-agent"
"""Of the cluster: one policy for the service accounts of all servers, with a binding for each namespace."""

_POD_NAME = "'authentication.kubernetes.io/pod-name'"


def role(name: str, namespace: str, labels: Mapping[str, str]) -> Manifest:
    """Return the Role of one server: its pods get names of their own, so it cannot name them."""
    return {
        "apiVersion": f"{RBAC}/v1",
        "kind": "Role",
        "metadata": {"name": name, "namespace": namespace, "labels": dict(labels)},
        "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "patch"]}],
    }


def role_binding(name: str, namespace: str, labels: Mapping[str, str], service_account: str) -> Manifest:
    """Return what gives it to the server's service account."""
    return {
        "apiVersion": f"{RBAC}/v1",
        "kind": "RoleBinding",
        "metadata": {"name": name, "namespace": namespace, "labels": dict(labels)},
        "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": service_account, "namespace": namespace}],
    }


def policy(namespace: str, service_accounts: list[str], name: str = POLICY) -> Manifest:
    """Return the ValidatingAdmissionPolicy over what these service accounts change of pods.

    Whatever it cannot decide is refused (`failurePolicy`). It speaks of updates: the Role allows nothing else, and
    subresources are not in it.
    """
    users = ", ".join(f"'system:serviceaccount:{namespace}:{account}'" for account in sorted(service_accounts))
    extra = f"request.userInfo.extra[{_POD_NAME}]"
    old, new = "variables.oldLabels", "variables.newLabels"
    return {
        "apiVersion": API,
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {
                "resourceRules": [
                    {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["UPDATE"], "resources": ["pods"]}
                ]
            },
            "matchConditions": [{"name": "agents", "expression": f"request.userInfo.username in [{users}]"}],
            "variables": [
                {"name": "oldLabels", "expression": "has(oldObject.metadata.labels) ? oldObject.metadata.labels : {}"},
                {"name": "newLabels", "expression": "has(object.metadata.labels) ? object.metadata.labels : {}"},
            ],
            "validations": [
                {
                    "expression": f"has(request.userInfo.extra) && {_POD_NAME} in request.userInfo.extra"
                    f" && {extra} == [request.name]",
                    "message": "an agent changes the pod that it runs in, and no other one",
                },
                {
                    "expression": f"{old}.all(it, it == '{AWAKE_LABEL}' || (it in {new} && {new}[it] == {old}[it]))"
                    f" && {new}.all(it, it == '{AWAKE_LABEL}' || it in {old})"
                    f" && (!('{AWAKE_LABEL}' in {new}) || {new}['{AWAKE_LABEL}'] == 'true')",
                    "message": f"an agent sets the label {AWAKE_LABEL} to true or removes it,"
                    " and changes no other label",
                },
                {
                    "expression": _same("annotations", "ownerReferences", "finalizers"),
                    "message": f"an agent changes nothing of its pod's metadata but the label {AWAKE_LABEL}",
                },
                {
                    "expression": "object.spec == oldObject.spec",
                    "message": "an agent changes nothing of its pod's spec",
                },
            ],
        },
    }


def policy_binding(namespace: str, name: str = POLICY) -> Manifest:
    """Return what puts the policy into force in the servers' namespace."""
    return {
        "apiVersion": API,
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": name},
        "spec": {
            "policyName": name,
            "validationActions": ["Deny"],
            # every namespace has this label from the API server
            "matchResources": {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}}},
        },
    }


def network_policy(name: str, namespace: pulumi.Input[str], labels: Mapping[str, str]) -> Manifest:
    """Return the NetworkPolicy of a server's pods: in comes what goes to the served port, and nothing else.

    By its number: whoever enforces it may not look for a name in sidecars. Kubelet's probes are not asked (the node is
    always let in).
    """
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": name, "namespace": namespace, "labels": dict(labels)},
        "spec": {
            "podSelector": {"matchLabels": dict(labels)},
            "policyTypes": ["Ingress"],
            "ingress": [{"ports": [{"port": PORT, "protocol": "TCP"}]}],
        },
    }


def _same(*fields: str) -> str:
    return " && ".join(
        f"(has(object.metadata.{field}) ? object.metadata.{field} == (has(oldObject.metadata.{field})"
        f" ? oldObject.metadata.{field} : object.metadata.{field}) && has(oldObject.metadata.{field})"
        f" : !has(oldObject.metadata.{field}))"
        for field in fields
    )
