"""Servers to take keys of: the prod stack's, with changes spelled as the stack file spells them."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from infra.gpu_pools import GpuPool
from serving.cache_key import KeyedServer, cache_key, explained, fingerprint
from serving.cache_key.server import keyed
from serving.server import ServerSettings, situation
from tests.harness import REGION, stack_settings

PRODUCTS = {
    "a10g": ["g5.2xlarge"],
    "l4": ["g6.2xlarge"],
    "l40s": ["g6e.2xlarge"],
    "h100": ["p5.48xlarge"],
    "rtx-pro-server-6000": ["g7e.2xlarge", "g7e.4xlarge"],
}
"""Ampere, Ada and Hopper (VLM-06), and the prod stack's. a10g and l4 have the same memory."""


def server(
    *,
    nodes: Mapping[str, Any] | None = None,
    region: str = REGION,
    args: Mapping[str, Any] | None = None,
    **changes: Any,
) -> KeyedServer:
    """The prod stack's server. `nodes`: changed keys of its pool. `changes`: of its own sections, or whole values."""
    raw = stack_settings("prod")
    its = raw["servers"]["gemma"]
    if "techniques" in changes:
        del its["preset"]
    for name, value in changes.items():
        its[name] = {**(its.get(name) or {}), **value} if isinstance(value, Mapping) else value
    if args is not None:
        its["engine"]["args"] = args
    settings = ServerSettings.model_validate(its)
    placed = GpuPool.model_validate({**raw["gpuPools"]["rtx-pro-6000"], **(nodes or {})})
    return keyed(situation(settings, placed, region), settings.chosen)


def on(product: str, **changes: Any) -> KeyedServer:
    return server(nodes={"product": product, "instanceTypes": PRODUCTS[product], "maxGpus": 8}, **changes)


def with_env(changed: KeyedServer, **env: str) -> KeyedServer:
    return replace(changed, env={**changed.env, **env})


def with_flags(changed: KeyedServer, flags: Mapping[str, object]) -> KeyedServer:
    return replace(changed, flags={**changed.flags, **flags})


def print_of(of: KeyedServer) -> str:
    return fingerprint(explained(of))


def exact(of: KeyedServer) -> str:
    return cache_key(of).exact
