"""A pod's port through a real API server and kubelet's own streaming code, to a real server on loopback."""

import base64
import hashlib
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from unittest import mock

import pytest

from ops.cluster.api import DeniedError
from ops.cluster.tunnel import CutError, connection
from ops.failures import RefusedError, UnclearError
from rehearsal.control_plane.server import free_ports
from tests.ops.live.stand import Stand
from tests.ops.players import Kubelet
from tests.serving.scripts.stands.loopback import Quiet, Server


@pytest.fixture
def target():
    """Port of a server: a GET gives what the path says, a POST what it was sent."""

    class Handler(Quiet):
        def do_GET(self):
            if self.path == "/silent":
                released.wait(5)
            elif self.path == "/last":
                self.answer(200, b"last", Connection="close")
            else:
                self.answer(200, self.path.encode() * int(self.headers.get("times", "1")))

        def do_POST(self):
            self.answer(200, self.rfile.read(int(self.headers["Content-Length"])))

    released = threading.Event()
    server = Server(("127.0.0.1", 0), Handler)
    server.start()
    yield server.server_port
    released.set()
    server.stop()


@pytest.fixture
def opened(stand: Stand, target):
    """`opened(...)`: a connection to the pod's port 8000."""
    stand.pod("p", {8000: target})
    return lambda port=8000, **more: connection(stand.cluster(), stand.namespace, "p", port, **more)


def get(over, path, **headers):
    over.request("GET", path, headers=headers)
    return over.getresponse().read()


def test_requests_and_answers_pass_as_they_are(opened):
    with opened() as over:
        assert get(over, "/one") == b"/one"
        assert get(over, "/two") == b"/two"
        sent = bytes(range(256)) * 20000
        over.request("POST", "/", sent)
        assert over.getresponse().read() == sent
        assert get(over, "/abc", times="1000000") == b"/abc" * 1_000_000


def test_an_answer_that_ends_the_connection_does_not_end_the_tunnel(opened):
    """http.client would connect by itself then: to port 8000 of this machine."""
    with opened() as over:
        assert get(over, "/last") == b"last"
        assert get(over, "/one") == b"/one"


def test_a_port_that_nobody_listens_on_is_said_in_kubelet_s_words(stand, target):
    (dead,) = free_ports(1)
    stand.pod("p", {8000: target, 8003: dead})
    with pytest.raises(CutError) as cut, connection(stand.cluster(), stand.namespace, "p", 8003) as over:
        get(over, "/")
    assert str(cut.value) == (
        f"pod {stand.namespace}/p, port 8003: error forwarding port 8003 to pod p/{stand.namespace}, uid : failed to"
        f" dial 127.0.0.1:{dead}: dial tcp 127.0.0.1:{dead}: connect: connection refused"
    )


def test_silence_is_told_with_its_seconds(stand, opened):
    with pytest.raises(CutError) as cut, opened(timeout=0.2) as over:
        get(over, "/silent")
    assert str(cut.value) == f"pod {stand.namespace}/p, port 8000: no answer for 0.2 s"


