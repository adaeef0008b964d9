"""`ops try` through a real API server: what it asks, what it prints, and how each way to fail ends."""

import errno
import json
from functools import partial
from unittest import mock

import pytest

from ops.live import bearer, trial
from ops.stack.stack_file import read
from serving.engine import PORT
from serving.front import CONTROL_PORT, ENGINE_PORT
from serving.front.tokens import token_map
from tests.ops.live.stand import Engine

TOKEN = "a.token+of/the~tests-0123456789=="  # noqa: S105 - of the tests


@pytest.fixture(autouse=True)
def no_token(monkeypatch):
    monkeypatch.delenv(bearer.VARIABLE, raising=False)


@pytest.fixture
def ask(ops, stand):
    """`ask(...)`: the command; exit code, standard output, standard error without its progress."""

    def run(*more, kubeconfig=None):
        code, out, err = ops("try", "--server", "gemma", "--kubeconfig", kubeconfig or stand.players.kubeconfig, *more)
        return (
            code,
            out,
            "".join(line for line in err.splitlines(True) if not line.startswith("servers.gemma: pod gemma-0 is ")),
        )

    return run


@pytest.fixture
def asked(ask, stand, engine):
    """The same, of a pod that is ready over the engine."""
    stand.pod("gemma-0", {PORT: engine.port})
    return ask


def test_the_answer_is_followed_by_its_figures(asked, engine):
    engine.says("A cold ", "start ", "takes long.", tokens=3)
    code, out, err = asked("--prompt", "What?", "--max-tokens", "9")
    answer, figures = out.split("\n\n")
    assert (code, answer, err) == (0, "A cold start takes long.", "")
    parts = figures.strip().split(", ")
    assert [part for part in parts if not part.startswith(("first token ", "3 tokens"))][-2:] == [
        "finish_reason stop",
        "pod gemma-0",
    ]
    assert parts[0].startswith("first token 0.")
    ((path, headers, body),) = engine.asked
    assert path == "/v1/chat/completions"
    assert "Authorization" not in headers
    assert json.loads(body)["model"] == "gemma-4-31b"
    assert json.loads(body)["messages"][0]["content"] == "What?"
    assert json.loads(body)["max_tokens"] == 9


def test_a_program_gets_the_figures_alone(asked, engine):
    engine.says("thinking", key="reasoning")
    code, out, _ = asked("--json")
    found = json.loads(out)
    assert 0 <= found.pop("firstTokenSeconds") <= found.pop("seconds")
    assert code == 0
    assert found == {
        "server": "gemma",
        "pod": "gemma-0",
        "answer": "",
        "reasoning": "thinking",
        "tokens": 1,
        "tokensPerSecond": None,
        "finishReason": "stop",
        "asleep": False,
        "wakeSeconds": None,
        "fault": None,
    }


def test_what_a_model_says_moves_no_cursor(asked, engine):
    engine.says("a\x1b[2Jb\n\tc\r")
    assert asked()[1].startswith("a?[2Jb\n\tc?\n\n")


@pytest.mark.parametrize(
    ("texts", "finish", "said"),
    [
        (("!!!!!", "!!!!"), "length", "the answer is garbage, nothing but !: "),
        ((), "stop", "the answer is empty: finish_reason stop, 0 tokens"),
        (("Hel",), "abort", "the engine ended the answer with finish_reason abort, after 3 characters: "),
        (
            ("Hel", "lo"),
            None,
            "the answer stops half way, after 5 characters: the stream ended without a finish_reason",
        ),
    ],
)
def test_what_is_no_answer_is_exit_code_1_and_a_sentence(asked, engine, texts, finish, said):
    engine.says(*texts, finish=finish)
    code, out, err = asked()
    assert (code, err.startswith(f"servers.gemma: {said}"), len(err.splitlines())) == (1, True, 1)
    assert out.startswith("".join(texts))
    found = json.loads(asked("--json")[1])
    assert found["fault"] == err.removeprefix("servers.gemma: ").rstrip("\n")


