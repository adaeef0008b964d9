"""Asks a real API server whether it would take the objects of a stack, and collects every refusal.

What others are judged by is created (definitions, namespaces, service accounts, classes, limits); everything else is
a server-side apply with a dry run. No controller runs: what only a controller or a kubelet would say is not said.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rehearsal.control_plane.client import Answer, ApiServer, Client, ControlPlaneError
from rehearsal.control_plane.crds import Source
from rehearsal.control_plane.discovery import Discovery, Resource, group_of, namespace_of
from rehearsal.control_plane.installation import await_served, install, missing
from rehearsal.control_plane.objects.hidden import Hidden
from rehearsal.control_plane.objects.manifest import Admitted, Manifest, Refusal, Report
from rehearsal.control_plane.objects.pods import pod_of
from rehearsal.providers.values import UNKNOWN, reveal

_DEFINITION = ("apiextensions.k8s.io", "CustomResourceDefinition")
_QUOTA = ("", "ResourceQuota")
_POD = ("", "Pod")
# API group and kind of what is created, in this order, because admission looks it up for other objects. Webhooks are
# not among them: nothing would answer.
_LIVE = (("", "Namespace"), ("", "ServiceAccount"))
_CACHED = (("scheduling.k8s.io", "PriorityClass"), ("node.k8s.io", "RuntimeClass"), ("", "LimitRange"), _QUOTA)
_CREATED = (_DEFINITION, *_LIVE, *_CACHED)
# Admission plugins read those of _CACHED from caches that lag behind by milliseconds.
_SETTLED_SECONDS = 0.5
# Server-side apply refuses unknown fields by itself, the creation of a pod only when asked.
_CREATE = {"fieldValidation": "Strict"}
_DRY_RUN = {"fieldValidation": "Strict", "dryRun": "All"}

_NOT_SHOWN = "(the message is not shown: it holds a secret value)"

_Verdict = Admitted | Refusal


def admit(
    server: ApiServer,
    manifests: Sequence[Manifest],
    *,
    crds: Path | None = None,
    sources: Mapping[str, Source] | None = None,
) -> Report:
    """The verdict of a fresh API server over all objects of a stack.

    `crds`: a folder of definitions that go before `sources`, the table of rehearsal.control_plane.crds. Raises CrdError
    when definitions cannot be had or installed, ControlPlaneError when the server stops.
    """
    with Client(server) as client:
        return _Admission(client, server.version).run(manifests, crds, sources)


@dataclass(frozen=True, kw_only=True)
class _Object:
    urn: str
    body: Mapping[str, Any]
    """For the API server: without Pulumi's wrappers."""
    hidden: Hidden

    @property
    def kind(self) -> tuple[str, str]:
        return group_of(self.body["apiVersion"]), self.body["kind"]


