"""The dev stack's server as techniques see it, with changes, and pods made of it."""

from collections.abc import Sequence
from typing import Any

from infra.gpu_pools import GpuPool
from serving.cache_key import CacheKey
from serving.pod import Pod, Situation, baseline
from serving.pod.template import template
from serving.server import ServerSettings
from serving.server import situation as of
from serving.techniques import applied
from serving.techniques.technique import Provided
from tests.harness import REGION, stack_settings

KEY = CacheKey(engine="engine", gpu="gpu", model="model", fingerprint="0123456789abcdef0123456789abcdef")


def situation(nodes: dict[str, Any] | None = None, **changes: dict[str, Any]) -> Situation:
    """`nodes`: changed keys of the pool. `changes`: of the server's own sections."""
    raw = stack_settings("dev")
    its = raw["servers"]["gemma"]
    for section, keys in changes.items():
        its[section] = {**its.get(section, {}), **keys}
    pool = {**raw["gpuPools"][its["pool"]], **(nodes or {})}
    return of(ServerSettings.model_validate(its), GpuPool.model_validate(pool), REGION)


def provided(server: str = "gemma", key: CacheKey = KEY) -> Provided:
    return Provided(
        server=server,
        bucket="bucket",
        programs="engine-start-0123456789",
        key=key,
        proxy_image="registry.example/nginx:1",
        front_programs="front-0123456789",
        tokens="front-tokens",
    )


def templated(made: Pod, about: Situation, **changes: Any) -> Any:
    """The pod's template as the program renders it; `changes`: of what only a stack decides."""
    of_a_stack = {
        "server": "gemma",
        "image": "image",
        "priority": "p",
        "service_account": "s",
        "labels": {"app": "x"},
        "node_selector": {},
        "spread": {},
    }
    return template(made, about, **{**of_a_stack, **changes})


def pod(names: Sequence[str], about: Situation | None = None) -> Pod:
    about = about or situation()
    return applied(baseline(about, "claim"), names, about, provided())
