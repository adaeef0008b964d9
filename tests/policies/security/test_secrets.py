"""Secrets that a pod says aloud."""

from __future__ import annotations

from typing import Any

import pytest

from tests.policies.conftest import UNKNOWN, found, resource, unchecked

POD = "kubernetes:core/v1:Pod"
CONFIG_MAP = "kubernetes:core/v1:ConfigMap"
TOKEN = "hf_" + "a1B2" * 8
FROM = "take it from a Secret (secretKeyRef)"


def pod(*env: Any, **more: Any):
    return resource(POD, {"spec": {"containers": [{"name": "engine", "env": list(env), **more}]}})


def variable(name: Any, value: Any = "s3cr3t-value"):
    return pod({"name": name, "value": value})


@pytest.mark.parametrize(
    "name",
    ["HF_TOKEN", "VLLM_API_KEY", "AWS_SECRET_ACCESS_KEY", "PGPASSWORD", "db.password", "NGC-APIKEY", "GIT_CREDENTIALS"],
)
@pytest.mark.parametrize("value", ["s3cr3t-value", UNKNOWN])
def test_a_variable_that_is_named_like_a_secret_is_refused_known_or_not(name, value):
    its = variable(name, value)
    assert found("plain-secrets", its) == [f"container engine: {name} stands in the pod as it is; {FROM}"]
    assert unchecked("plain-secrets", its) == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("HF_TOKEN_PATH", "s3cr3t"),
        ("DOCKER_SECRET_NAME", "s3cr3t"),
        ("TOKENIZERS_PARALLELISM", "maybe"),
        ("HF_HUB_DISABLE_IMPLICIT_TOKEN", "1"),
        ("MAX_TOKEN", "8192"),
        ("GOOGLE_APPLICATION_CREDENTIALS", "/secrets/key.json"),
        ("VLLM_API_KEY", "$(KEY)"),
        ("HF_TOKEN", ""),
        ("HF_TOKEN", None),
        ("AWS_REGION", "eu-west-1"),
        ("ENDPOINT", "https://host.example:8000/a@b"),
    ],
)
def test_what_only_sounds_like_a_secret_passes(name, value):
    assert found("plain-secrets", variable(name, value)) == []


def test_a_variable_from_a_secret_passes():
    assert found("plain-secrets", pod({"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": {"name": "a"}}})) == []


@pytest.mark.parametrize(
    "value",
    [
        TOKEN,
        "AKIA" + "A1B2C3D4E5F6G7H8",
        "token ghp_" + "a1B2" * 9,
        "sk-" + "a1B2" * 8,
        "nvapi-" + "a1B2" * 8,
        "-----BEGIN RSA PRIVATE KEY-----\nMII",
        "postgres://app:pa55@db.example:5432/app",
    ],
)
def test_a_value_that_looks_like_a_secret_is_refused_whatever_its_name(value):
    assert found("plain-secrets", variable("SETTINGS", value)) == [
        f"container engine: SETTINGS holds a secret as it is; {FROM}"
    ]


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["--api-key=abc"], "args[0] gives --api-key as it is"),
        (["--port=1", "--api-key", "abc"], "args[2] gives --api-key as it is"),
        (["--api-key", UNKNOWN], "args[1] gives --api-key as it is"),
        (["--hf-token=abc"], "args[0] gives --hf-token as it is"),
        (["--db-password", "abc"], "args[1] gives --db-password as it is"),
        (["vllm serve m --api-key abc --port 1"], "args[0] gives --api-key as it is"),
        ([f"--header=Bearer {TOKEN}"], "args[0] holds a secret as it is"),
    ],
)
def test_arguments_that_give_a_secret_are_refused(args, says):
    assert found("plain-secrets", pod(args=args)) == [
        f"container engine: spec.containers[0].{says}; {FROM}, and name it as $(NAME)"
    ]


