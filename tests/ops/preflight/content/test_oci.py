"""A registry is asked as anybody: no credentials leave this machine."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

import pytest

from infra.image_cache.reference import image_reference
from ops.preflight.content import oci
from ops.preflight.content.oci import Registries, Response, Said

DIGEST = "sha256:" + "a" * 64


class Stub(BaseHTTPRequestHandler):
    """A registry with one image, behind a token for anybody."""

    seen: ClassVar[list[tuple[str, str, dict[str, str]]]] = []
    token_status: ClassVar[int] = 200

    def do_HEAD(self) -> None:
        self._note()
        _, _, *path, _, name = self.path.split("/")
        if "/".join(path).startswith("private/"):
            self._say(401, {"WWW-Authenticate": 'Basic realm="x"'})
        elif "/".join(path) == "busy":
            self._say(429)
        elif self.headers.get("Authorization") != "Bearer anybody":
            realm = f"http://{self.headers['Host']}/token"
            self._say(401, {"WWW-Authenticate": f'Bearer realm="{realm}",service="stub",scope="repository:a:pull"'})
        elif name in {"v1", DIGEST}:
            self._say(200, {"Docker-Content-Digest": DIGEST})
        else:
            self._say(404)

    def do_GET(self) -> None:
        self._note()
        self._say(self.token_status, body=json.dumps({"token": "anybody"}).encode())

    def _note(self) -> None:
        self.seen.append((self.command, self.path, {key.lower(): it for key, it in self.headers.items()}))

    def _say(self, status: int, headers: dict[str, str] | None = None, body: bytes = b"") -> None:
        self.send_response(status)
        for key, it in {**(headers or {}), "Content-Length": str(len(body))}.items():
            self.send_header(key, it)
        self.end_headers()
        self.wfile.write(body if self.command == "GET" else b"")

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.delenv(name, raising=False)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Stub)
    Stub.seen.clear()
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    yield f"127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


LOOK = "look with a login of your own: docker manifest inspect"


def has(host, image):
    return Registries(scheme="http").has(image_reference(f"{host}/{image}"))


def test_a_tag_that_is_there_is_its_digest_with_a_token_for_anybody(host, tmp_path, monkeypatch):
    netrc = tmp_path / ".netrc"
    netrc.write_text("machine 127.0.0.1 login me password secret\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NETRC", str(netrc))
    assert has(host, "team/engine:v1") == Said(True, DIGEST)
    assert [(method, path) for method, path, _ in Stub.seen] == [
        ("HEAD", "/v2/team/engine/manifests/v1"),
        ("GET", "/token?service=stub&scope=repository%3Aa%3Apull"),
        ("HEAD", "/v2/team/engine/manifests/v1"),
    ]
    assert [headers.get("authorization") for *_, headers in Stub.seen] == [None, None, "Bearer anybody"]
    accepted = Stub.seen[0][2]["accept"]
    kinds = ("oci.image.index", "oci.image.manifest", "manifest.list", "docker.distribution.manifest.v2")
    assert [kind for kind in kinds if kind not in accepted] == []


def test_a_digest_counts_more_than_its_tag_as_it_does_for_a_node(host):
    assert has(host, f"team/engine:gone@{DIGEST}") == Said(True, DIGEST)


def test_a_tag_that_is_missing_is_not_there(host):
    assert has(host, "team/engine:v2") == Said(False, f"{host} has no team/engine:v2")


@pytest.mark.parametrize(
    ("image", "detail", "fix"),
    [
        ("private/engine:v1", "answers 401: private, or not there", f"{LOOK} HOST/private/engine:v1"),
        ("busy:v1", "answers 429: too many requests", "run again later"),
    ],
    ids=["private", "busy"],
)
def test_what_a_registry_does_not_tell_is_unknown(host, image, detail, fix):
    assert has(host, image) == Said(None, f"{host} {detail}", fix.replace("HOST", host))


def test_a_registry_that_gives_nobody_a_token_is_unknown(host, monkeypatch):
    monkeypatch.setattr(Stub, "token_status", 403)
    look = f"{LOOK} {host}/team/engine:v1"
    assert has(host, "team/engine:v1") == Said(None, f"{host} answers 401: private, or not there", look)


def test_a_registry_that_is_not_there_is_unknown():
    assert has("127.0.0.1:1", "x:v1") == Said(None, "127.0.0.1:1: [Errno 111] Connection refused")


@pytest.mark.parametrize(
    "body", [b"no json", b"[]", b"{}", b'{"token": 1}'], ids=["text", "a list", "no token", "a number"]
)
def test_a_token_of_another_form_is_unknown(body):
    def say(method, url, headers):
        challenge = {"WWW-Authenticate": 'Bearer realm="https://auth.x/token"'}
        return Response(200, {}, body) if method == "GET" else Response(401, challenge, b"")

    assert Registries(transport=say).has(image_reference("x.io/a:v1")).there is None


def test_a_token_is_asked_for_over_https_alone():
    asked = []

    def say(method, url, headers):
        asked.append((method, url))
        return Response(401, {"WWW-Authenticate": 'Bearer realm="http://auth.x/token"'}, b"")

    assert Registries(transport=say).has(image_reference("x.io/a:v1")).there is None
    assert asked == [("HEAD", "https://x.io/v2/a/manifests/v1")]


def test_docker_hub_is_asked_where_its_images_are():
    asked = []

    def say(method, url, headers):
        asked.append(url)
        return Response(404, {}, b"")

    said = Registries(transport=say).has(image_reference("nginx:1"))
    assert asked == ["https://registry-1.docker.io/v2/library/nginx/manifests/1"]
    assert said == Said(False, "registry-1.docker.io has no library/nginx:1")


def test_the_world_is_asked_over_https_by_default():
    assert (Registries().scheme, Registries().transport) == ("https", oci.over_the_net)
