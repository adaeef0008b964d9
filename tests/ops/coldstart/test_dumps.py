"""`ops coldstart parse` of a log with what the API said of its pod: measured as `run` measures."""

import copy
import json
from datetime import datetime, timedelta

import pytest

from infra.naming import server_labels
from ops.coldstart import dumps
from tests.ops.coldstart.log import engine
from tests.ops.coldstart.log.engine import BEGAN, dressed, start

IMAGE = "registry.example/vllm:1"


def stamp(seconds):
    return (BEGAN + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


def event(reason, at, message):
    return {
        "kind": "Event",
        "reason": reason,
        "message": message,
        "involvedObject": {"uid": "u1", "fieldPath": "spec.containers{vllm}"},
        "firstTimestamp": stamp(at),
        "lastTimestamp": stamp(at),
    }


POD = {
    "kind": "Pod",
    "metadata": {"name": "gemma-1", "uid": "u1", "labels": server_labels("gemma"), "creationTimestamp": stamp(-40)},
    "spec": {
        "nodeName": "n1",
        "containers": [{"name": "vllm", "image": IMAGE, "readinessProbe": {"periodSeconds": 1}}],
    },
    "status": {
        "conditions": [
            {"type": "PodScheduled", "status": "True", "lastTransitionTime": stamp(-9)},
            {"type": "Ready", "status": "True", "lastTransitionTime": stamp(70)},
        ],
        "containerStatuses": [
            {"name": "vllm", "restartCount": 0, "ready": True, "state": {"running": {"startedAt": stamp(0)}}}
        ],
    },
}
NODE = {
    "kind": "Node",
    "metadata": {
        "name": "n1",
        "creationTimestamp": stamp(-20),
        "labels": {"node.kubernetes.io/instance-type": "g7e.2xlarge", "karpenter.sh/capacity-type": "spot"},
    },
    "status": {"conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": stamp(-10)}]},
}
EVENTS = [
    event("Pulling", -8, f'Pulling image "{IMAGE}"'),
    event("Pulled", -3, f'Successfully pulled image "{IMAGE}" in 5s (5s including waiting). Image size: 1 bytes.'),
]


def test_what_nobody_says_was_there_before_is_a_note(ops, log, dump):
    def notes(*arguments):
        return json.loads(ops("coldstart", "parse", *arguments, "--json")[1]).get("notes", [])

    said = "nobody says what was there before: counted as a restart; --situation says it"
    assert said in notes(log())
    assert said not in notes(log(), "--situation", "restart")
    older = copy.deepcopy(NODE)
    older["metadata"]["creationTimestamp"] = stamp(-4000)
    assert said in notes(dump("old.json", POD, older), log(), "--server", "gemma")
    # a node that is newer than its pod says it
    assert said not in notes(dump("new.json", POD, NODE), log(), "--server", "gemma")


def test_log_and_dumps_are_measured_from_the_pods_creation(ops, log, dump):
    files = [dump("pod.json", POD), dump("rest.json", NODE, *EVENTS), log()]
    code, out, err = ops("coldstart", "parse", *files, "--server", "gemma", "--json")
    assert code == 0, err
    made = json.loads(out)
    seconds = {name: round(it["end"] - it["begin"], 1) for name, it in made["phases"].items()}
    first = ["node", "scheduling", "image pull", "imports", "model inspection", "engine imports", "weights"]
    # whole seconds are taken in their middle, the engine's are exact
    assert [seconds[it] for it in first] == [30.0, 1.0, 5.0, 17.9, 0.1, 20.5, 4.0]
    assert (made["start"], made["source"], made["pull"], made["ready"]) == ("fresh node", "cluster", "pulled", 110.0)
    assert (made["subject"]["instanceType"], made["subject"]["capacity"]) == ("g7e.2xlarge", "spot")


def test_dumps_of_an_older_node_are_no_fresh_node(ops, log, dump):
    older = copy.deepcopy(NODE)
    older["metadata"]["creationTimestamp"] = stamp(-4000)
    files = [dump("all.json", POD, older), log()]
    code, out, _ = ops("coldstart", "parse", *files, "--server", "gemma", "--situation", "fresh-node", "--json")
    made = json.loads(out)
    assert (code, made["start"]) == (0, "warm node")
    assert "the node is older than the pod: no fresh node" in made["notes"]


def other(**metadata):
    made = copy.deepcopy(POD)
    made["metadata"].update(metadata)
    return made