def test_an_answer_that_is_cut_is_named_so(stand):
    """Its program has died: kubelet ends the stream then, as containerd does and kwok does not."""
    with closing(stand, b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"), pytest.raises(CutError) as cut:
        whole(stand)
    assert str(cut.value) == (
        f"pod {stand.namespace}/p, port 8000: the connection ended: IncompleteRead(4 bytes read, 96 more expected)"
    )


def test_nothing_is_lost_of_an_answer_that_ends_with_its_stream(stand):
    with closing(stand, b"HTTP/1.1 200 OK\r\nContent-Length: 3000000\r\n\r\n" + b"abc" * 1_000_000):
        assert whole(stand) == b"abc" * 1_000_000


def whole(stand):
    with connection(stand.cluster(), stand.namespace, "p", 8000) as over:
        return get(over, "/")


@contextmanager
def closing(stand, answer):
    """A pod `p` whose kubelet sends this on the first channel, and then ends the stream."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            key = self.headers["Sec-WebSocket-Key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
            accept = base64.b64encode(hashlib.sha1(key.encode(), usedforsecurity=False).digest()).decode()
            self.send_response(101)
            for name, value in (("Upgrade", "websocket"), ("Connection", "Upgrade"), ("Sec-WebSocket-Accept", accept)):
                self.send_header(name, value)
            self.send_header("Sec-WebSocket-Protocol", self.headers["Sec-WebSocket-Protocol"])
            self.end_headers()
            port = (8000).to_bytes(2, "little")
            parts = [answer[start : start + 30000] for start in range(0, len(answer), 30000)]
            for body in (b"\0" + port, b"\1" + port):
                self.send(body)
            self.rfile.read1(65536)  # the request: what is not read when a socket closes makes a reset of it
            for part in parts:
                self.send(b"\0" + part)
            self.wfile.write(b"\x88\0")
            self.wfile.flush()
            self.rfile.read(1)
            self.close_connection = True

        def send(self, body):
            self.wfile.write(b"\x82\x7e" + len(body).to_bytes(2, "big") + body)
            self.wfile.flush()

        def log_message(self, *_):
            pass

    with Kubelet.over_tls(stand.players.api, Handler) as port:
        node = f"closing-{stand.namespace}"
        stand.players.node(node, port)
        stand.players.pod("p", nodeName=node)
        yield


def test_a_pod_that_is_not_there_is_a_refusal_and_not_a_doubt(stand, opened):
    with pytest.raises(RefusedError) as refused, connection(stand.cluster(), stand.namespace, "q", 8000):
        pass
    assert str(refused.value) == f'{stand.players.api.url} answers 404: pods "q" not found'


def test_a_pod_without_a_node_is_a_refusal(stand):
    stand.players.pod("waits")
    with pytest.raises(RefusedError) as refused, connection(stand.cluster(), stand.namespace, "waits", 8000):
        pass
    assert str(refused.value) == f"{stand.players.api.url} answers 400: pod waits does not have a host assigned"


def test_a_token_that_is_none_is_named_so(stand, opened, folder):
    (folder / "kubeconfig").write_text((folder / "kubeconfig").read_text().replace(stand.players.api.token, "wrong"))
    with pytest.raises(DeniedError) as denied, opened():
        pass
    assert str(denied.value) == f"{stand.players.api.url} does not know you: Unauthorized"


@pytest.mark.parametrize("verbs", ["list", "get", "create"])
def test_it_takes_two_verbs_and_both_are_named(stand, opened, folder, verbs):
    """To who has get alone, the API server (1.36) does not say that create is missing."""
    stand.user(folder / "kubeconfig", ("", "pods/portforward", verbs))
    with pytest.raises(DeniedError) as denied, opened():
        pass
    assert str(denied.value).startswith(f'{stand.players.api.url} answers 403: pods "p" is forbidden')
    assert str(denied.value).endswith(" (it takes get and create of pods/portforward)")


def test_get_and_create_are_enough(stand, opened, folder):
    stand.user(folder / "kubeconfig", ("", "pods/portforward", "get,create"))
    with opened() as over:
        assert get(over, "/one") == b"/one"


def test_a_control_plane_that_is_not_there_is_a_doubt(stand, folder, opened):
    (dead,) = free_ports(1)
    text = (folder / "kubeconfig").read_text().replace(stand.players.api.url, f"https://127.0.0.1:{dead}")
    (folder / "kubeconfig").write_text(text)
    with pytest.raises(UnclearError) as unclear, opened():
        pass
    assert str(unclear.value) == (f"https://127.0.0.1:{dead} does not answer: [Errno 111] Connection refused")


def test_no_thread_says_anything_when_the_stream_breaks(opened, capfd):
    """The client's own would end with a traceback, and its reader would wait for ever."""
    with opened(timeout=3) as over:
        forward = over._forward
        forward.websocket.recv_data_frame = mock.Mock(side_effect=RuntimeError("broken"))
        over.request("GET", "/one")
        with pytest.raises(ConnectionError):
            over.getresponse()
    assert str(forward.failure) == "broken"
    assert capfd.readouterr().err == ""
