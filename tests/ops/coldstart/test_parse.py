"""`ops coldstart parse`: the starts in logs that somebody has, alone and with what the API said of the pod."""

import copy
import json
import os
import threading
import time
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from infra.naming import server_labels
from ops.coldstart import dumps
from ops.coldstart.parse import parsed
from ops.coldstart.record import read
from ops.coldstart.shown import Sink
from tests.harness import ROOT
from tests.ops.coldstart.log import engine
from tests.ops.coldstart.log.engine import BEGAN, Said, dressed, start

LOGS = ROOT.parent / "shared" / "facts" / "logs"
IMAGE = "registry.example/vllm:1"


@pytest.fixture
def log(folder):
    """`log("name", lines)`: a file, by default of a warm start with kubectl's stamps."""

    def write(name="engine.log", lines=None):
        text = "\n".join(lines if lines is not None else dressed(start("0.33.0"), engine.runtime))
        (folder / name).write_text(f"{text}\n")
        return name

    return write


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


@pytest.fixture
def dump(folder):
    """`dump("name", objects)`: what kubectl writes of several objects."""

    def write(name, *objects):
        (folder / name).write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)}))
        return name

    return write


def test_measured_logs_come_out_for_people_and_as_records(ops, folder):
    cold, warm = str(LOGS / "cold1.log"), str(LOGS / "warm2.log")
    code, out, _ = ops("coldstart", "parse", cold, warm, "--output", "starts.jsonl")
    assert code == 0
    assert f"{cold}: restart, vLLM 0.26.0; caches: load, compile: miss, image: unknown" in out.splitlines()
    assert "  kernels              103.2 s" in out.splitlines()
    found = list(read("x", (folder / "starts.jsonl").read_text().splitlines()))
    assert [(it.role, it.total, it.source) for it in found] == [("load", 222.507, "logs"), ("hit", 59.923, "logs")]
    code, out, _ = ops("coldstart", "parse", cold, warm, "--json")
    assert list(read("x", out.splitlines())) == found
    # what one command writes another one reads
    assert ops("coldstart", "report", "starts.jsonl")[0] == 0


def test_standard_input_is_a_log(ops):
    code, out, _ = ops("coldstart", "parse", "-", "--json", given=(LOGS / "warm2.log").read_text())
    assert (code, json.loads(out)["compile"]) == (0, "hit")


def test_servers_start_is_known_by_its_stack_file(ops, log):
    restored = 'cache-restore: outcome=hit restored=fingerprint bytes=1 files=1 seconds=1.000 reason=""'
    lines = [f"[pod/gemma-1/cache] {restored}", *dressed(start("0.33.0"), engine.pods)]
    code, out, _ = ops("coldstart", "parse", log(lines=lines), "--server", "gemma", "--json")
    made = json.loads(out)
    assert (code, made["role"], made["restore"], made["subject"]["preset"]) == (0, "hit", "hit", "frontier")
    assert made["subject"]["fingerprint"]
    # without its own word a restore counts as one that brought nothing
    _, out, _ = ops("coldstart", "parse", log(), "--server", "gemma", "--json")
    assert json.loads(out)["role"] == "load"


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
    ("arguments", "said", "exit_code"),
    [
        (("nothing.log",), "nothing.log: No such file or directory", 2),
        ((".",), ".: Is a directory", 2),
        (
            ("Pulumi.dev.yaml",),
            "Pulumi.dev.yaml: no start of vLLM in it: no line that any known version prints when",
            3,
        ),
        (("engine.log", "--situation", "wake"), "--situation wake: no start of an engine is in it", 2),
        (("engine.log", "--server", "x"), "--server x: not in Pulumi.dev.yaml; expected one of gemma", 2),
        (("engine.log", "--output", "no/such.jsonl"), "--output no/such.jsonl: No such file or directory", 2),
        (
            ("other.log", "--server", "gemma"),
            "servers.gemma.engine.version: 0.33.0; other.log is a log of vLLM 0.26.0",
            1,
        ),
        (
            ("half.log",),
            "half.log: the start does not end in this log: the server does not listen yet; the last that",
            3,
        ),
        (("failed.log",), "failed.log: the engine failed to start; the last that it shows is weights", 1),
    ],
)
def test_what_is_no_start_is_said_in_one_line(ops, log, arguments, said, exit_code):
    log()
    log("other.log", dressed(start("0.26.0"), engine.runtime))
    log("half.log", dressed(start()[:5], engine.runtime))
    log("failed.log", dressed([*start()[:5], Said(50.0, "EngineCore failed to start.")], engine.runtime))
    code, out, err = ops("coldstart", "parse", *arguments)
    assert (code, out) == (exit_code, "")
    assert err.splitlines()[-1].startswith(said)


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


def test_a_pipe_is_read_as_a_file_is(ops, folder):
    """As of `parse <(kubectl logs ...)`: it can be read once, and is looked at several times."""
    os.mkfifo(folder / "pipe")
    text = (LOGS / "warm2.log").read_bytes()
    writer = threading.Thread(target=lambda: (folder / "pipe").write_bytes(text), daemon=True)
    writer.start()
    code, out, err = ops("coldstart", "parse", "pipe", "-", "-", "--json", given=text.decode())
    writer.join(5)
    assert code == 0, err
    one, two = map(json.loads, out.splitlines())
    assert one == two
    assert one["total"] == 59.923


def test_a_line_of_megabytes_takes_no_time(ops, folder):
    (folder / "long.log").write_text(f"{(LOGS / 'warm2.log').read_text()}{'x' * (3 << 20)}\n")
    begun = time.process_time()
    assert ops("coldstart", "parse", "long.log")[0] == 0
    assert time.process_time() - begun < 10


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


def test_what_a_full_disk_does_not_take_is_on_standard_output(log, capsys):
    with pytest.raises(OSError, match="No space left"):
        Sink(Path("/dev/full"), as_json=True).keep(parsed([log()], "restart", None, None)[0][1])
    assert json.loads(capsys.readouterr().out)["compile"] == "hit"
