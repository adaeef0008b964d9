"""Keys and tokens are never part of a message: not those that cannot be sent either."""

import http.client
import json
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest

from credentials import CredentialSource
from outcome import DeniedError, Limit, NoCredentialsError, TimedOutError
from store import Connection, Store
from tests.serving.scripts.stands.loopback import Quiet, Server
from web import UnclearError, Web

KEYS = {"AWS_ACCESS_KEY_ID": "AKID", "AWS_SECRET_ACCESS_KEY": "key", "AWS_SESSION_TOKEN": "token"}
SECRET = "SECRET\nTOKEN"  # noqa: S105 - what must not be seen
UNFIT = "is empty, or holds white space or other than printable ASCII inside"
VALID = {"AccessKeyId": "a", "SecretAccessKey": "s", "Token": "t", "Expiration": "2099-01-01T00:00:00Z"}


@pytest.fixture
def agent() -> Iterator[tuple[dict[str, str | None], str]]:
    """Give what an agent answers, to be changed, and its address."""
    answer: dict[str, str | None] = dict(VALID)

    class Handler(Quiet):
        def do_GET(self) -> None:
            self.answer(200, json.dumps(answer).encode())

    server = Server(("127.0.0.1", 0), Handler)
    yield answer, server.start()
    server.stop()


def refusal(env: dict[str, str]) -> str:
    with pytest.raises(NoCredentialsError) as refused:
        CredentialSource(env).get(Limit(1))
    return str(refused.value)


@pytest.mark.parametrize("name", KEYS)
@pytest.mark.parametrize("value", [SECRET, "SECRET TOKEN", "SECRÉT", "SECRET\x7fTOKEN"], ids=repr)
def test_a_key_of_the_environment_that_cannot_be_sent_is_not_shown(name: str, value: str):
    assert refusal({**KEYS, name: value}) == f"{name} {UNFIT}"


def test_a_key_without_its_secret_is_no_identity():
    assert refusal({"AWS_ACCESS_KEY_ID": "AKID"}) == f"AWS_SECRET_ACCESS_KEY {UNFIT}"


def test_white_space_around_a_key_is_no_part_of_it():
    found = CredentialSource({name: f"{value}\n" for name, value in KEYS.items()}).get(Limit(1))
    assert (found.access_key, found.secret_key, found.token) == ("AKID", "key", "token")


@pytest.mark.parametrize("content", [b"SECRET\nTOKEN\n", b"SECRET\xffTOKEN", b""], ids=repr)
def test_a_token_of_the_pod_that_cannot_be_sent_is_not_shown(content: bytes, tmp_path: Path, agent):
    (tmp_path / "token").write_bytes(content)
    name = "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"
    env = {"AWS_CONTAINER_CREDENTIALS_FULL_URI": agent[1], name: str(tmp_path / "token")}
    assert refusal(env) == f"{name} {UNFIT}"


def test_a_token_in_the_environment_is_not_shown_either(agent):
    name = "AWS_CONTAINER_AUTHORIZATION_TOKEN"
    assert refusal({"AWS_CONTAINER_CREDENTIALS_FULL_URI": agent[1], name: SECRET}) == f"{name} {UNFIT}"


@pytest.mark.parametrize("field", ["AccessKeyId", "SecretAccessKey", "Token"])
@pytest.mark.parametrize("value", [SECRET, None])
def test_a_key_of_the_agent_that_cannot_be_sent_is_not_shown(field: str, value: str | None, agent):
    answer, url = agent
    answer[field] = value
    assert refusal({"AWS_CONTAINER_CREDENTIALS_FULL_URI": url}) == f"the agent's {field} {UNFIT}"


def test_a_header_that_cannot_be_sent_is_not_shown_whoever_made_it(agent):
    host = agent[1].removeprefix("http://")
    with pytest.raises(UnclearError, match=f"^{host}: the request cannot be sent as HTTP$"):
        Web(0).exchange("GET", agent[1], {"Authorization": SECRET})


def test_nor_does_a_restore_show_it(agent):
    env = {**KEYS, "AWS_REGION": "eu-west-1", "AWS_ENDPOINT_URL": agent[1]}
    store = Store("models", env, Limit(1))
    object.__setattr__(store.source.get(store.limit), "token", SECRET)
    with Connection(store) as connection, pytest.raises(DeniedError) as refused:
        connection.get("key", 1)
    assert str(refused.value) == "get key: the request cannot be sent as HTTP"


def test_an_untrusted_certificate_is_told_as_that_though_Python_calls_it_a_wrong_value(monkeypatch: pytest.MonkeyPatch):
    def untrusted(*_: object, **__: object) -> None:
        raise ssl.SSLCertVerificationError(1, "self-signed certificate")

    monkeypatch.setattr(http.client.HTTPConnection, "request", untrusted)
    store = Store("models", {**KEYS, "AWS_REGION": "eu-west-1"}, Limit(0.3))
    with Connection(store) as connection, pytest.raises(TimedOutError) as refused:
        connection.get("key", 1)
    assert str(refused.value) == "get key: SSLCertVerificationError: self-signed certificate"