@pytest.mark.parametrize(
    ("objects", "said", "exit_code"),
    [
        ([], "servers.gemma: one pod that is Ready is needed, and the dumps have none", 1),
        (
            [POD, other(name="gemma-2", uid="u2"), NODE],
            "servers.gemma: one pod that is Ready is needed, and the dumps have gemma-1, gemma-2",
            1,
        ),
        (
            [other(labels=server_labels("other")), NODE],
            "servers.gemma: one pod that is Ready is needed, and the dumps",
            1,
        ),
        ([POD], "servers.gemma: pod gemma-1 is on n1, which the dumps lack: kubectl get node n1 -o json", 1),
        ([{**POD, "spec": {}}, NODE], "servers.gemma: the dumps are not the API's: KeyError: 'nodeName'", 3),
        ([POD, {"kind": "Secret"}], "dump.json: holds Secret; expected Event, Lease, Node, Pod", 3),
    ],
)
def test_dumps_that_do_not_tell_of_one_start_are_refused(ops, log, dump, objects, said, exit_code):
    code, out, err = ops("coldstart", "parse", dump("dump.json", *objects), log(), "--server", "gemma")
    assert (code, out) == (exit_code, "")
    assert err.splitlines()[-1].startswith(said)


def test_dumps_need_a_server_and_one_log(ops, log, dump):
    pod = dump("pod.json", POD, NODE)
    code, _, err = ops("coldstart", "parse", pod, log())
    wanted = "dumps of the API need --server: which pod is meant, and what acts on it"
    assert (code, err.splitlines()[-1]) == (2, wanted)
    code, _, err = ops("coldstart", "parse", pod, log("a.log"), log("b.log"), "--server", "gemma")
    assert (code, err.splitlines()[-1]) == (2, "dumps of the API go with one log of the engine; given are 2")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"a":' * 200_000, "odd.json: no start of vLLM in it: no line that any known version prints when it starts"),
        ('{"kind": "List", "items": [1]}', "odd.json: its items are no objects of the API"),
        ('{"kind": "List", "items": 5}', "odd.json: its items are no objects of the API"),
    ],
)
def test_json_that_no_api_wrote_is_one_line(ops, folder, text, said):
    (folder / "odd.json").write_text(text)
    code, out, err = ops("coldstart", "parse", "odd.json")
    assert (code, out, err.splitlines()[-1]) == (3, "", said)


def test_a_dump_that_is_too_large_says_so_and_a_log_of_json_of_that_size_is_a_log(ops, folder, monkeypatch):
    monkeypatch.setattr(dumps, "MOST", 1 << 20)
    (folder / "big.json").write_text(json.dumps({"kind": "List", "items": [], "x": "y" * (1 << 20)}, indent=1))
    code, _, err = ops("coldstart", "parse", "big.json")
    assert (code, err.splitlines()[-1]) == (3, "big.json: more than 1 MiB: dump one namespace")
    lines = dressed(start("0.33.0"), engine.docker)
    (folder / "lines.json").write_text("\n".join([*lines, *lines[-1:] * 8000]))
    code, out, _ = ops("coldstart", "parse", "lines.json", "--json")
    assert (code, json.loads(out)["compile"]) == (0, "hit")


@pytest.mark.parametrize(("moved", "how"), [(-3600, "3600 s before"), (3600, "3600 s after")])
def test_a_log_of_another_start_than_the_pods_is_refused(ops, log, dump, moved, how):
    lines = [
        f"{(datetime.fromisoformat(line[:19]) + timedelta(seconds=moved)).isoformat()}{line[19:]}"
        for line in dressed(start("0.33.0"), engine.runtime)
    ]
    pod = copy.deepcopy(POD)
    pod["metadata"]["creationTimestamp"] = stamp(0)
    code, out, err = ops("coldstart", "parse", dump("all.json", pod, NODE), log(lines=lines), "--server", "gemma")
    assert (code, out) == (1, "")
    said = err.splitlines()[-1]
    assert said.startswith("engine.log: begins 3")
    assert said.endswith(f" s {how.split()[-1]} pod gemma-1 was made: a log of another start, or another clock")


def test_readiness_that_came_again_is_no_silent_phase(ops, log, dump):
    pod = copy.deepcopy(POD)
    pod["status"]["conditions"][1]["lastTransitionTime"] = stamp(7200)
    code, out, _ = ops("coldstart", "parse", dump("all.json", pod, NODE), log(), "--server", "gemma", "--json")
    (note,) = (it for it in json.loads(out)["notes"] if it.startswith("Ready "))
    assert code == 0
    assert note.endswith("the API has the last time only, and readiness may have been lost and come again")
