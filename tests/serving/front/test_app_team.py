"""The example's client before the real front proxy, over a stub engine that speaks as vLLM does."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from chat import NoAnswerError, Server, ask
from tests.serving.front.pod import TOKEN, Pod, until

SPEAKING = str(Path(__file__).parents[2] / "ops" / "live" / "speaking.py")


@pytest.fixture
def pod(pods: Callable[..., Pod]) -> Pod:
    made = pods()
    made.run("engine", sys.executable, "-S", SPEAKING, str(made.engine_port), str(made.record))
    made.start_agent()
    made.start_nginx()
    return made.until_ready()


def server(pod: Pod, token: str | None = TOKEN) -> Server:
    return Server(url=f"http://127.0.0.1:{pod.port}/v1", model="m", token=token)


def test_a_client_with_the_token_has_a_streamed_answer(pod: Pod) -> None:
    answer = ask(server(pod), "hello")
    assert str(answer["answer"]).split() == [f"word{number}" for number in range(64)]
    assert 0 < answer["firstPieceSeconds"] <= answer["seconds"]


@pytest.mark.parametrize("token", [None, f"{TOKEN}x"])
def test_a_client_without_the_token_has_none_and_the_engine_is_not_asked(pod: Pod, token: str | None) -> None:
    with pytest.raises(NoAnswerError, match=r"^401: "):
        ask(server(pod, token), "hello")
    assert [one for one in pod.recorded() if one["event"] == "request"] == []


def test_a_client_wakes_a_sleeper(pod: Pod) -> None:
    pod.asleep()
    assert ask(server(pod), "hello")["answer"]
    until(lambda: pod.state == "awake")


def test_a_refusal_says_when_to_ask_again(pod: Pod) -> None:
    pod.kill("engine")
    with pytest.raises(NoAnswerError, match=r"^50[23]: ") as refused:
        ask(server(pod), "hello")
    assert refused.value.later