@pytest.mark.parametrize(
    "args",
    [
        ["--api-key=$(VLLM_API_KEY)"],
        ["--api-key", "$(VLLM_API_KEY)", "--api-key", "--port"],
        ["vllm serve m --api-key $VLLM_API_KEY"],
        ["--hf-token"],
        ["--hf-token=true", "--api-key-file=/run/key", "--password", "/run/password"],
        ["--tokenizer=mistral", "--max-num-batched-tokens=8192"],
    ],
)
def test_arguments_that_name_where_it_is_pass(args):
    assert found("plain-secrets", pod(args=args)) == []


def test_what_is_not_known_of_one_variable_hides_nothing_of_the_next():
    its = resource(
        POD,
        {
            "spec": {
                "initContainers": UNKNOWN,
                "containers": [
                    {"name": "front", "env": UNKNOWN, "command": UNKNOWN},
                    {
                        "name": "engine",
                        "env": [{"name": "BUCKET", "value": UNKNOWN}, UNKNOWN, {"name": "HF_TOKEN", "value": "x"}],
                        "args": [UNKNOWN, "--api-key=abc", 3],
                    },
                ],
            }
        },
    )
    assert found("plain-secrets", its) == [
        f"container engine: HF_TOKEN stands in the pod as it is; {FROM}",
        f"container engine: spec.containers[1].args[1] gives --api-key as it is; {FROM}, and name it as $(NAME)",
        "spec.containers[1].args[2]: expected a text, found a number",
    ]
    assert unchecked("plain-secrets", its) == [
        "spec.initContainers",
        "spec.containers[0].env",
        "spec.containers[0].command",
        "spec.containers[1].env[0].value",
        "spec.containers[1].env[1]",
        "spec.containers[1].args[0]",
    ]


def test_config_maps_hold_no_secrets():
    data = {"HF_TOKEN": "x", "app.conf": f"key {TOKEN}", "url.py": "http://user:password@host", "LOG": "info"}
    assert found("plain-secrets", resource(CONFIG_MAP, {"data": data})) == [
        "data.HF_TOKEN stands in a ConfigMap as it is; put it into a Secret",
        "data.app.conf stands in a ConfigMap as it is; put it into a Secret",
    ]
    assert unchecked("plain-secrets", resource(CONFIG_MAP, {"data": {"a": UNKNOWN, "TOKEN": UNKNOWN}})) == ["data.a"]
    assert unchecked("plain-secrets", resource(CONFIG_MAP, {"data": UNKNOWN})) == ["data"]
    assert found("plain-secrets", resource(CONFIG_MAP, {"data": ["x"]})) == ["data: expected a mapping, found a list"]
    assert found("plain-secrets", resource(CONFIG_MAP, {})) == []


def test_configuration_excepts_variables():
    config = {"exceptions": ["HF_*"]}
    assert found("plain-secrets", pod({"name": "HF_TOKEN", "value": "x"}), config=config) == []
    assert found("plain-secrets", resource(CONFIG_MAP, {"data": {"HF_TOKEN": "x"}}), config=config) == []
    assert found("plain-secrets", variable("API_KEY"), config=config) != []


@pytest.mark.parametrize(
    ("props", "says"),
    [
        ({}, []),
        ({"spec": None}, []),
        ({"spec": {"containers": [{"name": "a", "env": [{}], "args": None}]}}, []),
        ({"spec": {"containers": [{"env": "x"}]}}, ["spec.containers[0].env: expected a list, found a text"]),
        (
            {"spec": {"containers": [{"env": [{"name": "HF_TOKEN", "value": True}]}]}},
            ["spec.containers[0].env[0].value: expected a text, found true or false"],
        ),
        ({"spec": {"containers": [7]}}, ["spec.containers[0]: expected a mapping, found a number"]),
    ],
)
def test_missing_and_mistyped(props, says):
    assert found("plain-secrets", resource(POD, props)) == says
