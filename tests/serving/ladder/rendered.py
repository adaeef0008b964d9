"""A server's pod template as plain data, flat: what differs between two is a set of paths."""

from collections.abc import Iterator, Sequence
from typing import Any

import pulumi
from pulumi.runtime.sync_await import _sync_await

from serving.pod import Situation
from tests.serving.situations import pod, situation, templated


def plain(tree: Any) -> Any:
    """The tree with every output's value in its place."""
    if isinstance(tree, pulumi.Output):
        return _sync_await(tree.future())
    if isinstance(tree, dict):
        return {key: plain(value) for key, value in tree.items()}
    if isinstance(tree, list | tuple):
        return [plain(value) for value in tree]
    return tree


def rendered(names: Sequence[str], about: Situation | None = None) -> dict[str, Any]:
    about = about or situation()
    return plain(templated(pod(names, about), about))  # type: ignore[no-any-return]


def flat(tree: Any, above: str = "") -> Iterator[tuple[str, Any]]:
    """Yield (path, value) of every leaf. Items of a list are told by their name, arguments by their flag."""
    if isinstance(tree, dict) and tree:
        for key, value in tree.items():
            yield from flat(value, f"{above}.{key}" if above else key)
    elif isinstance(tree, list) and tree and all(isinstance(item, dict) and "name" in item for item in tree):
        for item in tree:
            rest = {key: value for key, value in item.items() if key != "name"}
            yield from flat(rest, f"{above}[{item['name']}]")
    elif isinstance(tree, list) and above.endswith(".args"):
        for place, item in enumerate(tree):
            flag, _, value = str(item).partition("=")
            yield f"{above}[{flag if flag.startswith('--') else place}]", value or item
    else:
        yield above, tree


def difference(before: dict[str, Any], after: dict[str, Any]) -> set[str]:
    one, other = dict(flat(before)), dict(flat(after))
    missing = object()
    found = {path for path in one.keys() | other.keys() if one.get(path, missing) != other.get(path, missing)}
    # they run one after the other; one that comes or goes moves none of the others
    return found if _in_order(before, after) == _in_order(after, before) else {*found, "order of initContainers"}


def _in_order(tree: dict[str, Any], other: dict[str, Any]) -> list[str]:
    """The containers before the engine that both have, as they stand in one of them."""
    mine, theirs = ([it["name"] for it in one["spec"].get("initContainers", [])] for one in (tree, other))
    return [name for name in mine if name in theirs]


def short(paths: set[str]) -> set[str]:
    """Paths without what they all have in common, and of a new container, volume or probe its name alone."""
    return {_short(path.removeprefix("spec.").replace("containers[vllm].", "")) for path in paths}


def _short(path: str) -> str:
    for whole in ("initContainers[", "volumes[", "volumeMounts[", "ports["):
        if path.startswith(whole):
            return path[: path.index("]") + 1]
    for whole in ("startupProbe", "readinessProbe", "livenessProbe", "lifecycle"):
        if path.startswith(f"{whole}."):
            return whole
    return path