def test_a_stream_that_falls_silent_is_half_an_answer(asked, engine, monkeypatch):
    monkeypatch.setattr(trial, "SILENT", 1.0)
    engine.says("Hello", finish=None)
    engine.ends = False
    code, out, err = asked()
    assert (code, out.startswith("Hello\n\n")) == (1, True)
    assert err == "servers.gemma: the answer stops half way, after 5 characters: nothing came any more\n"


def test_a_pod_that_is_deleted_in_the_middle_is_a_doubt(asked, stand, engine, monkeypatch):
    monkeypatch.setattr(trial, "SILENT", 1.0)
    engine.says("Hello", finish=None)
    engine.chunks.append(partial(stand.delete, "gemma-0"))
    engine.ends = False
    code, out, err = asked()
    assert (code, out) == (3, "Hello")
    assert err.strip() == (
        f"pod {stand.namespace}/gemma-0 was deleted meanwhile: the answer stops half way, after 5 characters: nothing"
        " came any more"
    )


REFUSALS = [
    ((404, {}, b'{"error": {"message": "The model `x` does not exist."}}'), 1, "404: The model `x` does not exist; "),
    (
        (503, {"Retry-After": "10"}, b'{"error": {"message": "starting"}}'),
        3,
        "503: starting; it may be asked again in 10 s",
    ),
    ((401, {}, b'{"error": {"message": "A token."}}'), 3, "401: A token (no token was shown)"),
    ((500, {}, b"no"), 1, "500: no"),
]


@pytest.mark.parametrize(("answer", "code", "said"), REFUSALS)
def test_a_refused_request_is_one_line(asked, engine, answer, code, said):
    engine.refuses = answer
    found, out, err = asked()
    assert (found, out, err.startswith(f"servers.gemma: {said}"), len(err.splitlines())) == (code, "", True, 1)


def test_the_token_is_the_proxy_s_own_and_is_shown_to_nobody_else(ask, stand, engine):
    stand.secret("api-tokens", token_map([TOKEN]))
    stand.pod("gemma-0", {PORT: engine.port}, sidecars=("proxy",), tokens_in="api-tokens")
    engine.says("Yes.")
    code, out, err = ask()
    assert code == 0
    assert engine.asked[0][1]["Authorization"] == f"Bearer {TOKEN}"
    engine.refuses = (401, {}, b'{"error": {"message": "A token."}}')
    refused = ask()
    assert refused == (
        3,
        "",
        f"servers.gemma: 401: A token (the token of Secret {stand.namespace}/api-tokens is none of those that it"
        " takes)\n",
    )
    assert TOKEN not in out + err + "".join(map(str, refused))


def test_a_token_that_is_given_needs_no_right_to_read_the_Secret(ask, stand, engine, folder, monkeypatch):
    stand.secret("api-tokens", token_map([TOKEN]))
    stand.pod("gemma-0", {PORT: engine.port}, sidecars=("proxy",), tokens_in="api-tokens")
    engine.says("Yes.")
    user = stand.user(folder / "user", ("", "pods", "get,list"), ("", "pods/portforward", "get,create"))
    code, out, err = ask(kubeconfig=user)
    assert (code, out) == (3, "")
    assert err.startswith(f"Secret {stand.namespace}/api-tokens: {stand.players.api.url} answers 403: secrets ")
    assert err.endswith("; get on secrets, or give a token with VLLM_API_TOKEN or --token-file\n")
    monkeypatch.setenv(bearer.VARIABLE, "mine")
    assert ask(kubeconfig=user)[0] == 0
    assert engine.asked[-1][1]["Authorization"] == "Bearer mine"


def test_direct_asks_the_engine_and_needs_no_token(ask, stand, engine):
    with Engine.serving() as proxy:
        stand.pod("gemma-0", {PORT: proxy.port, ENGINE_PORT: engine.port}, sidecars=("proxy",), tokens_in="api-tokens")
        engine.says("Yes.")
        assert ask("--direct")[0] == 0
        assert ("Authorization" in engine.asked[0][1], proxy.asked) == (False, [])


