"""Servers that can be asked: pods of a real API server, on kwok's nodes, over programs on loopback."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from infra.naming import ONBOARDING
from ops.live import orders
from serving.engine import PORT
from serving.front import CONTROL_PORT, ENGINE_PORT
from serving.front.tokens import token_map
from tests.ops.live.stand import Engine, Stand
from tests.serving.front.pod import TOKEN, Pod

SPEAKING = str(Path(__file__).with_name("speaking.py"))


@pytest.fixture
def engine() -> Iterator[Engine]:
    with Engine.serving() as made:
        yield made


@pytest.fixture
def edit_server(edit: Callable[..., None]) -> Callable[..., None]:
    """`edit_server(preset=...)`: change the dev stack's one server."""
    return lambda **change: edit(lambda settings: settings["servers"]["gemma"].update(change))


@pytest.fixture
def sleeping_stack(stand: Stand, edit_server: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    """The dev stack's server has sleep mode; nobody waits longer than a test may."""
    stand.players.cron_job(ONBOARDING, {})
    edit_server(techniques=["front-proxy", "sleep-mode"])
    monkeypatch.setattr(orders, "POLL", 0.02)
    monkeypatch.setattr(orders, "SETTLED", 0.2)


@pytest.fixture
def sleeper(stand: Stand, sleeping_stack: None) -> Iterator[Callable[..., Pod]]:
    """`sleeper(name)`: a pod of it that is up: the real agent and nginx before a stub engine, with a token."""
    made: list[Pod] = []

    def start(name: str = "gemma-0", *agent: str, **limits: float) -> Pod:
        if not made:
            stand.secret("api-tokens", token_map([TOKEN]))
        pod = Pod(**limits)
        made.append(pod)
        pod.run("engine", sys.executable, "-S", SPEAKING, str(pod.engine_port), str(pod.record))
        pod.start_agent(*agent)
        pod.start_nginx()
        ports = {PORT: pod.port, ENGINE_PORT: pod.engine_port, CONTROL_PORT: pod.control_port}
        stand.pod(name, ports, sidecars=("agent", "proxy"), tokens_in="api-tokens")
        pod.until_ready()
        return pod

    yield start
    for pod in made:
        pod.close()
