import pytest

from tests.policies.conftest import UNKNOWN, found, unchecked
from tests.policies.start_up.shapes import JOB, STATEFUL_SET, container, deployment, pod, workload

HOOK = {"preStop": {"sleep": {"seconds": 15}}}
DRAIN = ["--shutdown-timeout=60"]
GOOD = {"lifecycle": HOOK, "args": DRAIN}
NO_HOOK = (
    "container vllm: no preStop hook waits, so it stops while Services still send to it;"
    " add lifecycle.preStop.sleep.seconds, such as 15"
)
NO_DRAIN = (
    "container vllm: --shutdown-timeout is 0, also where it is left out, so requests that run are cut off;"
    " add --shutdown-timeout=60 (vLLM 0.18.0 and later)"
)
CONTAINERS = "spec.template.spec.containers"


def of(grace=80, config=None, **given):
    return found(
        "shutdown-order", deployment(pod(container(**given), terminationGracePeriodSeconds=grace)), config=config
    )


def short(wait, drain, needed, grace):
    return (
        f"container vllm: it needs {wait} s (preStop) + {drain} s (--shutdown-timeout) + 5 s (its end) = {needed} s,"
        f" and the pod has {grace} s; raise terminationGracePeriodSeconds"
    )


def test_a_server_that_waits_drains_and_has_time_for_both_passes():
    assert of(**GOOD) == []
    assert of(lifecycle=HOOK, args=["--shutdown-timeout", "60"]) == []


@pytest.mark.parametrize(
    "lifecycle", [None, {}, {"preStop": None}, {"preStop": {}}, {"preStop": {"sleep": {"seconds": 0}}}]
)
def test_a_hook_that_does_not_wait_is_none(lifecycle):
    assert of(lifecycle=lifecycle, args=DRAIN) == [NO_HOOK]


@pytest.mark.parametrize("command", [["sleep", "15"], ["sh", "-c", "sleep 15; nginx -s quit"]])
def test_a_command_that_sleeps_is_a_hook_that_waits(command):
    lifecycle = {"preStop": {"exec": {"command": command}}}
    assert of(lifecycle=lifecycle, args=DRAIN) == []
    assert of(lifecycle=lifecycle, args=DRAIN, grace=79) == [short(15, 60, 80, 79)]


def test_a_hook_whose_time_nobody_sees_counts_as_none():
    for hook in ({"exec": {"command": ["/drain.sh"]}}, {"httpGet": {"path": "/drain"}}):
        assert of(lifecycle={"preStop": hook}, args=DRAIN, grace=65) == []


def test_the_time_to_end_covers_hook_requests_and_end():
    assert of(grace=79, **GOOD) == [short(15, 60, 80, 79)]
    assert of(grace=None, **GOOD) == [short(15, 60, 80, 30)]
    assert of(grace=75, config={"seconds": 0}, **GOOD) == []


@pytest.mark.parametrize("args", [None, [], ["--shutdown-timeout=0"], ["--port=8000"]])
def test_vllm_cuts_requests_off_where_nobody_tells_it_to_wait(args):
    assert of(lifecycle=HOOK, args=args) == [NO_DRAIN]


def test_only_vllm_is_asked_for_its_flag():
    other = {"lifecycle": HOOK, "args": []}
    assert of(image="ghcr.io/huggingface/text-generation-inference:3.3", **other) == []
    assert of(image="internal/engine:1", command=["vllm", "serve"], **other) == [NO_DRAIN]
    assert of(image="reg:5000/vllm-openai@sha256:0", **other) == [NO_DRAIN]
    # what a shell runs is read too
    for line in ("exec vllm serve x --shutdown-timeout 60", "vllm serve x \\\n  --shutdown-timeout=60 # 'drain"):
        assert of(lifecycle=HOOK, command=["/bin/bash", "-ec"], args=[line]) == []
    assert of(image="internal/engine:1", lifecycle=HOOK, command=["sh", "-c", "vllm serve 'x"]) == [NO_DRAIN]
    # its settings stand in a file
    assert of(lifecycle=HOOK, args=["--config=/etc/vllm.yaml"]) == []


def test_servers_with_a_gpu_alone_are_looked_at():
    plain = {"containers": [{"name": "web"}]}
    assert found("shutdown-order", deployment(plain), workload(JOB, pod())) == []
    assert found("shutdown-order", workload(STATEFUL_SET, pod())) == [NO_HOOK, NO_DRAIN]
    assert found("shutdown-order", deployment(pod(container(**GOOD), {"name": "web"}))) == [short(15, 60, 80, 30)]


def test_what_is_not_known_hides_nothing_else():
    path = f"{CONTAINERS}[0]"
    server = deployment(pod(container(args=[UNKNOWN])))
    assert (found("shutdown-order", server), unchecked("shutdown-order", server)) == ([NO_HOOK], [f"{path}.args[0]"])
    server = deployment(pod(container(lifecycle=UNKNOWN)))
    assert (found("shutdown-order", server), unchecked("shutdown-order", server)) == ([NO_DRAIN], [f"{path}.lifecycle"])
    server = deployment(pod(container("a", **GOOD, resources=UNKNOWN), container(**GOOD)))
    assert unchecked("shutdown-order", server) == [f"{path}.resources"]
    assert found("shutdown-order", server) == [short(15, 60, 80, 30)]
    server = deployment(pod(terminationGracePeriodSeconds=UNKNOWN))
    assert unchecked("shutdown-order", server) == ["spec.template.spec.terminationGracePeriodSeconds"]
    assert found("shutdown-order", server) == [NO_HOOK, NO_DRAIN]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"grace": "80"}, "spec.template.spec.terminationGracePeriodSeconds: expected a number, found a text"),
        ({"lifecycle": 5}, f"{CONTAINERS}[0].lifecycle: expected a mapping, found a number"),
        (
            {"lifecycle": {"preStop": {"sleep": {"seconds": True}}}},
            f"{CONTAINERS}[0].lifecycle.preStop.sleep.seconds: expected a number, found true or false",
        ),
        ({"args": "--shutdown-timeout=60"}, f"{CONTAINERS}[0].args: expected a list, found a text"),
        ({"args": [60]}, f"{CONTAINERS}[0].args[0]: expected a text, found a number"),
    ],
)
def test_wrong_types_are_named_by_their_path(given, said):
    assert of(**{**GOOD, **given}) == [said]
