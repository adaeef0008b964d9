"""kubelet as a script has it: what it writes of a pod, and when."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from tests.ops.coldstart.measure.played.script import RESTORED, Script, spoken

if TYPE_CHECKING:
    from tests.ops.coldstart.measure.played.stage import Stage

Body = dict[str, Any]
ENGINE, RESTORER, PROXY = "vllm", "cache", "proxy"


def stamp(seconds: float) -> str:
    """As metav1.Time: cut to whole seconds."""
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%SZ}"


def half(seconds: float) -> float:
    """The next half of a second: what is cut off of two such times is the same."""
    return math.ceil(seconds - 0.5) + 0.5


@dataclass
class Act:
    """What is played of one pod: what comes next, and when what was done."""

    script: Script
    zero: float
    todo: list[tuple[float, str]]
    done: dict[str, float] = field(default_factory=dict)
    """Wall time by what was done: the truth."""
    states: dict[str, Body] = field(default_factory=dict)
    restarts: int = 0


class Pods:
    """Those on the nodes of a stage."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._at = 0.0
        """When what is done is done: all that is written of it says the same."""

    def look(self) -> None:
        pods = self._stage.items(f"/api/v1/namespaces/{self._stage.namespace}/pods")
        for pod in pods:
            uid = pod["metadata"]["uid"]
            self._stage.seen.setdefault(uid, self._stage.now())
            if "nodeName" not in pod["spec"]:
                # Karpenter's, as soon as the scheduler has found none
                waits = any(it["reason"] == "Unschedulable" for it in pod["status"].get("conditions") or ())
                claims = {it["metadata"]["name"] for it in self._stage.items("/apis/karpenter.sh/v1/nodeclaims")}
                if waits and f"claim-{uid[:8]}" not in claims and not claims & self._stage.open_claims():
                    self._stage.claim(f"claim-{uid[:8]}")
            elif "deletionTimestamp" in pod["metadata"]:
                self._stage.delete(f"/api/v1/namespaces/{self._stage.namespace}/pods/{pod['metadata']['name']}")
            else:
                self._act(pod)

    def _act(self, pod: Body) -> None:
        uid, node = pod["metadata"]["uid"], pod["spec"]["nodeName"]
        if len(pod["spec"].get("initContainers") or ()) == 0:
            # a pause pod
            if pod["status"].get("phase") != "Running":
                self._at = self._stage.now()
                self._status(pod, {"phase": "Running"}, [])
            return
        if uid not in self._stage.acts:
            script = self._stage.scripts(node not in self._stage.used)
            self._stage.used.add(node)
            self._stage.acts[uid] = _act(script, half(self._stage.now() + 0.2))
            self._stage.acts[uid].done["bound"] = self._stage.now()
        act = self._stage.acts[uid]
        while act.todo and act.zero + act.todo[0][0] <= self._stage.now():
            _, what = act.todo.pop(0)
            self._at = act.done[what] = self._stage.now()
            getattr(self, f"_{what}")(pod, act)

    def _pulling(self, pod: Body, _act: Act) -> None:
        self._event(pod, RESTORER, "Pulling", f'Pulling image "{_image(pod)}"')

    def _pulled(self, pod: Body, act: Act) -> None:
        took = f"{self._at - act.done['pulling']:.3f}s"
        said = f'Successfully pulled image "{_image(pod)}" in {took} ({took} including waiting). Image size: 9 bytes.'
        self._event(pod, RESTORER, "Pulled", said)

    def _restoring(self, pod: Body, act: Act) -> None:
        if not act.script.pull:
            self._event(pod, RESTORER, "Pulled", f'Container image "{_image(pod)}" already present on machine')
        self._event(pod, RESTORER, "Started", f"Started container {RESTORER}")
        act.states[RESTORER] = {"running": {"startedAt": self._stage.on_node(self._at)}}
        self._told(pod, act)

    def _restored(self, pod: Body, act: Act) -> None:
        started = act.states[RESTORER]["running"]["startedAt"]
        ended = {
            "exitCode": 0,
            "reason": "Completed",
            "startedAt": started,
            "finishedAt": self._stage.on_node(self._at),
        }
        act.states[RESTORER] = {"terminated": ended}
        self._log(pod, RESTORER, f"{RESTORED.format(outcome=act.script.outcome)}\n")
        self._told(pod, act)

    def _engine(self, pod: Body, act: Act) -> None:
        now = act.done["engine"] = self._at
        self._event(pod, ENGINE, "Pulled", f'Container image "{_image(pod)}" already present on machine')
        act.states[PROXY] = act.states[ENGINE] = {"running": {"startedAt": self._stage.on_node(now)}}
        # the stream has nanoseconds where states have whole seconds
        self._log(pod, ENGINE, spoken(now + self._stage.ahead))
        self._told(pod, act)

    def _dies(self, pod: Body, act: Act) -> None:
        act.restarts += 1
        self._engine(pod, act)

    def _evicted(self, pod: Body, _act: Act) -> None:
        status = {"phase": "Failed", "reason": "Evicted", "message": "The node was low on resource: memory."}
        self._status(pod, status, [])

    def _ready(self, pod: Body, act: Act) -> None:
        act.done["ready"] = self._at
        self._told(pod, act, ready=True)

    def _told(self, pod: Body, act: Act, *, ready: bool = False) -> None:
        def status(name: str) -> Body:
            restarts = act.restarts if name == ENGINE else 0
            state = act.states.get(name, {"waiting": {"reason": "PodInitializing"}})
            fixed = {"image": _image(pod), "imageID": "", "restartCount": restarts}
            return {"name": name, "ready": ready, "state": state, **fixed}

        before = [status(it["name"]) for it in pod["spec"]["initContainers"]]
        both = {"initContainerStatuses": before, "containerStatuses": [status(ENGINE)]}
        self._status(
            pod, {"phase": "Running" if ENGINE in act.states else "Pending", **both}, ["Ready"] if ready else []
        )

    def _status(self, pod: Body, status: Body, true: list[str]) -> None:
        path = f"/api/v1/namespaces/{self._stage.namespace}/pods/{pod['metadata']['name']}"
        now = self._stage.on_node(self._at)
        its = [it for it in pod["status"].get("conditions") or () if it["type"] == "PodScheduled"]
        its += [{"type": kind, "status": "True", "lastTransitionTime": now} for kind in true]
        self._stage.merge(f"{path}/status", {"status": {**status, "conditions": its}})

    def _log(self, pod: Body, container: str, text: str) -> None:
        self._stage.kubelet.logs[f"{self._stage.namespace}/{pod['metadata']['name']}/{container}"] = text

    def _event(self, pod: Body, container: str, reason: str, message: str) -> None:
        now = self._stage.on_node(self._at)
        kind = "initContainers" if container == RESTORER else "containers"
        body = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"generateName": "event-", "namespace": self._stage.namespace},
            "involvedObject": {
                "kind": "Pod",
                "namespace": self._stage.namespace,
                "name": pod["metadata"]["name"],
                "uid": pod["metadata"]["uid"],
                "fieldPath": f"spec.{kind}{{{container}}}",
            },
            "reason": reason,
            "message": message,
            "type": "Normal",
            "count": 1,
            "firstTimestamp": now,
            "lastTimestamp": now,
            "source": {"component": "kubelet"},
        }
        self._stage.create(f"/api/v1/namespaces/{self._stage.namespace}/events", body)


def _act(script: Script, zero: float) -> Act:
    at = script.pull
    todo = [(0.0, "pulling"), (at, "pulled")] if script.pull else []
    todo += [(at, "restoring"), (at + script.restore, "restored"), (at := at + script.restore, "engine")]
    if script.dies is not None:
        todo.append((at := at + script.dies, "dies"))
    if script.evicted is not None:
        return Act(script, zero, [*todo, (at + script.evicted, "evicted")])
    return Act(script, zero, [*todo, (at + script.ready, "ready")])


def _image(pod: Body) -> str:
    return pod["spec"]["containers"][0]["image"]