def test_without_a_proxy_direct_changes_nothing(asked, engine):
    engine.says("Yes.")
    assert asked("--direct")[0] == 0


def test_a_pod_that_Services_choose_comes_before_a_sleeper_outside_of_them(ask, stand, engine):
    stand.pod("gemma-0")
    stand.pod("gemma-1", {PORT: engine.port}, labels={"awake": "true"})
    engine.says("Yes.")
    assert json.loads(ask("--json")[1])["pod"] == "gemma-1"


def test_no_pod_that_is_ready_is_said_with_how_each_stands(ask, stand):
    stand.pod("gemma-0", ready=False, sidecars=("agent",))
    stand.players.pod("gemma-1", labels={"app.kubernetes.io/name": "vllm", "app.kubernetes.io/instance": "gemma"})
    assert ask() == (1, "", "servers.gemma: no pod is ready (gemma-0: starting: agent runs; gemma-1: pending)\n")


@pytest.mark.parametrize(
    ("replicas", "annotations", "said"),
    [
        (None, {}, "not there: pulumi up"),
        (
            0,
            {"vllm-eks/idle": "clock"},
            "no pods until the next start; now: kubectl -n {0} create job --from=cronjob/gemma-start gemma-start-now",
        ),
        (0, {}, "0 replicas; pulumi up, or kubectl -n {0} scale deployment"),
        (1, {}, "the controller has made none yet"),
    ],
)
def test_a_server_without_pods_says_why(ask, stand, replicas, annotations, said):
    if replicas is not None:
        stand.deployment(replicas, **annotations)
    line = f"servers.gemma: Deployment {stand.namespace}/gemma: {said.format(stand.namespace)}\n"
    assert ask() == (1, "", line)


def test_a_pod_whose_port_nobody_listens_on_is_a_doubt(ask, stand, engine):
    stand.pod("gemma-0", {CONTROL_PORT: engine.port})
    code, out, err = ask()
    assert (code, out) == (3, "")
    assert err.startswith(f"pod {stand.namespace}/gemma-0, port 8000: error forwarding port 8000 to pod ")


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        ((), 'cannot list resource "pods" in API group "" in the namespace'),
        ((("", "pods", "list,get"),), "(it takes get and create of pods/portforward)"),
    ],
)
def test_a_missing_right_is_named(asked, stand, folder, rules, said):
    code, out, err = asked(kubeconfig=stand.user(folder / "user", *rules))
    assert (code, out, said in err, len(err.splitlines())) == (3, "", True, 1)


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (("--server", "x"), 2, "--server x: not in Pulumi.dev.yaml; expected one of gemma\n"),
        (("--server", "gemma", "--token-file", "none"), 2, "--token-file none: cannot be read\n"),
    ],
)
def test_what_is_asked_wrongly_is_usage(ops, stand, options, code, said):
    stand.pod("gemma-0")
    assert ops("try", "--kubeconfig", stand.players.kubeconfig, *options) == (code, "", said)
    # and no cluster is asked first
    assert ops("try", *options) == (code, "", said)


@pytest.mark.parametrize("options", [("--max-tokens", "0"), ("--prompt", ""), ("--max-tokens", "x")])
def test_options_that_no_server_could_answer_are_usage(ops, folder, options):
    assert ops("try", "--server", "gemma", *options)[0] == 2


def test_a_disk_that_is_full_is_not_the_server_s_fault(stand, engine):
    stand.pod("gemma-0", {PORT: engine.port})
    engine.says("Yes.", "No.")
    asked = trial.Asked(prompt="x", max_tokens=1, direct=False, given=None)
    full = OSError(errno.ENOSPC, "full")
    with pytest.raises(OSError, match="full") as raised:
        trial.tried(stand.cluster(), read("dev"), "gemma", asked, mock.Mock(side_effect=full))
    assert raised.value is full


def test_Ctrl_C_in_the_middle_is_130_and_no_traceback(asked, engine, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    engine.says("Yes.")
    monkeypatch.setattr(trial.chat.Answer, "take", interrupted)
    code, out, err = asked()
    assert (code, out, "Traceback" in err) == (130, "", False)
