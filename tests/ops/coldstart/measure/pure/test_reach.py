"""A first request, against a server on loopback; and requests as metrics count them."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from ops.coldstart.measure.reach import first_token
from ops.coldstart.measure.target import requests
from ops.failures import UnclearError


@contextmanager
def engine(status: int, pieces: list[tuple[float, str]]) -> Iterator[tuple[HTTPConnection, list]]:
    """Answers with these pieces, each after so many seconds."""
    asked: list = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append((self.path, json.loads(self.rfile.read(int(self.headers["Content-Length"])))))
            self.send_response(status)
            self.end_headers()
            for seconds, piece in pieces:
                threading.Event().wait(seconds)
                self.wfile.write(piece.encode())

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    connection = HTTPConnection("127.0.0.1", server.server_port, timeout=5)
    try:
        yield connection, asked
    finally:
        connection.close()
        server.shutdown()
        server.server_close()


def piece(**delta: str) -> str:
    return f"data: {json.dumps({'choices': [{'delta': delta}]})}\n\n"


@pytest.mark.parametrize("field", ["content", "reasoning", "reasoning_content"])
def test_the_first_piece_with_text_is_the_first_token(field):
    with engine(200, [(0.0, piece(role="assistant", content="")), (0.3, piece(**{field: "Hi"}))]) as (opened, asked):
        assert 0.3 <= first_token(opened, "gemma") < 2.0
    (path, body) = asked[0]
    assert path == "/v1/chat/completions"
    assert (body["model"], body["max_tokens"], body["stream"]) == ("gemma", 1, True)


@pytest.mark.parametrize(
    ("status", "said", "message"),
    [
        (200, "data: [DONE]\n\n", "first request: the answer has no token"),
        (200, "data: {broken\n\n", "first request: the answer has no token"),
        (503, '{"error":\n "no"}', 'first request: the engine answers 503: {"error": "no"}'),
    ],
)
def test_an_answer_without_a_token_is_told(status, said, message):
    with engine(status, [(0.0, said)]) as (opened, _), pytest.raises(UnclearError) as caught:
        first_token(opened, "gemma")
    assert str(caught.value) == message


def test_a_port_where_nobody_is():
    with engine(200, []) as (opened, _):
        opened.port = 1
        with pytest.raises(UnclearError, match=r"first request: .*refused"):
            first_token(opened, "gemma")


def test_requests_of_all_engines_are_counted():
    text = (
        "# HELP vllm:num_requests_running x\n"
        'vllm:num_requests_running{engine="0",model_name="m"} 1.0\n'
        'vllm:num_requests_running{engine="1",model_name="m"} 2.0\n'
        'vllm:num_requests_waiting{engine="0",model_name="m"} 4.0\n'
        'vllm:num_requests_waiting_by_reason{engine="0"} 8.0\n'
    )
    assert requests(text) == 7.0
    assert requests("") is None
    assert requests("vllm:num_requests_running broken\n") is None