class _Admission:
    def __init__(self, client: Client, version: str) -> None:
        self._client = client
        self._version = version
        self._discovery = Discovery(client)
        self._settled_at = 0.0

    def run(self, manifests: Sequence[Manifest], folder: Path | None, sources: Mapping[str, Source] | None) -> Report:
        """Judge all; no refusal stops the others, but what it would have created is missing."""
        verdicts: dict[int, _Verdict] = {}
        fit: dict[int, _Object] = {}
        for index, manifest in enumerate(manifests):
            each = _Object(urn=manifest.urn, body=reveal(manifest.body), hidden=Hidden(manifest.body))
            problem = _unfit(each.body)
            if problem is None:
                fit[index] = each
            else:
                verdicts[index] = _refusal(each, problem)

        def judge(*kinds: tuple[str, str]) -> None:
            for kind in kinds:
                verdicts.update({index: self._judge(each) for index, each in fit.items() if each.kind == kind})

        judge(_DEFINITION)
        wanted = dict.fromkeys((each.body["apiVersion"], each.body["kind"]) for each in fit.values())
        installed = install(self._client, self._discovery, wanted, folder, sources)
        judge(*_LIVE)
        self._give_accounts({namespace_of(each.body) for each in fit.values()})
        judge(*_CACHED)
        kinds = dict.fromkeys(each.kind for each in fit.values())
        judge(*(kind for kind in kinds if kind not in (*_CREATED, _POD)))
        time.sleep(max(0.0, self._settled_at - time.monotonic()))
        judge(_POD)
        pods = {index: self._judge_pod(each) for index, each in fit.items() if isinstance(verdicts[index], Admitted)}
        every = [verdict for index in range(len(manifests)) for verdict in (verdicts[index], pods.get(index))]
        return Report(
            admitted=tuple(verdict for verdict in every if isinstance(verdict, Admitted)),
            refusals=tuple(verdict for verdict in every if isinstance(verdict, Refusal)),
            crds=installed,
        )

    def _judge(self, each: _Object) -> _Verdict:
        version, kind, name = each.body["apiVersion"], each.body["kind"], each.body["metadata"]["name"]
        resource = self._discovery.find(version, kind)
        if resource is None:
            return _refusal(each, missing(self._discovery, self._version, version, kind))
        path = resource.object(namespace_of(each.body), name)
        answer = self._client.apply(path, each.body, **(_CREATE if each.kind in _CREATED else _DRY_RUN))
        if answer.ok and each.kind in _CREATED:
            problem = self._created(each.kind, path, each.body)
            if problem is not None:
                return _refusal(each, problem)
        return _verdict(each, kind, f"{namespace_of(each.body)}/{name}" if resource.namespaced else name, answer)

    def _created(self, kind: tuple[str, str], path: str, body: Mapping[str, Any]) -> str | None:
        """Do what a controller would do now; returns what is wrong with the object all the same."""
        if kind == _DEFINITION:
            return await_served(self._client, self._discovery, body)
        if kind == _QUOTA:
            # Without a status every pod is refused.
            hard = (body.get("spec") or {}).get("hard") or {}
            self._client.merge(f"{path}/status", {"status": {"hard": hard, "used": dict.fromkeys(hard, "0")}})
        if kind in _CACHED:
            self._settled_at = time.monotonic() + _SETTLED_SECONDS
        return None

    def _give_accounts(self, namespaces: Iterable[str]) -> None:
        """Create the account that pods have by default, as a controller does in each namespace."""
        for namespace in namespaces:
            # Refused where it is there already, or the namespace is not; both are as good.
            self._client.create(
                self._core("ServiceAccount").collection(namespace),
                {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}},
            )

    def _judge_pod(self, workload: _Object) -> _Verdict | None:
        pod = pod_of(workload.body)
        if pod is None:
            return None
        namespace, name = pod["metadata"]["namespace"], pod["metadata"]["name"]
        answer = self._client.create(self._core("Pod").collection(namespace), pod, **_DRY_RUN)
        return _verdict(workload, f"Pod of {workload.body['kind']}", f"{namespace}/{name}", answer)

    def _core(self, kind: str) -> Resource:
        found = self._discovery.find("v1", kind)
        if found is None:
            raise ControlPlaneError(f"kube-apiserver v{self._version} serves no v1 {kind}")
        return found


def _unfit(body: Mapping[str, Any]) -> str | None:
    """Why the API server need not be asked about an object, or None."""
    unknown = _unknown(body, "")
    if unknown is not None:
        return f"{unknown.removeprefix('.')} is unknown: only `up` would tell, so the object cannot be checked"
    for key in ("apiVersion", "kind"):
        if not isinstance(body.get(key), str) or not body[key]:
            return f"{key} is missing"
    metadata = body.get("metadata")
    if not isinstance(metadata, Mapping) or not isinstance(metadata.get("name"), str) or not metadata["name"]:
        return "metadata.name is missing"
    return None


def _unknown(value: Any, path: str) -> str | None:
    """The path to the first value inside that Pulumi does not know yet."""
    if isinstance(value, str):
        return path if UNKNOWN in value else None
    if isinstance(value, Mapping):
        inside = ((item, f"{path}.{key}") for key, item in value.items())
    elif isinstance(value, Sequence):
        inside = ((item, f"{path}[{index}]") for index, item in enumerate(value))
    else:
        return None
    return next((found for item, where in inside if (found := _unknown(item, where)) is not None), None)


def _refusal(each: _Object, message: str) -> Refusal:
    metadata = each.body.get("metadata")
    given = metadata if isinstance(metadata, Mapping) else {}
    name = "/".join(str(given[key]) for key in ("namespace", "name") if given.get(key)).replace(UNKNOWN, "(unknown)")
    kind = str(each.body.get("kind", "object"))
    return Refusal(urn=each.urn, kind=kind, name=_named(each, name) or "(no name)", message=message)


def _verdict(each: _Object, kind: str, name: str, answer: Answer) -> _Verdict:
    name = _named(each, name)
    if answer.ok:
        warnings = tuple(_NOT_SHOWN if each.hidden.shows_in(warning) else warning for warning in answer.warnings)
        return Admitted(urn=each.urn, kind=kind, name=name, warnings=warnings)
    message = answer.message
    if each.hidden.shows_in(message):
        causes = (answer.body.get("details") or {}).get("causes") or []
        fields = ", ".join(dict.fromkeys(str(cause.get("field")) for cause in causes))
        message = f"{answer.body.get('reason') or 'refused'}{f' for {fields}' if fields else ''} {_NOT_SHOWN}"
    return Refusal(urn=each.urn, kind=kind, name=name, message=message)


def _named(each: _Object, name: str) -> str:
    return "(a secret name)" if each.hidden.shows_in(name) else name
