"""How a pod stands, from what Kubernetes and Karpenter (1.14, their own texts) say of it."""

import pytest

from ops.live.state import classified, engine_phase, of_pod, why_pending

NOW = "2026-11-30T10:00:00Z"


def pod(*, node="n", ready=False, phase="Running", init=(), vllm=None, conditions=(), **metadata):
    spec = {"initContainers": [{"name": name} for name, _ in init], "containers": [{"name": "vllm"}]}
    statuses = [{"name": name, **status} for name, status in init if status is not None]
    return {
        "metadata": {"name": "p", "uid": "u", "creationTimestamp": NOW, **metadata},
        "spec": {**spec, **({"nodeName": node} if node else {})},
        "status": {
            "phase": phase,
            "conditions": [{"type": "Ready", "status": str(ready)}, *conditions],
            "initContainerStatuses": statuses,
            "containerStatuses": [{"name": "vllm", **vllm}] if vllm is not None else [],
        },
    }


def waiting(reason, message="", **more):
    return {"state": {"waiting": {"reason": reason, "message": message}}, **more}


RUNS = {"state": {"running": {}}}
UP = {"state": {"running": {}}, "started": True}
DONE = {"state": {"terminated": {"exitCode": 0}}}
UNSCHEDULED = {"type": "PodScheduled", "status": "False", "message": "0/3 nodes\n are available"}


@pytest.mark.parametrize(
    ("seen", "said"),
    [
        (pod(ready=True, vllm=UP), "ready"),
        (pod(ready=True, vllm=UP, deletionTimestamp=NOW), "ending"),
        (pod(node=None, phase="Pending", conditions=[UNSCHEDULED]), "pending: 0/3 nodes are available"),
        (pod(node=None, phase="Pending"), "pending"),
        (pod(phase="Pending"), "starting: vllm: image, mounts"),
        (pod(init=[("cache", waiting("PodInitializing"))]), "starting: cache: image, mounts"),
        (pod(init=[("cache", RUNS)], vllm=waiting("PodInitializing")), "starting: cache runs"),
        (
            pod(init=[("cache", waiting("ImagePullBackOff", "Back-off pulling image x"))]),
            "pending: image of cache: Back-off pulling image x",
        ),
        (pod(vllm=waiting("ErrImagePull")), "pending: image of vllm: ErrImagePull"),
        (pod(init=[("cache", DONE), ("agent", RUNS)]), "starting: agent runs"),
        (pod(init=[("cache", DONE), ("agent", UP)], vllm=waiting("PodInitializing")), "starting: vllm: image, mounts"),
        (pod(init=[("cache", DONE), ("agent", UP)], vllm=RUNS), "starting"),
        (pod(vllm=UP), "not ready"),
        (
            pod(
                vllm=waiting(
                    "CrashLoopBackOff",
                    "back-off 5m0s",
                    restartCount=3,
                    lastState={"terminated": {"exitCode": 137, "reason": "OOMKilled"}},
                )
            ),
            "failed: vllm: CrashLoopBackOff: exit code 137: OOMKilled",
        ),
        (pod(vllm=waiting("CreateContainerConfigError")), "failed: vllm: CreateContainerConfigError"),
        (
            pod(vllm={"state": {"terminated": {"exitCode": 1, "message": "no GPU"}}}),
            "failed: vllm: exit code 1: no GPU",
        ),
        (pod(vllm={"state": {"terminated": {"exitCode": 0}}}), "failed: vllm: exit code 0"),
        (pod(init=[("cache", {"state": {"terminated": {"exitCode": 2}}})]), "failed: cache: exit code 2"),
        (pod(phase="Failed", vllm=UP), "failed"),
    ],
)
def test_a_pod_is_one_word_and_what_there_is_to_say(seen, said):
    assert str(of_pod(seen)) == said


def test_an_evicted_pod_says_why():
    seen = pod(phase="Failed")
    seen["status"] |= {"reason": "Evicted", "message": "The node was low on resource: ephemeral-storage."}
    assert str(of_pod(seen)) == "failed: Evicted: The node was low on resource: ephemeral-storage."


@pytest.mark.parametrize(
    ("log", "said"),
    [
        ("", "engine: import"),
        ("INFO version 0.26.0", "engine: resolve"),
        ("version 0.26.0\nResolved architecture: X\nInitializing a V1 LLM engine (v0)", "engine: load-start"),
        ("version 0.26.0\nStarting to load model", "engine: load"),
        ("Model loading took 15.27 GiB and 9.1 seconds", "engine: compile"),
        ("Application startup complete.", "engine: listens, readiness is still to pass"),
    ],
)
def test_a_starting_engine_is_at_what_its_log_has_not_ended_yet(log, said):
    assert engine_phase(log, "0.26.0") == said


