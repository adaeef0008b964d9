"""The text of the configuration: what matters is said, whatever the settings, and nginx takes it."""

import subprocess
from pathlib import Path

import pytest

from serving.front import IMAGE
from serving.front.containers import addresses
from serving.front.nginx import ENGINE_KEEPALIVE, Addresses, nginx_conf
from serving.front.settings import FrontSettings
from serving.front.tokens import token_map

FULL = {"maxBodyMib": 7, "bodySeconds": 11, "readSeconds": 123, "sendSeconds": 13, "connections": 777}


@pytest.mark.parametrize("sleeps", [True, False])
@pytest.mark.parametrize("tokens", [True, False])
@pytest.mark.parametrize("settings", [{}, FULL], ids=["usual", "full"])
def test_nginx_takes_every_form_of_it(tmp_path: Path, sleeps: bool, tokens: bool, settings: dict[str, int]) -> None:
    (tmp_path / "tokens").write_text(token_map(["a" * 32]))
    place = Addresses(
        listen="127.0.0.1:1",
        engine="127.0.0.1:2",
        gate="127.0.0.1:3" if sleeps else None,
        tokens=str(tmp_path / "tokens") if tokens else None,
        folder=str(tmp_path),
    )
    (tmp_path / "nginx.conf").write_text(nginx_conf(place, FrontSettings.model_validate(settings), 30))
    command = ["nginx", "-t", "-p", str(tmp_path), "-c", str(tmp_path / "nginx.conf")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)
    # port 1 is not ours to bind, for whom it matters; everything before that is the syntax
    assert "syntax is ok" in done.stderr, done.stderr
    assert "[warn]" not in done.stderr.replace('[warn] the "user" directive', ""), done.stderr


def test_every_default_that_matters_is_written_out() -> None:
    conf = nginx_conf(addresses(sleeps=True, tokens=True), FrontSettings.model_validate(FULL), 30)
    for line in (
        *("client_max_body_size 7m;", "client_body_timeout 11s;", "send_timeout 13s;", "worker_connections 777;"),
        *("proxy_read_timeout 123s;", "proxy_read_timeout 35s;", "proxy_read_timeout 163s;", "worker_processes 2;"),
        *("proxy_http_version 1.1;", "proxy_next_upstream off;", "proxy_buffering off;", "server_tokens off;"),
        *("proxy_request_buffering on;", "proxy_request_buffering off;", "absolute_redirect off;", "daemon off;"),
        *(
            "merge_slashes on;",
            "gzip off;",
            "auth_request /gate;",
            'proxy_set_header Connection "";',
            'proxy_set_header Authorization "";',
        ),
        *("listen 8000 backlog=4096;", "server 127.0.0.1:8001 max_fails=0;", "server 127.0.0.1:8002 max_fails=0;"),
        *(
            "include /etc/front-tokens/tokens.map;",
            "pid /run/front/nginx.pid;",
            "auth_request /gate;",
            "client_body_temp_path /run/front/",
        ),
    ):
        assert line in conf, line


def test_idle_connections_end_before_the_engine_ends_them() -> None:
    """Uvicorn's 5 s, in old and new versions; a request on a connection that was just closed would be a 502."""
    assert ENGINE_KEEPALIVE < 5
    conf = nginx_conf(addresses(sleeps=False, tokens=False), FrontSettings())
    assert f"keepalive_timeout {ENGINE_KEEPALIVE}s;" in conf


def test_without_an_agent_there_is_no_gate_and_no_inner_server() -> None:
    conf = nginx_conf(addresses(sleeps=False, tokens=True), FrontSettings())
    for word in ("auth_request", "inner", "syslog", "agent", "8002"):
        assert word not in conf


def test_the_image_has_a_fixed_tag() -> None:
    assert IMAGE.rpartition(":")[2].split("-")[0].count(".") == 2
