"""The token of a request: where it is from, and that nobody sees it."""

import pytest

from ops.cluster.api import DeniedError
from ops.failures import RefusedError, UsageError
from ops.live import bearer
from serving.front.tokens import token_map

ONE, OTHER = "one.token+of/the~tests-0123456789==", "another-token-of-the-tests-9876543210"


@pytest.fixture(autouse=True)
def no_token(monkeypatch):
    monkeypatch.delenv(bearer.VARIABLE, raising=False)


def test_a_file_comes_before_the_variable_and_nothing_is_none(tmp_path, monkeypatch):
    assert bearer.given(None) is None
    monkeypatch.setenv(bearer.VARIABLE, ONE)
    assert bearer.given(None) == (ONE, "$VLLM_API_TOKEN")
    (tmp_path / "t").write_text(f"{OTHER}\n")
    assert bearer.given(tmp_path / "t") == (OTHER, f"--token-file {tmp_path}/t")


@pytest.mark.parametrize("content", [b"", b"a b", b"a\nb", b"\xc3\xa9", b"a\x00b"])
def test_what_is_no_token_is_refused_and_not_repeated(tmp_path, content):
    (tmp_path / "t").write_bytes(content)
    with pytest.raises(UsageError) as refused:
        bearer.given(tmp_path / "t")
    assert str(refused.value) == f"--token-file {tmp_path}/t: not a token; expected one word of printable ASCII"


@pytest.mark.parametrize("content", [None, b"\xff\xfe"])
def test_a_file_that_cannot_be_read_is_one_line(tmp_path, content):
    if content:
        (tmp_path / "t").write_bytes(content)
    with pytest.raises(UsageError) as refused:
        bearer.given(tmp_path / "t")
    assert str(refused.value) == f"--token-file {tmp_path}/t: cannot be read"


def test_a_variable_that_is_empty_is_not_taken_for_none(monkeypatch):
    """A secret of a pipeline that is not set there."""
    monkeypatch.setenv(bearer.VARIABLE, "")
    with pytest.raises(UsageError) as refused:
        bearer.given(None)
    assert str(refused.value) == "$VLLM_API_TOKEN: not a token; expected one word of printable ASCII"


def test_the_first_token_of_the_proxy_s_own_file_is_taken(stand):
    stand.secret("api-tokens", token_map([ONE, OTHER]))
    assert bearer.of_secret(stand.cluster(), stand.namespace, "api-tokens") == (
        ONE,
        f"Secret {stand.namespace}/api-tokens",
    )


@pytest.mark.parametrize("text", [None, "default 1;\n", ""])
def test_a_Secret_without_tokens_is_a_refusal(stand, text):
    if text is not None:
        stand.secret("api-tokens", text)
    with pytest.raises(RefusedError) as refused:
        bearer.of_secret(stand.cluster(), stand.namespace, "api-tokens")
    assert str(refused.value) == (
        f"Secret {stand.namespace}/api-tokens: no token in tokens.map: pulumi up, or give a token with VLLM_API_TOKEN"
        " or --token-file"
    )


def test_a_Secret_that_may_not_be_read_is_a_doubt_with_the_right_and_the_way_round(stand, folder):
    stand.secret("api-tokens", token_map([ONE]))
    stand.user(folder / "kubeconfig", ("", "pods", "list"))
    with pytest.raises(DeniedError) as denied:
        bearer.of_secret(stand.cluster(), stand.namespace, "api-tokens")
    said = str(denied.value)
    assert said.startswith(f"Secret {stand.namespace}/api-tokens: {stand.players.api.url} answers 403: secrets ")
    assert said.endswith("; get on secrets, or give a token with VLLM_API_TOKEN or --token-file")


def test_a_file_without_an_end_is_no_token(tmp_path):
    (tmp_path / "t").symlink_to("/dev/zero")
    with pytest.raises(UsageError, match="not a token"):
        bearer.given(tmp_path / "t")
