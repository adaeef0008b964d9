"""`ops sleep` and `ops wake` to real agents, through a real API server."""

import json
import threading

import pytest

from ops.live import orders
from serving.front import CONTROL_PORT
from tests.ops.live.stand import until
from tests.serving.front.calls import Client


@pytest.fixture
def order(ops, stand):
    """`order("sleep", ...)`: the command; exit code, standard output, standard error."""

    def run(verb, *more, kubeconfig=None):
        return ops(verb, "--server", "gemma", "--kubeconfig", kubeconfig or stand.players.kubeconfig, *more)

    return run


def test_a_server_sleeps_and_wakes_and_says_what_happens_before(order, sleeper):
    pod = sleeper()
    code, out, err = order("sleep", "--yes")
    assert (code, out.startswith("gemma-0: asleep, after 0."), pod.state) == (0, True, "asleep")
    assert err.splitlines()[:2] == [
        "servers.gemma: pod gemma-0: to sleep when what runs has ended (0 requests, at most 120 s, else awake)",
        "the next request wakes it, in about a second",
    ]
    assert order("sleep", "--yes") == (0, "gemma-0: asleep already\n", "")
    code, out, err = order("wake", "--yes")
    assert (code, out.startswith("gemma-0: awake, woke in 0."), pod.state) == (0, True, "awake")
    assert err.splitlines()[0] == "servers.gemma: pod gemma-0: wakes now"
    assert order("wake", "--yes") == (0, "gemma-0: awake already\n", "")


def test_nothing_is_done_that_nobody_has_agreed_to(order, sleeper):
    pod = sleeper()
    code, out, err = order("sleep")
    assert (code, out, pod.state) == (2, "", "awake")
    assert err.endswith("nobody to ask, standard input is no terminal: --yes does it\n")


def test_stay_is_until_somebody_wakes_it(order, sleeper):
    pod = sleeper()
    code, out, err = order("sleep", "--stay", "--yes", "--json")
    (found,) = json.loads(out)
    assert (code, found["pod"], found["state"], found["problem"]) == (0, "gemma-0", "asleep", None)
    assert "until .venv/bin/python -m ops wake --server gemma" in err
    assert pod.control("/state")["stay"] is True
    assert order("wake", "--yes")[0] == 0
    assert pod.control("/state")["stay"] is False


def test_one_that_sleeps_until_a_request_comes_can_be_told_to_stay(order, sleeper):
    pod = sleeper().asleep()
    code, out, _ = order("sleep", "--stay", "--yes")
    assert (code, out.startswith("gemma-0: asleep, after "), pod.control("/state")["stay"]) == (0, True, True)


def test_of_several_pods_all_are_meant_and_one_can_be_named(order, sleeper):
    one, other = sleeper("gemma-0"), sleeper("gemma-1")
    code, out, err = order("sleep", "--yes", "--pod", "gemma-1")
    assert (code, out.startswith("gemma-1: asleep"), one.state, other.state) == (0, True, "awake", "asleep")
    code, out, err = order("sleep", "--yes")
    assert (code, one.state, other.state) == (0, "asleep", "asleep")
    assert [line.partition(",")[0] for line in out.splitlines()] == ["gemma-1: asleep already", "gemma-0: asleep"]
    code, out, err = order("wake", "--yes")
    assert (code, one.state, other.state) == (0, "awake", "awake")
    assert err.startswith("servers.gemma: 2 pods gemma-0, gemma-1: wake now\n")
    assert order("sleep", "--pod", "x", "--yes") == (
        1,
        "",
        "--pod x: not a pod of gemma; expected gemma-0, gemma-1\n",
    )


def test_what_runs_ends_first(order, sleeper):
    pod = sleeper()
    client = Client(pod)
    call = client.stream(tokens=20, seconds=0.03)
    until(lambda: pod.control("/state")["inFlight"] == 1)
    code, _, err = order("sleep", "--yes")
    assert (code, pod.state) == (0, "asleep")
    assert "(1 requests, at most 120 s, else awake)" in err
    assert call.join().status == 200
    assert not [one for one in pod.recorded() if one.get("asleep")]


def test_requests_that_do_not_end_in_time_are_exit_code_1_and_the_agent_s_words(order, sleeper):
    pod = sleeper(drain=0.3)
    Client(pod).stream(tokens=40, seconds=0.05)
    until(lambda: pod.control("/state")["inFlight"] == 1)
    code, out, _ = order("sleep", "--yes")
    assert (code, out) == (1, "gemma-0: awake: 1 requests did not end within 0.3 s\n")


def test_a_request_that_calls_the_sleep_off_is_said(order, sleeper):
    pod = sleeper()
    client = Client(pod)
    client.stream(tokens=20, seconds=0.05)
    until(lambda: pod.control("/state")["inFlight"] == 1)

    def call_off():
        until(lambda: pod.state == "draining")
        client.plain()

    caller = threading.Thread(target=call_off)
    caller.start()
    code, out, _ = order("sleep", "--yes")
    caller.join()
    assert (code, out) == (1, "gemma-0: awake: a request came, and it stays awake\n")


def test_an_engine_that_does_not_wake_is_exit_code_1(order, sleeper):
    pod = sleeper(**{"wake-limit": 0.4}).asleep()
    pod.knobs(wake_up_lies=True)
    code, out, _ = order("wake", "--yes")
    assert (code, out) == (1, "gemma-0: failed: the engine did not wake within 0.4 s\n")
    assert order("wake", "--yes") == (
        1,
        "",
        "servers.gemma: pod gemma-0 is failed: the engine did not wake within 0.4 s; an order to wake is for one"
        " that is up\n",
    )


