"""Defines the custom kinds that the objects use, and waits until the API server serves them."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from rehearsal.control_plane import crds
from rehearsal.control_plane.client import Client
from rehearsal.control_plane.crds import Crd, CrdError, Source
from rehearsal.control_plane.discovery import Discovery, group_of

_COLLECTION = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_ESTABLISHED_SECONDS = 10.0


def install(
    client: Client,
    discovery: Discovery,
    wanted: Iterable[tuple[str, str]],
    folder: Path | None,
    sources: Mapping[str, Source] | None,
) -> tuple[str, ...]:
    """Define the `wanted` kinds (apiVersion, kind) that are not served; returns `<definition> (<origin>)` lines.

    What nobody defines stays away; `missing` says so. Raises CrdError and ControlPlaneError.
    """
    given = crds.of_folder(folder) if folder is not None else []
    chosen: dict[str, Crd] = {}
    for api_version, kind in wanted:
        if discovery.find(api_version, kind) is not None:
            continue
        group = group_of(api_version)
        crd = _first(given, group, kind) or _first(crds.of_group(group, sources), group, kind)
        if crd is not None:
            chosen[crd.name] = crd
    for crd in chosen.values():
        answer = client.apply(f"{_COLLECTION}/{crd.name}", crd.body, fieldValidation="Strict")
        if not answer.ok:
            raise CrdError(f"{crd.name} ({crd.origin}) is refused: {answer.message}")
    for crd in chosen.values():
        problem = await_served(client, discovery, crd.body)
        if problem is not None:
            raise CrdError(f"{crd.name} ({crd.origin}): {problem}")
    return tuple(f"{crd.name} ({crd.origin})" for crd in chosen.values())


def await_served(client: Client, discovery: Discovery, body: Mapping[str, Any]) -> str | None:
    """Wait until the kind of an applied definition is served; returns why it is not. Raises ControlPlaneError."""
    deadline = time.monotonic() + _ESTABLISHED_SECONDS
    while True:
        found = client.get(f"{_COLLECTION}/{body['metadata']['name']}").body
        # A new definition has a status without conditions for a moment.
        conditions = {each["type"]: each for each in (found.get("status") or {}).get("conditions") or []}
        if conditions.get("Established", {}).get("status") == "True":
            break
        if time.monotonic() > deadline:
            said = "; ".join(f"{each['type']} {each['status']}: {each['message']}" for each in conditions.values())
            return f"not established after {_ESTABLISHED_SECONDS:.0f} s ({said or 'no condition'})"
        time.sleep(0.02)
    for version in body["spec"]["versions"]:
        if version["served"]:
            discovery.await_kind(f"{body['spec']['group']}/{version['name']}", body["spec"]["names"]["kind"])
    return None


def missing(discovery: Discovery, version: str, api_version: str, kind: str) -> str:
    """Why a kind is not served by kube-apiserver `version`, and what to do about it. Raises ControlPlaneError."""
    group = group_of(api_version)
    source = crds.SOURCES.get(group)
    if source is not None:
        return f"{source.title} defines no {api_version} {kind}"
    if discovery.serves_group(group):
        return f"kube-apiserver v{version} serves {group or 'the core group'}, but no {api_version} {kind}"
    return (
        f"kube-apiserver v{version} does not serve {api_version}, and no CRD of {kind} is known here: add {group} to "
        "SOURCES in rehearsal/control_plane/crds.py, or pass a folder with the CRD by --crds"
    )


def _first(definitions: Iterable[Crd], group: str, kind: str) -> Crd | None:
    return next((crd for crd in definitions if (crd.group, crd.kind) == (group, kind)), None)
