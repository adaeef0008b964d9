"""No secret value gets into a message."""

from __future__ import annotations

import base64

import pytest

from rehearsal.control_plane.objects.hidden import Hidden
from rehearsal.providers.values import SECRET, SIGNATURE
from tests.rehearsal.control_plane.conftest import lines
from tests.rehearsal.control_plane.objects import container, deployment, made

WORD = "correct horse"
ENCODED = base64.b64encode(WORD.encode()).decode()


@pytest.mark.parametrize(
    "body",
    [
        {"kind": "Secret", "data": {"a": ENCODED}},
        {"kind": "Secret", "stringData": {"a": WORD}},
        {"kind": "Secret", "stringData": {SIGNATURE: SECRET, "value": {"a": WORD}}},
        {"kind": "Deployment", "spec": {"env": [{"value": {SIGNATURE: SECRET, "value": WORD}}]}},
    ],
    ids=["data", "stringData", "Pulumi secret in a Secret", "Pulumi secret elsewhere"],
)
@pytest.mark.parametrize("message", [f'Invalid value: "{WORD}": no', 'Invalid value: "correct": no'])
def test_a_secret_value_or_a_word_of_it_is_found(body, message):
    assert Hidden(body).shows_in(message)


def test_a_value_is_found_as_go_quotes_it():
    hidden = Hidden({"kind": "Secret", "stringData": {"a": "one\ntwo"}})
    assert hidden.shows_in(r'Invalid value: "one\ntwo"')
    assert Hidden({"kind": "Secret", "data": {"a": 12345}}).shows_in("expected string, got &value{Value:12345}")


@pytest.mark.parametrize("message", ['namespaces "a" not found', "v1, Kind=Secret: incorrect horses"])
def test_a_message_without_it_can_be_shown(message):
    assert not Hidden({"kind": "Secret", "metadata": {"name": "a"}, "stringData": {"k": WORD}}).shows_in(message)


def test_the_data_of_other_kinds_is_no_secret():
    assert not Hidden({"kind": "ConfigMap", "data": {"a": WORD}}).shows_in(WORD)


SECRETS = {
    "not base64": {"data": {"password": "hunter2"}},
    "a number": {"data": {"password": 4815162342}},
    "an unknown field": {"stringdata": {"password": "hunter2"}},
    "a key that is no key": {"stringData": {"pass word": "hunter2"}},
}


@pytest.mark.parametrize("content", SECRETS.values(), ids=SECRETS)
def test_a_refused_secret_keeps_its_data_to_itself(ask, space, content):
    (refusal,) = ask(made("v1", "Secret", "login", space, **content)).refusals
    assert "hunter2" not in refusal.line
    assert "4815162342" not in refusal.line
    assert base64.b64encode(b"hunter2").decode() not in refusal.line


def test_a_message_with_a_secret_value_is_replaced(ask, space):
    """Pulumi marks values as secret in other kinds too, and the server quotes what it does not like."""
    secret = {SIGNATURE: SECRET, "value": "hunter2"}
    report = ask(deployment(space, "quoted", container(imagePullPolicy=secret)))
    assert lines(report) == [
        "urn:pulumi:dev::p::Deployment::quoted: Deployment space/quoted: Invalid for "
        "spec.template.spec.containers[0].imagePullPolicy (the message is not shown: it holds a secret value)"
    ]


def test_a_secret_value_that_is_right_reaches_the_server(ask, space):
    secret = {SIGNATURE: SECRET, "value": "Always"}
    assert lines(ask(deployment(space, "pulled", container(imagePullPolicy=secret)))) == []
