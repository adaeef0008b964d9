"""What each policy changes in the stack file, as the stack file spells it, and whether the program takes it."""

import copy
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pulumi
import yaml

import settings
from infra.gpu_pools import GpuPool
from ops.stack.stack_file import Stack
from serving.server.demand import slowest_return
from serving.techniques.front.front_proxy import FRONT_PROXY
from serving.techniques.front.sleep_mode import CALM, SLEEP_MODE

Change = Mapping[str, Any]
"""A part of the tree below `vllm-eks:settings`. None takes a key away."""

MOST_DIGITS = 99_999
"""Of a duration of the stack file."""


def bounds(stack: Stack, pool: str) -> tuple[int, int]:
    """Return the shortest and the longest time that empty nodes of a pool may stay, in whole minutes.

    At least what a return costs, as the program's own check has it; less than the longest sleep of a server that is
    stopped by the clock, or nothing would be saved.
    """
    its = stack.settings
    seconds, _ = slowest_return(pool, its.pools[pool], its.servers, stack.region)
    sleeps = [it.idle.schedule.longest - 1 for it in its.servers.values() if it.pool == pool and it.idle]
    return int(-(-seconds // 60)), min([MOST_DIGITS * 60, *sleeps])


def spelled(keep: int) -> str:
    """Return so many minutes, as `consolidateAfter` has them; longer ones in hours."""
    return f"{keep}m" if keep <= MOST_DIGITS else f"{-(-keep // 60)}h"


def candidates(seconds: Iterable[float], least: int, most: int) -> list[int]:
    """Return all minutes that may be the best `consolidateAfter`: of each interval the first that is no shorter.

    Args:
        seconds: idle intervals.
        least: minutes.
        most: minutes.
    """
    found = {least}
    for each in seconds:
        keep = int(-(-each // 60))
        found.add(keep if keep <= MOST_DIGITS else -(-keep // 60) * 60)
    return sorted(keep for keep in found if least <= keep <= max(least, most))


def always_on(stack: Stack, server: str) -> Change:
    """The server neither goes nor sleeps."""
    its = stack.settings.servers[server]
    change: dict[str, Any] = {"idle": None} if its.idle else {}
    if SLEEP_MODE.name in its.chosen:
        # a preset cannot lose a technique, so that its others are spelled out
        change |= {"preset": None, "techniques": [name for name in its.chosen if name != SLEEP_MODE.name]}
    return _tree(server, change, its.pool, _no_warm(stack.settings.gpu_pools[its.pool]))


def asleep(stack: Stack, server: str) -> Change:
    """The server stays, and sleeps."""
    its = stack.settings.servers[server]
    change: dict[str, Any] = {"idle": None} if its.idle else {}
    if missing := [name for name in (FRONT_PROXY.name, SLEEP_MODE.name) if name not in its.chosen]:
        change["techniques"] = [*(its.techniques or ()), *missing]
    if its.engine.gpu_memory_utilization > CALM:
        change["engine"] = {"gpuMemoryUtilization": CALM}
    return _tree(server, change, its.pool, _no_warm(stack.settings.gpu_pools[its.pool]))


def node_kept(stack: Stack, server: str, keep: int) -> Change:
    """Somebody takes the pod away; its node stays for so many minutes."""
    pool = stack.settings.servers[server].pool
    return _tree(server, {}, pool, {"consolidateAfter": spelled(keep), **_no_warm(stack.settings.gpu_pools[pool])})


def warm_node(stack: Stack, server: str, keep: int, nodes: int) -> Change:
    """The same, and so many nodes stand ready."""
    pool = stack.settings.servers[server].pool
    return _tree(server, {}, pool, {"consolidateAfter": spelled(keep), "warmNodes": nodes})


def tried(stack: Stack, change: Change) -> settings.Settings | list[str]:
    """Return the settings with a change, or the lines of what is wrong with it."""
    tree = copy.deepcopy(dict(stack.tree))
    _merge(tree, change)
    try:
        return settings.parse(tree, stack.region)
    except pulumi.RunError as error:
        return [line.strip() for line in str(error).splitlines()[1:]]


def text(change: Change) -> str:
    """Return a change as YAML to paste below `vllm-eks:settings`, what is to be taken away as comments."""
    gone = [f"# take away: {path}" for path in _gone(change)]
    kept = _without_gone(change)
    written = yaml.safe_dump(kept, sort_keys=False, default_flow_style=None, width=200).rstrip() if kept else ""
    return "\n".join([*([written] if written else []), *gone]) or "# as it is"


def _tree(server: str, of_server: Mapping[str, Any], pool: str, of_pool: Mapping[str, Any]) -> Change:
    tree: dict[str, Any] = {"gpuPools": {pool: dict(of_pool)}} if of_pool else {}
    return tree | ({"servers": {server: dict(of_server)}} if of_server else {})


def _no_warm(pool: GpuPool) -> dict[str, Any]:
    return {"warmNodes": 0} if pool.warm_nodes else {}


def _merge(tree: dict[str, Any], change: Change) -> None:
    for key, value in change.items():
        if value is None:
            tree.pop(key, None)
        elif isinstance(value, Mapping):
            inner = tree.setdefault(key, {})
            _merge(inner, value)
        else:
            tree[key] = value


def _gone(change: Change, path: str = "") -> Iterator[str]:
    for key, value in change.items():
        if value is None:
            yield f"{path}{key}"
        elif isinstance(value, Mapping):
            yield from _gone(value, f"{path}{key}.")


def _without_gone(change: Change) -> dict[str, Any]:
    kept: dict[str, Any] = {}
    for key, value in change.items():
        if isinstance(value, Mapping):
            if inner := _without_gone(value):
                kept[key] = inner
        elif value is not None:
            kept[key] = value
    return kept
