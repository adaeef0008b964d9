"""What is sent to a control port, and what counts as an agent's answer."""

import json
from http.client import HTTPConnection

import pytest

from ops.failures import UnclearError
from ops.live.agent import Agent
from tests.serving.scripts.stands.loopback import Quiet, Server


@pytest.fixture
def agent():
    """`agent(answer)`: an agent that answers so, and what it was asked."""
    servers = []

    def make(status, body):
        class Handler(Quiet):
            def do_GET(self):
                asked.append(f"{self.command} {self.path} {self.headers.get('Content-Length')}")
                self.answer(status, body)

            def do_POST(self):
                self.do_GET()

        asked = []
        server = Server(("127.0.0.1", 0), Handler)
        servers.append(server)
        server.start()
        return Agent(HTTPConnection("127.0.0.1", server.server_port, timeout=5)), asked

    yield make
    for server in servers:
        server.stop()


def test_orders_are_those_of_its_doors(agent):
    """Without a body, which the agent refuses (serving/scripts/agent/httpd.py)."""
    its, asked = agent(200, json.dumps({"state": "awake"}).encode())
    assert [its.state(), its.sleep(), its.sleep(stay=True), its.wake()] == [{"state": "awake"}] * 4
    assert asked == ["GET /state None", "POST /sleep 0", "POST /sleep?stay=true 0", "POST /wake 0"]


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        (200, b"hello", "GET /state: no agent answers at its port, but 200 hello"),
        (404, b"", "GET /state: no agent answers at its port, but 404 ''"),
        (200, b"[1]", "GET /state: no agent answers at its port, but 200 [1]"),
        (200, b'{"status": "ok"}', 'GET /state: no agent answers at its port, but 200 {"status": "ok"}'),
        (405, b'{"state": "awake", "error": "expected POST"}', "GET /state: the agent answers 405: expected POST"),
    ],
)
def test_what_is_no_agent_s_answer_is_a_doubt(agent, status, body, said):
    with pytest.raises(UnclearError) as unclear:
        agent(status, body)[0].state()
    assert str(unclear.value) == said