def test_Ctrl_C_says_that_the_order_stands_and_how_to_take_it_back(order, sleeper, monkeypatch):
    pod = sleeper()

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(orders._Orders, "awaited", interrupted)
    code, out, err = order("sleep", "--yes")
    assert (code, out) == (130, "")
    assert err.endswith("\nthe order to sleep stands for gemma-0; back: .venv/bin/python -m ops wake --server gemma\n")
    until(lambda: pod.state == "asleep")


def test_an_agent_that_is_gone_in_the_middle_is_a_doubt_that_names_what_was_ordered(order, sleeper, monkeypatch):
    pod = sleeper()
    real = orders._Orders.give

    def give(self, name):
        real(self, name)
        pod.kill("agent")

    monkeypatch.setattr(orders._Orders, "give", give)
    code, out, err = order("sleep", "--yes")
    assert (code, out) == (3, "")
    assert "port 8003: error forwarding port 8003 to pod gemma-0/" in err
    assert err.endswith("\nthe order to sleep stands for gemma-0; back: .venv/bin/python -m ops wake --server gemma\n")


def test_a_pod_that_is_gone_is_a_refusal(order, sleeper, stand):
    sleeper()
    stand.delete("gemma-0")
    stand.deployment(1)
    line = f"servers.gemma: Deployment {stand.namespace}/gemma: the controller has made none yet\n"
    assert order("sleep", "--yes") == (1, "", line)


def test_pods_that_take_no_order_are_named(order, stand, sleeping_stack):
    stand.pod("gemma-0", sidecars=("proxy",))
    line = f"pod {stand.namespace}/gemma-0: of a rollout before sleep-mode: pulumi up\n"
    assert order("sleep", "--yes") == (1, "", line)
    stand.delete("gemma-0")
    stand.pod("gemma-0", sidecars=("agent",), ready=False)
    assert order("wake", "--yes") == (1, "", f"pod {stand.namespace}/gemma-0: starting: agent runs\n")


def test_what_answers_there_must_be_an_agent(order, stand, engine, sleeping_stack):
    stand.pod("gemma-0", {CONTROL_PORT: engine.port}, sidecars=("agent",))
    code, out, err = order("sleep", "--yes")
    assert (code, out) == (3, "")
    assert err == (
        "GET /state: no agent answers at its port, but 200 vllm:num_requests_running 0.0\\nvllm:num_requests_waiting"
        " 0.0\\n\n"
    )


@pytest.mark.parametrize(("verb", "wanted"), [("sleep", "asleep"), ("wake", "awake")])
def test_of_a_server_that_annotations_wake_the_annotation_is_named(ops, folder, edit_server, verb, wanted):
    """Before anything is asked of AWS or the cluster."""
    edit_server(techniques=["front-proxy", "sleep-mode"], sleep={"wake": "external"})
    assert ops(verb, "--server", "gemma", "--yes") == (
        1,
        "",
        "servers.gemma.sleep.wake: external: whoever annotates its pods would overrule an order; annotate them: kubectl"
        f" -n inference annotate pod -l app.kubernetes.io/instance=gemma vllm-eks/wanted={wanted} --overwrite\n",
    )


@pytest.mark.parametrize("verb", ["sleep", "wake"])
def test_a_server_without_sleep_mode_is_refused(ops, folder, verb):
    line = "servers.gemma: without sleep-mode, so it neither sleeps nor wakes; docs/idle.md\n"
    assert ops(verb, "--server", "gemma", "--yes") == (1, "", line)


def test_a_cluster_of_another_stack_is_refused(order, stand, edit_server):
    """The stack file says dev, the kubeconfig leads to production."""
    edit_server(techniques=["front-proxy", "sleep-mode"])
    stand.players.cron_job(
        "weights-onboard", {}, whose={"vllm-eks/account": "111111111111", "vllm-eks/cluster": "inference-prod"}
    )
    assert order("sleep", "--yes") == (
        1,
        "",
        f"CronJob {stand.namespace}/weights-onboard: of cluster inference-prod of account 111111111111, and the stack"
        " file names cluster inference-dev of account 000000000000; nothing is done in another cluster\n",
    )


def test_a_missing_right_is_named(order, stand, sleeper, folder):
    pod = sleeper()
    rights = (("batch", "cronjobs", "get"), ("", "pods", "list"), ("", "pods/portforward", "get"))
    user = stand.user(folder / "user", *rights)
    code, out, err = order("sleep", "--yes", kubeconfig=user)
    assert (code, out, pod.state) == (3, "", "awake")
    assert err.endswith(" (it takes get and create of pods/portforward)\n")


def test_Ctrl_C_while_the_order_is_on_its_way_says_that_it_may_have_arrived(order, sleeper, monkeypatch):
    pod = sleeper()
    real = orders.Agent.sleep

    def sleep(agent, **more):
        real(agent, **more)
        raise KeyboardInterrupt

    monkeypatch.setattr(orders.Agent, "sleep", sleep)
    code, out, err = order("sleep", "--yes")
    assert (code, out) == (130, "")
    assert err.endswith(
        "\nthe order to sleep may have reached gemma-0; back: .venv/bin/python -m ops wake --server gemma\n"
    )
    until(lambda: pod.state == "asleep")
