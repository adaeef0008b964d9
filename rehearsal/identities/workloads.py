"""What the Kubernetes objects of a stack say of identities: which pods use one, what they run, who may change them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rehearsal.identities.extract import Resource

RELEASE = "kubernetes:helm.sh/v3:Release"

_WRITES = frozenset({"create", "update", "patch", "*"})
_RUNNING = frozenset(
    {
        *("pods", "pods/exec", "pods/attach", "pods/ephemeralcontainers", "configmaps", "secrets"),
        *("deployments", "statefulsets", "daemonsets", "replicasets", "replicationcontrollers", "jobs", "cronjobs"),
        *("serviceaccounts/token", "roles", "rolebindings", "clusterroles", "clusterrolebindings", "*"),
    }
)
"""Kubernetes resources by which somebody decides what a pod runs, or gets its identity. `scale` is none."""

ADMINS = frozenset({"AmazonEKSClusterAdminPolicy", "AmazonEKSAdminPolicy", "AmazonEKSEditPolicy"})
"""EKS's access policies that may make pods, with any service account of their namespaces."""

Account = tuple[str, str]
"""Namespace and service account."""


@dataclass(frozen=True, kw_only=True)
class Workload:
    """Something that makes pods."""

    kind: str
    name: str
    account: Account
    images: frozenset[str]

    def __str__(self) -> str:
        """As in a sentence."""
        return f"{self.kind} {self.account[0]}/{self.name}"


def workloads(resources: Iterable[Resource]) -> list[Workload]:
    """All that make pods, and charts that say which service account theirs have, by name."""
    found = []
    for it in resources:
        given = it.get("inputs", {})
        if it["type"] == RELEASE:
            account = (given.get("values") or {}).get("serviceAccount") or {}
            if "name" in account:
                at = (str(given["namespace"]), str(account["name"]))
                found.append(Workload(kind="chart", name=given["name"], account=at, images=frozenset()))
        elif it["type"].startswith("kubernetes:") and (spec := _pod_spec(given)):
            at = (given["metadata"]["namespace"], spec.get("serviceAccountName", "default"))
            found.append(
                Workload(
                    kind=given["kind"],
                    name=given["metadata"]["name"],
                    account=at,
                    images=frozenset(c["image"] for key in ("initContainers", "containers") for c in spec.get(key, ())),
                )
            )
    return sorted(found, key=str)


def _pod_spec(given: Mapping[str, Any]) -> Mapping[str, Any] | None:
    spec = given.get("spec") or {}
    for step in ("jobTemplate", "spec", "template", "spec"):
        if isinstance(spec, Mapping) and step in spec:
            spec = spec[step]
    return spec if isinstance(spec, Mapping) and "containers" in spec else None


@dataclass(frozen=True, kw_only=True)
class Hand:
    """A service account that may decide what pods run."""

    account: Account
    namespace: str | None
    """Whose pods; None: all."""
    by: str
    """The role that says so."""
    stopped_by: tuple[str, ...]
    """Admission policies that leave it nothing of a pod's spec to change."""


def changing(resources: Iterable[Resource]) -> Iterator[Hand]:
    """All of them, by roles and bindings. What charts bring of both is not known here."""
    kept = [it for it in resources if it["type"].startswith("kubernetes:")]
    rules = {_of(it): it["inputs"].get("rules") or [] for it in kept if _kind(it) in {"Role", "ClusterRole"}}
    for it in kept:
        if _kind(it) not in {"RoleBinding", "ClusterRoleBinding"}:
            continue
        given = it["inputs"]
        at, ref = given["metadata"].get("namespace"), given["roleRef"]
        of = rules.get((ref["kind"], at if ref["kind"] == "Role" else None, ref["name"]))
        # a role that others made may hold anything
        if of is None or any(map(_runs, of)):
            for subject in given.get("subjects") or ():
                account = (str(subject.get("namespace", at)), str(subject["name"]))
                stopped = _guards(kept, account) if of is not None and all(map(_patches_pods, of)) else ()
                yield Hand(account=account, namespace=at, by=f"{ref['kind']} {ref['name']}", stopped_by=tuple(stopped))


def _kind(resource: Resource) -> str:
    return str(resource["type"]).rpartition(":")[2]


def _of(resource: Resource) -> tuple[str, str | None, str]:
    metadata = resource["inputs"]["metadata"]
    return _kind(resource), metadata.get("namespace"), metadata["name"]


def _runs(rule: Mapping[str, Any]) -> bool:
    return bool(_WRITES & {*rule.get("verbs", ())} and _RUNNING & {*rule.get("resources", ())})


def _patches_pods(rule: Mapping[str, Any]) -> bool:
    """Whether the rule changes pods that are there, and nothing else."""
    changes = _WRITES & {*rule.get("verbs", ())} <= {"update", "patch"} and _RUNNING & {*rule["resources"]} <= {"pods"}
    return changes or not _runs(rule)


def _guards(resources: Iterable[Resource], account: Account) -> Iterator[str]:
    """Admission policies that keep pods' specs from the account: bound, closed on failure, and for its very name."""
    kept = list(resources)
    bound = {
        it["inputs"]["spec"]["policyName"]
        for it in kept
        if _kind(it) == "ValidatingAdmissionPolicyBinding" and it["inputs"]["spec"]["validationActions"] == ["Deny"]
    }
    for it in kept:
        if _kind(it) != "ValidatingAdmissionPolicy" or it["inputs"]["metadata"]["name"] not in bound:
            continue
        spec = it["inputs"]["spec"]
        user = f"'system:serviceaccount:{account[0]}:{account[1]}'"
        covers = any(
            "pods" in rule["resources"] and "UPDATE" in rule["operations"]
            for rule in spec["matchConstraints"]["resourceRules"]
        )
        named = all(user in condition["expression"] for condition in spec.get("matchConditions", ()))
        keeps = any(check["expression"] == "object.spec == oldObject.spec" for check in spec["validations"])
        if covers and named and keeps and spec["failurePolicy"] == "Fail":
            yield f"ValidatingAdmissionPolicy {it['inputs']['metadata']['name']}"
