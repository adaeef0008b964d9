"""No argument holds a secret, and no refusal repeats one."""

import time
from typing import Any

import pytest

from serving.arguments import ENGINES, LONGEST, table
from serving.arguments.confidential import confidential
from serving.engine import REFUSED
from tests.serving.arguments.test_engine_refusals import problems

BY_NAME = "by its name it is a secret; arguments are in the pod spec and in the log"
IN_A_URL = "a URL with a user or a password in it; arguments are in the pod spec and in the log"
HIDDEN = "hunter2"


@pytest.mark.parametrize(
    ("flag", "value", "said"),
    [
        ("otlp-traces-endpoint", f"https://user:{HIDDEN}@host/", IN_A_URL),
        ("otlp-traces-endpoint", f"https://{HIDDEN}@host", IN_A_URL),
        ("otlp-traces-endpont", f"https://user:{HIDDEN}@host/", IN_A_URL),
        ("lora-modules", ["a=/b", f"a=https://u:{HIDDEN}@host/"], f"[1]: {IN_A_URL}"),
        (
            "kv-transfer-config",
            {"kv_connector": "x", "kv_connector_extra_config": {"aws_secret_access_key": HIDDEN}},
            f"kv_connector_extra_config.aws_secret_access_key: {BY_NAME}",
        ),
        ("kv-transfer-config", '{"a": [{"hfToken": "hunter2"}]}', f"a[0].hfToken: {BY_NAME}"),
        ("kv-transfer-config", '{"a": {"api-key": "hunter2"}', f"api-key: {BY_NAME}"),
        ("kv-transfer-config", '\'{"password": "hunter2"}\'', f"password: {BY_NAME}"),
        ("additional-config", {"redis": f"redis://:{HIDDEN}@host:6379"}, f"redis: {IN_A_URL}"),
        ("additional-config", {"passwd": 1234567}, f"passwd: {BY_NAME}"),
        ("additional-config", {"token": HIDDEN}, f"token: {BY_NAME}"),
        ("api_key", HIDDEN, BY_NAME),
        ("hf_token", HIDDEN, BY_NAME),
    ],
)
@pytest.mark.parametrize("engine", ENGINES)
def test_a_secret_is_refused_and_not_repeated(engine: str, flag: str, value: Any, said: str) -> None:
    assert problems(engine, {flag: value}) == [(flag, f"refused: {said}")]


@pytest.mark.parametrize(
    ("flag", "value"),
    [
        ("otlp-traces-endpoint", "https://traces.example/path@1?to=a@b"),
        ("tokenizer", "/models"),
        ("max-num-batched-tokens", 8192),
        ("override-generation-config", {"max_tokens": 5, "eos_token_id": 1, "max_new_tokens": 3}),
        ("hf-overrides", {"image_token": "<image>", "boi_token": "<start>", "eos_token": "</s>", "a_token": 7}),
        ("speculative-config", {"tokenizer": "/models", "hf_token": None, "num_speculative_tokens": 3}),
        ("additional-config", {"use_api_key": True, "password": ""}),
        ("chat-template", "{{ secret: 1 }}{% if token: %}"),
    ],
)
def test_what_only_sounds_like_one_is_none(flag: str, value: Any) -> None:
    assert confidential(flag, value) is None


@pytest.mark.parametrize("engine", ENGINES)
def test_no_flag_of_vllm_is_a_secret_but_those_that_are_refused(engine: str) -> None:
    assert [flag for flag in table(engine) if flag not in REFUSED and confidential(flag, "text")] == []


@pytest.mark.parametrize("text", ["a" * LONGEST, "{" + "a" * LONGEST, "://" * 40_000, "{" + " " * LONGEST])
def test_a_long_text_is_looked_at_in_linear_time(text: str) -> None:
    started = time.monotonic()
    assert confidential("chat-template", text) is None
    assert time.monotonic() - started < 5
