"""Pods that own their node, or serve what only developers should reach."""

from __future__ import annotations

import re
from collections.abc import Iterator
from posixpath import normpath

from guardrails.exceptions import excepted
from guardrails.pods import WORKLOADS, Container, Pod, pods
from guardrails.reading import Gathering, below, each, unreadable
from guardrails.rule import Around, Resource, Rule
from guardrails.value import MalformedError, NotKnownError, Value

_HOST = ("hostNetwork", "hostPID", "hostIPC")
_OWNING = ["ALL", "SYS_ADMIN", "SYS_MODULE", "SYS_RAWIO", "DAC_READ_SEARCH", "BPF"]
_FOLDERS = (
    *("/etc", "/root", "/boot", "/proc", "/var/lib/kubelet", "/var/lib/containerd", "/var/lib/docker"),
    *("/run/containerd", "/run/docker.sock", "/run/docker", "/run/crio", "/run/dbus", "/run/systemd"),
)
"""Of a node: who has one of these has its processes, its keys or what starts its pods."""
_PLUGINS = ("/var/lib/kubelet/device-plugins", "/var/lib/kubelet/pod-resources", "/var/lib/kubelet/plugins")
"""Where plugins of devices and volumes meet the kubelet."""
_LOOPBACK = re.compile(r"127(\.\d+){3}|localhost|::1")
_VARIABLES = ["VLLM_SERVER_DEV_MODE", "VLLM_ALLOW_RUNTIME_LORA_UPDATING"]


def containers(resource: Resource) -> Iterator[Value]:
    """Yield the containers of a workload, those that run first too; what cannot be read hides none of the others."""
    for pod in pods(resource):
        try:
            pod.spec.mapping()
        except (NotKnownError, MalformedError) as fault:
            yield unreadable(pod.spec, fault)
            continue
        for key in ("initContainers", "containers"):
            yield from each(pod.spec[key])


def _owns(pod: Pod, around: Around) -> Iterator[str]:
    if excepted(around.resource.name, around):
        return
    gathering = Gathering()
    for key in _HOST:
        with gathering.reading():
            if pod.spec[key].flag():
                yield f"{key} is on; take it away"
    for it in each(below(pod.spec, "volumes")):
        with gathering.reading():
            path = it.at("hostPath", "path").text()
            if path and _is_of_the_node(path):
                yield f"volume {it['name'].text()}: hostPath {path} is the node's own; mount a folder for data alone"
    for it in containers(around.resource):
        yield from _powers(it, around.config["capabilities"], gathering)
    yield from gathering.ended()


def _powers(container: Value, owning: list[str], gathering: Gathering) -> Iterator[str]:
    with gathering.reading():
        if container.at("securityContext", "privileged").flag():
            yield f"container {Container(container).name}: privileged; take it away"
    added = set()
    for it in each(below(container, "securityContext", "capabilities", "add")):
        with gathering.reading():
            added.add(it.text().upper().removeprefix("CAP_"))
    if wide := sorted(added & set(owning)):
        with gathering.reading():
            name = Container(container).name
            yield f"container {name}: adds {', '.join(wide)}; name the capabilities that it needs"


def _is_of_the_node(path: str) -> bool:
    real = "/" + normpath(path).lstrip("/")
    real = real.removeprefix("/var") if _is_below(real, "/var/run") else real
    if any(_is_below(real, it) for it in _PLUGINS):
        return False
    return real == "/" or any(_is_below(real, it) or _is_below(it, real) for it in _FOLDERS)


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder}/")


def _developers(container: Value, around: Around) -> Iterator[str]:
    environment, words = Gathering(), Gathering()
    on = set()
    for it in each(below(container, "env")):
        with environment.reading():
            if (name := it["name"].text()) in around.config["variables"] and _is_on(it):
                on.add(name)
    said = []
    for it in (word for key in ("command", "args") for word in each(below(container, key))):
        with words.reading():
            said.append(it.text())
    # a shell takes its variables and flags in one word
    line = " ".join(said)
    on |= {it for it in around.config["variables"] if re.search(rf"\b{it}=[\"']?(1|true)\b", line, re.IGNORECASE)}
    hosts = re.findall(r"--host[=\s]+[\"']?([^\s\"']+)", line)
    if on and not _is_for_its_pod(line, hosts):
        # what is not known may be the flag
        if not words.missed or hosts:
            name = Container(container).name
            yield f"container {name}: {', '.join(sorted(on))} is on and it listens for everybody; add --host=127.0.0.1"
        yield from words.ended()
    yield from environment.ended()


def _is_on(variable: Value) -> bool:
    # from elsewhere: nobody here can see that it is off
    if not variable["valueFrom"].is_missing:
        return True
    return variable["value"].text().strip().lower() not in {"", "0", "false"}


def _is_for_its_pod(line: str, hosts: list[str]) -> bool:
    # the last one holds
    return bool(re.search(r"--uds[=\s]", line)) or bool(hosts and _LOOPBACK.fullmatch(hosts[-1]))


RULES = (
    Rule(
        id="privileged-pods",
        says="Pods do not own their node.",
        why="A server that is taken over is then the node, and its role.",
        source="Kubernetes documentation, Pod Security Standards",
        kinds=WORKLOADS,
        parts=pods,
        check=_owns,
        config={"exceptions": [], "capabilities": _OWNING},
    ),
    Rule(
        id="dev-endpoints",
        says="vLLM's endpoints for developers are reached from its own pod alone.",
        why="They reset caches, put it to sleep, load adapters and run what the caller sends.",
        source="vLLM documentation, security and LoRA adapters; vllm.md (api_server.py:237)",
        kinds=WORKLOADS,
        parts=containers,
        check=_developers,
        config={"variables": _VARIABLES},
    ),
)