def claim(name="gpu-abcde", pool="gpu", *, launched=None, message="", initialized=None, kind=None):
    conditions = [{"type": "Launched", "status": launched, "message": message}] if launched else []
    conditions += [{"type": "Initialized", "status": initialized}] if initialized else []
    labels = {"karpenter.sh/nodepool": pool, **({"node.kubernetes.io/instance-type": kind} if kind else {})}
    return {"metadata": {"name": name, "labels": labels}, "status": {"conditions": conditions}}


def event(reason, message, *, kind="NodeClaim", name="gpu-abcde", uid="", at=NOW, by="karpenter"):
    return {
        "metadata": {},
        "involvedObject": {"kind": kind, "name": name, "uid": uid},
        "reason": reason,
        "message": message,
        "lastTimestamp": at,
        "reportingComponent": by,
    }


def ice(code, **more):
    text = f"NodeClaim gpu-abcde event: with fleet error(s), {code}: You have requested more"
    return event("InsufficientCapacityError", text, **more)


def unplaced(by="karpenter", **more):
    return event("FailedScheduling", "Failed to schedule pod, no instance type", kind="Pod", uid="u", by=by, **more)


PENDING = pod(node=None, phase="Pending", conditions=[UNSCHEDULED])
QUOTA = "no quota: with fleet error(s), VcpuLimitExceeded: You have requested more"
CAPACITY = "no capacity: with fleet error(s), InsufficientInstanceCapacity: You have requested more"


@pytest.mark.parametrize(
    ("claims", "events", "said"),
    [
        ([], [], "0/3 nodes are available"),
        ([], [ice("VcpuLimitExceeded")], QUOTA),
        ([], [ice("InsufficientInstanceCapacity")], CAPACITY),
        ([], [ice("VcpuLimitExceeded", at="2026-11-30T10:05:00Z"), ice("InsufficientInstanceCapacity")], QUOTA),
        ([], [ice("InsufficientInstanceCapacity", at="2026-11-30T10:05:00Z"), ice("VcpuLimitExceeded")], CAPACITY),
        ([], [ice("VcpuLimitExceeded", at="2026-11-30T09:00:00Z")], "0/3 nodes are available"),
        ([], [ice("VcpuLimitExceeded", name="other-abcde")], "0/3 nodes are available"),
        ([], [ice("VcpuLimitExceeded", name="gpu-big-abcde")], "0/3 nodes are available"),
        (
            [],
            [event("InsufficientCapacityError", "NodeClaim gpu-abcde event: all types were unavailable")],
            "no capacity: all types were unavailable",
        ),
        ([], [unplaced()], "Failed to schedule pod, no instance type"),
        ([], [unplaced(by="default-scheduler")], "0/3 nodes are available"),
        ([claim()], [ice("VcpuLimitExceeded")], QUOTA),
        ([claim()], [], "nodeclaim gpu-abcde is being launched"),
        ([claim(pool="other")], [], "0/3 nodes are available"),
        ([claim(launched="True", initialized="True")], [], "0/3 nodes are available"),
        (
            [claim(launched="True", kind="g7e.2xlarge")],
            [ice("VcpuLimitExceeded")],
            "g7e.2xlarge was launched and is no node yet (nodeclaim gpu-abcde)",
        ),
        (
            [claim(launched="Unknown", message="UnauthorizedOperation: you may not")],
            [],
            "Karpenter may not start it: UnauthorizedOperation: you may not",
        ),
    ],
)
def test_a_pod_without_a_node_names_the_nearest_cause(claims, events, said):
    assert why_pending(PENDING, "gpu", claims, events) == said


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("x MaxSpotInstanceCountExceeded: y", "no Spot quota"),
        ("AuthFailure.ServiceLinkedRoleCreationNotPermitted: y", "no service-linked role for Spot"),
        ("UnfulfillableCapacity: y; MaxSpotInstanceCountExceeded: z", "no Spot quota"),
        ("UnfulfillableCapacity: y", "no capacity"),
        ("all requested instance types were unavailable during launch", "not launched"),
    ],
)
def test_quota_is_told_from_capacity(message, kind):
    """Karpenter calls both InsufficientCapacityError (pkg/errors/errors.go)."""
    assert classified(message) == f"{kind}: {message}"


def test_the_colours_of_a_log_are_not_the_terminal_s():
    """Kubelet makes a container's last word of its log's end, and an engine logs in colours."""
    ended = {"state": {"terminated": {"exitCode": 1, "message": "\x1b[31mERROR\x1b[0m no GPU\n"}}}
    assert str(of_pod(pod(vllm=ended))) == r"failed: vllm: exit code 1: \x1b[31mERROR\x1b[0m no GPU"
