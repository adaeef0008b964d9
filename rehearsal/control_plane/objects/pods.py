"""The pod that a workload's controller would create."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rehearsal.control_plane.discovery import group_of, namespace_of

_LONGEST_NAME = 253
_SUFFIX = "-pod"


def _template(body: Mapping[str, Any]) -> Mapping[str, Any]:
    template: Mapping[str, Any] = body["spec"]["template"]
    return template


def _of_cron_job(body: Mapping[str, Any]) -> Mapping[str, Any]:
    return _template(body["spec"]["jobTemplate"])


def _of_stateful_set(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """Its controller adds a volume for each claim template."""
    template = _template(body)
    claims = [(each.get("metadata") or {}).get("name") for each in body["spec"].get("volumeClaimTemplates") or []]
    added = [
        {"name": claim, "persistentVolumeClaim": {"claimName": f"{claim}-{body['metadata']['name']}-0"}}
        for claim in claims
    ]
    spec = dict(template["spec"])
    spec["volumes"] = [each for each in spec.get("volumes") or [] if each["name"] not in claims] + added
    return {**template, "spec": spec}


# API group and kind: how to get at the template of its pods.
_WORKLOADS: Mapping[tuple[str, str], Callable[[Mapping[str, Any]], Mapping[str, Any]]] = {
    ("apps", "Deployment"): _template,
    ("apps", "DaemonSet"): _template,
    ("apps", "StatefulSet"): _of_stateful_set,
    ("batch", "Job"): _template,
    ("batch", "CronJob"): _of_cron_job,
}


def pod_of(body: Mapping[str, Any]) -> dict[str, Any] | None:
    """One pod of an admitted workload, in its namespace; None for other kinds.

    Pod security, priority classes, service accounts, limit ranges and quotas speak on pods only.
    """
    find = _WORKLOADS.get((group_of(body["apiVersion"]), body["kind"]))
    if find is None:
        return None
    template = find(body)
    given = template.get("metadata") or {}
    name = body["metadata"]["name"][: _LONGEST_NAME - len(_SUFFIX)].rstrip("-.")
    metadata: dict[str, Any] = {"name": f"{name}{_SUFFIX}", "namespace": namespace_of(body)}
    metadata |= {key: given[key] for key in ("labels", "annotations") if key in given}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}
